"""Text tables: numbers to the right, a dash where there is none."""

from __future__ import annotations

from collections.abc import Sequence


def number(value: float | None, digits: int = 1) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def ratio(value: float | None, other: float | None) -> float | None:
    return None if value is None or not other else value / other


def lines(head: Sequence[str], body: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[i]) for row in [head, *body]) for i in range(len(head))]
    out = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in [head, *body]]
    return [out[0], "-" * len(out[0]), *out[1:]]
