"""What others published for a figure of ours, as columns of a table: other machines, so only shapes compare."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from lab.bench import groups_published, matrix_published
from lab.bench.mandelbrot_published import MANDELBROT
from lab.bench.results import Row

Column = tuple[str, Callable[[Row], str]]  # its head, and the cell beside a row; "": nothing was published there
TICKS_IN_A_MICROSECOND = 19.2  # of the clock by which the study of the Raspberry Pi told run times
LAYOUT = re.compile(r"\blayout=([a-z-]+)")


def _mandelbrot(which: int) -> Callable[[Row], str]:
    def cell(row: Row) -> str:
        found = MANDELBROT.get((row.cores, row.threads)) if row.metric == "total_ms" else None
        return f"{found[which]:.3f}" if found else ""

    return cell


def _matrix(row: Row) -> str:
    name, what, *mode = row.metric.split(".")
    figure = matrix_published.PUBLISHED.get(name)
    if figure is None:
        return ""
    return f"{getattr(figure, what)[mode[0]]:,}" if mode else f"{figure.runtime / TICKS_IN_A_MICROSECOND:,.0f}"


def _groups(row: Row) -> str:
    layout = LAYOUT.search(row.options)
    tool, what = row.metric.split(".")[0], row.metric.split(".")[-1]
    if layout is None or what != "all_ms" or "ratio=1:1" not in row.options:
        return ""
    value = groups_published.PUBLISHED.get(tool, {}).get(layout[1], {}).get(row.threads)
    return "" if value is None else f"{value:,.2f}"


COLUMNS: Mapping[str, tuple[Column, ...]] = {
    "mandelbrot": (("published InfOS s", _mandelbrot(1)), ("published Linux s", _mandelbrot(2))),
    "matrix": (("published, Raspberry Pi 3", _matrix),),
    "groups": (("published, MOOL ms", _groups),),
}
