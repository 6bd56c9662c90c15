"""Plots, when python3-matplotlib is there. One picture per measurement, in each of `KINDS`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lab.problem import Problem

COLOURS = {"corral": "#b5542a", "linux": "#2a6fb5"}
KINDS = (".png", ".svg")
MARKS = {1: "o", 2: "s", 3: "^", 4: "D", 8: "v"}


def figure(width: float, height: float) -> tuple[Any, Any]:
    try:
        import matplotlib
    except ImportError:
        raise Problem("matplotlib is not installed", "./corral setup plot") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot.subplots(1, 2, figsize=(width, height), layout="constrained")


def save(drawing: Any, files: list[Path]) -> None:
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            drawing.savefig(file, dpi=120)
        except (OSError, ValueError) as error:
            raise Problem(f"the plot cannot be written to {file}: {error}", "give --plot a name such as plot.png") from None
