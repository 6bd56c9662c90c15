"""Plots, when python3-matplotlib is there. One picture per measurement, in each of `KINDS`."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from lab.files import write_bytes
from lab.problem import WRONG_USE, Problem

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
    """The name's end says what kind of picture it is; .png where it has none. Whole or not at all, as results."""
    for file in files:
        picture = io.BytesIO()
        try:
            drawing.savefig(picture, format=file.suffix.removeprefix(".") or "png", dpi=120)
        except ValueError as error:  # there is no such kind
            raise Problem(f"the plot cannot be written to {file}: {error}", "give --plot a name such as plot.png", WRONG_USE) from None
        write_bytes(file, picture.getvalue(), "--plot")
