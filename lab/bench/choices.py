"""What a choice of policies is worth: the kernel as it comes, its best policies, and Linux, figure by figure.

Only of results in which the same was measured with several options and without any; on Linux too, or there is nothing to hold them against. Several seeds
count with their median.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from dataclasses import dataclass

from lab.bench import beside, table
from lab.bench.results import Results, Row, over_seeds

TOLERANCE = 0.01  # of what repeats: where the timer's interrupts fall


@dataclass(frozen=True)
class Figure:
    """Lower is better. `best` is the lowest of all of Corral's, with its options."""

    at: Row
    usual: float
    best: float
    options: str
    linux: float
    verdict: str  # of the best beside Linux (lab/bench/beside.py)

    @property
    def behind(self) -> float:
        """How much more than with the best options the usual ones need, as a part."""
        return self.usual / self.best - 1 if self.best else 0.0


def figures(results: Results) -> list[Figure]:
    corral: dict[tuple[object, ...], dict[str, Row]] = defaultdict(dict)
    linux: dict[tuple[object, ...], Row] = {}
    for row in over_seeds(results).rows:
        place = (row.instrument, row.cores, row.threads, row.metric)
        if row.better != "lower":
            continue
        if row.system == "linux":
            linux[place] = row
        else:
            corral[place][row.options] = row
    return [_figure(rows, linux[place]) for place, rows in corral.items() if place in linux and "" in rows and len(rows) > 1]


def _figure(by_options: dict[str, Row], linux: Row) -> Figure:
    usual, best = by_options[""], min(by_options.values(), key=lambda row: row.value)
    return Figure(usual, usual.value, best.value, best.options, linux.value, beside.judged(best.samples, linux.samples, TOLERANCE))


def report(results: Results) -> list[str]:
    found = figures(results)
    if not found:
        return []
    body = [[figure.at.metric, str(figure.at.cores), str(figure.at.threads), table.number(figure.linux, 2), table.number(figure.usual, 2),
             table.number(table.ratio(figure.usual, figure.linux), 3), table.number(figure.best, 2),
             table.number(table.ratio(figure.best, figure.linux), 3), figure.verdict, figure.options or "as it comes"] for figure in found]
    head = ["figure", "cores", "threads", "Linux", "Corral", "ratio", "best", "ratio", "", "with"]
    return ["", f"{results.bench}, {found[0].at.instrument}", "", *table.lines(head, body), "", *verdict(results), ""]


def verdict(results: Results) -> list[str]:
    """The sentences that sum it up; none where there was no choice."""
    found = figures(results)
    if not found:
        return []
    quick, chance = (sum(figure.verdict == word for figure in found) for word in (beside.OK, beside.BY_CHANCE))
    behind = statistics.mean(figure.behind for figure in found)
    more = f", and in {chance} more only by chance (p >= {beside.CHANCE})" if chance else ""
    return [f"With its best policies Corral needs no longer than Linux in {quick} of {len(found)} figures{more}; as it comes it needs {behind:.1%} more "
            "than with the best ones, in the mean."]
