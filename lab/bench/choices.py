"""What a choice of policies is worth: the kernel as it comes, its best policies, and Linux, figure by figure.

Only of results in which the same was measured with several options and without any; on Linux too, or there is nothing to hold them against.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from dataclasses import dataclass

from lab.bench import table
from lab.bench.results import Results, Row

TOLERANCE = 0.01  # of what repeats: where the timer's interrupts fall


@dataclass(frozen=True)
class Figure:
    """Lower is better. `best` is the lowest of all of Corral's, with its options."""

    at: Row
    usual: float
    best: float
    options: str
    linux: float

    @property
    def behind(self) -> float:
        """How much more than with the best options the usual ones need, as a part."""
        return self.usual / self.best - 1 if self.best else 0.0


def figures(results: Results) -> list[Figure]:
    corral: dict[tuple[object, ...], dict[str, Row]] = defaultdict(dict)
    linux: dict[tuple[object, ...], float] = {}
    for row in results.rows:
        place = (row.instrument, row.cores, row.threads, row.metric)
        if row.better != "lower":
            continue
        if row.system == "linux":
            linux[place] = row.value
        else:
            corral[place][row.options] = row
    found = []
    for place, rows in corral.items():
        if place in linux and "" in rows and len(rows) > 1:
            best = min(rows.values(), key=lambda row: row.value)
            found.append(Figure(rows[""], rows[""].value, best.value, best.options, linux[place]))
    return found


def report(results: Results) -> list[str]:
    found = figures(results)
    if not found:
        return []
    body = [[figure.at.metric, str(figure.at.cores), str(figure.at.threads), table.number(figure.linux, 2), table.number(figure.usual, 2),
             table.number(table.ratio(figure.usual, figure.linux), 3), table.number(figure.best, 2),
             table.number(table.ratio(figure.best, figure.linux), 3), figure.options or "as it comes"] for figure in found]
    head = ["figure", "cores", "threads", "Linux", "Corral", "ratio", "best", "ratio", "with"]
    return ["", f"{results.bench}, {found[0].at.instrument}", "", *table.lines(head, body), "", *verdict(results), ""]


def verdict(results: Results) -> list[str]:
    """The sentences that sum it up; none where there was no choice."""
    found = figures(results)
    if not found:
        return []
    quick = sum(figure.best <= figure.linux * (1 + TOLERANCE) for figure in found)
    behind = statistics.mean(figure.behind for figure in found)
    return [f"With its best policies Corral needs no longer than Linux in {quick} of {len(found)} figures; as it comes it needs {behind:.1%} more "
            "than with the best ones, in the mean."]
