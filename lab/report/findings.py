"""What the figures say, in sentences: computed from them, so that no sentence outlives its figures."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterator

from lab.bench import choices
from lab.bench.results import Results, Row, over_seeds
from lab.bench.results import spread as spread_of
from lab.machine import told_cores

CLEAR = 0.005  # what counts as a difference from Linux; smaller ones are where timer interrupts fall
BEST_SHOWN = 6  # lines for each workload of a sweep


def of(results: Results) -> list[str]:
    """Of results as they were measured; several seeds count as runs of one point, but where it matters which boots they are."""
    merged = over_seeds(results)
    return [*_beside_linux(merged), *choices.verdict(results), *_options(merged), *_spread(merged)]


def pairs(results: Results) -> dict[tuple[str, int, int, str, str], tuple[float, float]]:
    """By (instrument, cores, threads, metric, options): Corral's figure and Linux's, which has no options."""
    linux = {(row.instrument, row.cores, row.threads, row.metric): row.value for row in results.rows if row.system == "linux"}
    found = {}
    for row in results.rows:
        partner = linux.get((row.instrument, row.cores, row.threads, row.metric))
        if row.system == "corral" and partner and row.better == "lower":
            found[(row.instrument, row.cores, row.threads, row.metric, row.options)] = (row.value, partner)
    return found


def _beside_linux(results: Results) -> Iterator[str]:
    groups: dict[tuple[str, int], list[tuple[float, str]]] = defaultdict(list)
    for (instrument, cores, threads, metric, _), (ours, theirs) in pairs(results).items():
        groups[(instrument, cores)].append((ours / theirs, f"{metric}, {threads} threads" if threads > 1 else metric))
    for (instrument, cores), ratios in sorted(groups.items()):
        ratios.sort()
        lower = sum(ratio <= 1 + CLEAR for ratio, _ in ratios)
        yield (f"On {told_cores(cores)} ({instrument}) Corral needs no more than Linux, within {CLEAR:.1%}, in {lower} of {len(ratios)} figures: median ratio "
               f"{statistics.median(ratio for ratio, _ in ratios):.3f}, from {ratios[0][0]:.3f} ({ratios[0][1]}) to {ratios[-1][0]:.3f} ({ratios[-1][1]}).")


def _options(results: Results) -> Iterator[str]:
    """Which choice of options is best, where there was a choice."""
    groups: dict[tuple[str, int, int, str], dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in results.rows:
        if row.system == "corral" and row.better != "neither":
            groups[(row.instrument, row.cores, row.threads, row.metric)][row.options].append(row)
    told = 0
    for (instrument, cores, threads, metric), tried in groups.items():
        medians = {options: statistics.median(row.value for row in rows) for options, rows in tried.items()}
        if len(medians) < 2 or len(set(medians.values())) == 1 or told == BEST_SHOWN:
            continue
        told += 1
        higher = next(iter(tried.values()))[0].better == "higher"
        order = sorted(medians, key=lambda options: medians[options], reverse=higher)
        best, worst = order[0], order[-1]
        many = f", {threads} threads" if threads > 1 else ""
        yield (f"{metric} on {told_cores(cores)}{many} ({instrument}): best {_figure(metric, medians[best])} with {best or 'the kernel as it comes'}, "
               f"worst {_figure(metric, medians[worst])} with {worst or 'the kernel as it comes'}, of {len(order)}.")


def _spread(results: Results) -> Iterator[str]:
    several = [spread_of(row) for row in results.rows if len(row.samples) > 1]
    if several and max(several) > 0:
        yield f"The runs of one point were apart by ±{statistics.median(several):.1%} in the median, by at most ±{max(several):.1%}."


def _figure(metric: str, value: float) -> str:
    return f"{value / 1e6:,.3f} ms" if metric.endswith("_ns") else f"{value:,g}"
