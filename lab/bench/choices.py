"""What a choice of policies is worth: the kernel as it comes, its best policies, and Linux, figure by figure.

Only of results in which the same was measured with several options and without any; on Linux too, or there is nothing to hold them against. Several seeds
count with their median. The lowest of many medians is low by chance as well: where there are boots enough, those with odd numbers choose the options, and only
those with even ones tell what they are worth.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lab.bench import beside, table
from lab.bench.results import Results, Row

TOLERANCE = 0.01  # of what repeats: where the timer's interrupts fall
Boots = dict[tuple[int, int], float]  # what was measured, by seed (0: none) and repeat


@dataclass(frozen=True)
class Figure:
    """Lower is better. `best` is Corral's with the options that were chosen, `options`."""

    at: Row
    usual: float
    best: float
    options: str
    linux: float
    verdict: str  # of the best beside Linux (lab/bench/beside.py)
    halved: bool  # the boots that chose are not among these; else it is the lowest of all, by the boots that chose it

    @property
    def behind(self) -> float:
        """How much more than with the best options the usual ones need, as a part."""
        return self.usual / self.best - 1 if self.best else 0.0


def figures(results: Results) -> list[Figure]:
    corral: dict[tuple[object, ...], dict[str, Boots]] = defaultdict(lambda: defaultdict(dict))
    linux: dict[tuple[object, ...], Boots] = defaultdict(dict)
    first: dict[tuple[object, ...], Row] = {}
    for row in results.rows:
        place = (row.instrument, row.cores, row.threads, row.metric)
        if row.better == "lower":
            first.setdefault(place, row)
            boots = linux[place] if row.system == "linux" else corral[place][row.options]
            boots |= {(row.seed, repeat): value for repeat, value in enumerate(row.samples, 1)}
    return [_figure(first[place], boots, linux[place]) for place, boots in corral.items() if place in linux and "" in boots and len(boots) > 1]


def _figure(at: Row, by_options: Mapping[str, Boots], linux: Boots) -> Figure:
    halved = all(len(_values(boots, part)) >= beside.FEWEST for boots in (linux, *by_options.values()) for part in ("odd", "even"))
    choose, tell = ("odd", "even") if halved else ("all", "all")
    options = min(by_options, key=lambda one: statistics.median(_values(by_options[one], choose)))
    best, usual, theirs = (_values(boots, tell) for boots in (by_options[options], by_options[""], linux))
    return Figure(at, statistics.median(usual), statistics.median(best), options, statistics.median(theirs),
                  beside.judged(best, theirs, TOLERANCE), halved)


def _values(boots: Boots, part: str) -> list[float]:
    """Of those with odd or even seeds, or repeats where they have no seed, or of all."""
    return [value for (seed, repeat), value in boots.items() if part in ("all", "odd" if (seed or repeat) % 2 else "even")]


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
    """The sentences that sum it up; none where there was no choice. Of `results` as they were measured, each seed by itself."""
    found = figures(results)
    if not found:
        return []
    quick, chance = (sum(figure.verdict == word for figure in found) for word in (beside.OK, beside.BY_CHANCE))
    behind = statistics.mean(figure.behind for figure in found)
    more = f", and in {chance} more only by chance (p >= {beside.CHANCE})" if chance else ""
    return [f"With its best policies ({_how(found)}) Corral needs no longer than Linux, within {TOLERANCE:.0%}, in {quick} of {len(found)} figures{more}; "
            f"as it comes it needs {behind:.1%} more than with the best ones, in the mean."]


def _how(found: Sequence[Figure]) -> str:
    halved = sum(figure.halved for figure in found)
    split, same = "chosen by odd seeds or repeats and judged by even ones", "chosen and judged by the same boots, which favours them"
    if halved in (0, len(found)):
        return split if halved else same
    return f"in {halved} figures {split}, in the others {same}"
