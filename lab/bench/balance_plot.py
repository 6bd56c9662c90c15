"""The picture of the bench `balance`: what each choice of policies gains over random placement, and what it costs."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from lab.bench import plot
from lab.bench.results import Results

FIRST_COLOURS = ("#b5542a", "#d99a6c", "#6b2d12", "#8a8a3c", "#3c8a7a")
Points = dict[str, dict[str, float]]  # by choice of policies, then by metric


def by_choice(results: Results) -> Points:
    """Of the highest number of cores; refills of both modes are "LOAD.refills" here. Linux's choice is called so."""
    cores = max(row.cores for row in results.rows)
    points: Points = defaultdict(lambda: defaultdict(float))
    for row in results.rows:
        if row.cores != cores:
            continue
        words = [word.split("=", 1) for word in row.options.split()]
        name = ", ".join(value for option, value in words if option in ("sched.placement", "sched.migration")) or "Linux"
        points[name][row.metric] = row.value
        load, _, metric = row.metric.partition(".")
        if metric.startswith("refills."):
            points[name][f"{load}.refills"] += row.value
    return points


def draw(results: Results, files: list[Path]) -> None:
    """Left: refills. Right: completion time. A bar for each load, in parts of the highest of all choices."""
    points = by_choice(results)
    names = list(points)[::-1]
    loads = list(dict.fromkeys(row.metric.partition(".")[0] for row in results.rows))
    figure, panels = plot.figure(13, 2 + 0.32 * len(names))
    height = 0.8 / len(loads)
    for axes, metric, label in zip(panels, ("refills", "runtime_us"), ("refills of cores' own caches", "completion time")):
        for index, load in enumerate(loads):
            values = [points[name][f"{load}.{metric}"] for name in names]
            highest = max(values) or 1.0
            places = [place + 0.4 - (index + 0.5) * height for place in range(len(names))]
            axes.barh(places, [value / highest for value in values], height, color=FIRST_COLOURS[index % len(FIRST_COLOURS)], label=load)
        axes.set_yticks(range(len(names)), names, fontsize="small")
        axes.set_xlabel(f"{label}, of the highest")
        axes.set_ylim(-2, len(names) - 0.4)  # room for the legend
        axes.legend(fontsize="small", loc="lower left", ncols=len(loads))
    figure.suptitle("Threads that compute, sleep and are placed anew (cache model)")
    plot.save(figure, files)
