"""The tables and the plot of `./corral bench groups`: layouts beside the published ones, methods, ratios."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from lab.bench import plot, table
from lab.bench.groups_point import DYNAMIC, LAYOUTS, METHODS, UNGROUPED, Point
from lab.bench.groups_published import PUBLISHED
from lab.bench.results import Results

Value = Callable[[Point, str], float | None]  # what was measured at a point; None: it was not, or has no such figure
TIMES = ("all_ms", "normal_ms", "normal_mean_ms", "real-time_ms", "real-time_mean_ms")
TIMES_HEAD = ("all, ms", "normal", "mean", "real-time", "mean")
MARKS = dict(zip(LAYOUTS, "osD", strict=True))


def reader(results: Results, cores: int, options_of: Callable[[Point], str], system: str = "corral") -> Value:
    values = {(row.cores, row.threads, row.options, row.metric): row.value for row in results.rows if row.system == system}
    return lambda point, what: values.get((cores, point.threads, options_of(point), point.metric(what)))


def _families(points: Sequence[Point], name: str) -> list[list[Point]]:
    """Those that differ in this alone, where there are several."""
    found: dict[object, list[Point]] = {}
    for point in points:
        if point.method == UNGROUPED and name != "method":
            continue
        found.setdefault(tuple((key, value) for key, value in vars(point).items() if key != name), []).append(point)
    return [family for family in found.values() if len(family) > 1]


def _beside(value: float | None, base: float | None) -> str:
    """With how many times `base` it is; whole numbers where they are counts."""
    text = table.number(value, 0 if value is not None and value >= 10_000 else 1)
    times = table.ratio(value, base)
    return text if times is None else f"{text} ({times:.3f})"


def _times(point: Point, value: Value) -> list[str]:
    return [table.number(value(point, what)) for what in TIMES]


def layouts(points: Sequence[Point], value: Value) -> list[str]:
    body = []
    for family in sorted(_families(points, "layout"), key=lambda family: (family[0].tool, family[0].caches)):
        first = family[0]
        for point in family:
            body.append([point.tool, point.caches, str(point.threads), point.method, point.ratio, point.layout,
                         *(_beside(value(point, what), value(first, what)) for what in ("all_ms", "normal_mean_ms", "real-time_mean_ms", "l2_refills"))])
    if not body:
        return []
    head = ["tool", "caches", "threads", "method", "ratio", "layout", "all, ms", "normal, mean", "real-time, mean", "refills from beyond"]
    published = [[tool, str(threads), layout, _beside(times[threads], PUBLISHED[tool]["grouped"][threads])]
                 for tool, layouts_of in PUBLISHED.items() for threads in layouts_of["grouped"] for layout, times in layouts_of.items()]
    return ["", "Layouts; mean: until a thread is done, in the mean; in parentheses: times the first one's", "", *table.lines(head, body), "",
            "Published, milliseconds on another machine of 32 cores, half of them for real-time threads, of which there were none", "",
            *table.lines(["tool", "threads", "layout", "all, ms"], published)]


def methods(points: Sequence[Point], value: Value) -> list[str]:
    body = []
    for family in _families(points, "method"):
        for point in sorted(family, key=lambda point: METHODS.index(point.method)):
            groups = ["", ""] if point.method == UNGROUPED else [point.layout, point.ratio]
            body.append([point.tool, point.caches, str(point.threads), *groups, point.method, *_times(point, value),
                         table.number(value(point, "kernel_instructions"), 0)])
    if not body:
        return []
    head = ["tool", "caches", "threads", "layout", "ratio", "method", *TIMES_HEAD, "kernel's instructions"]
    return ["", "Methods; mean: until a thread is done, in the mean", "", *table.lines(head, body)]


def ratios(points: Sequence[Point], value: Value) -> list[str]:
    body = []
    for family in _families(points, "ratio"):
        fixed = [time for point in family if point.ratio != DYNAMIC and (time := value(point, "all_ms")) is not None]
        for point in family:
            all_ms, *others = TIMES
            body.append([point.tool, point.caches, str(point.threads), f"{point.share} %", point.method, point.layout, point.ratio,
                         _beside(value(point, all_ms), min(fixed, default=None)), *(table.number(value(point, what)) for what in others)])
    if not body:
        return []
    head = ["tool", "caches", "threads", "real-time", "method", "layout", "ratio", *TIMES_HEAD]
    return ["", "Ratios, real-time cores to normal ones; in parentheses: times the best fixed one's", "", *table.lines(head, body)]


def ungrouped(points: Sequence[Point], value: Value, linux: Value) -> list[str]:
    body = [[point.tool, point.caches, str(point.threads), f"{point.share} %", system, *_times(point, of),
             *(table.number(of(point, what), 0) for what in ("kernel_instructions", "l2_refills"))]
            for point in points if point.method == UNGROUPED
            for system, of in (("Corral", value), ("Linux", linux)) if of(point, TIMES[0]) is not None]
    return ["", "Without groups, the identical program on both systems", "",
            *table.lines(["tool", "caches", "threads", "real-time", "system", *TIMES_HEAD, "kernel's instructions", "refills from beyond"],
                         body)] if body else []


def lines(results: Results, points: Sequence[Point], cores: int, options_of: Callable[[Point], str], *, linux: bool) -> list[str]:
    value = reader(results, cores, options_of)
    told = [*layouts(points, value), *methods(points, value), *ratios(points, value)]
    if linux:
        told += ungrouped(points, value, reader(results, cores, lambda _: "", "linux"))
    if not told:
        told = ["", *table.lines(["point", *TIMES_HEAD], [[str(point), *_times(point, value)] for point in points])]
    return [f"Core groups on {cores} cores: milliseconds of virtual time until the last thread is done, of all and of each class.", *told]


def draw(results: Results, files: list[Path]) -> None:
    """Left: the time of each layout by threads. Right: that of each ratio, a line for each share of real-time threads."""
    figure, (times, shares) = plot.figure(12, 5)
    by_layout: dict[tuple[str, str, str], list[tuple[int, float]]] = {}
    by_share: dict[str, list[tuple[str, float]]] = {}
    for row in results.rows:
        tool, caches, share, what = row.metric.split(".")
        groups = dict(word.split("=") for option in row.options.split() if option.startswith("sched.groups=")
                      for word in option.partition(":")[2].split(","))
        if what != "all_ms" or not groups or f"sched.groups={Point().method}:" not in row.options:
            continue
        ratio = groups.get("ratio", DYNAMIC)
        if ratio == "1:1":
            by_layout.setdefault((tool, caches, groups["layout"]), []).append((row.threads, row.value))
        if tool == "threadload" and groups["layout"] == LAYOUTS[0]:
            by_share.setdefault(f"{share.rpartition('-')[2]} % real-time of {row.threads}, {caches}", []).append((ratio, row.value))
    for (tool, caches, layout), points in sorted(by_layout.items()):
        times.plot(*zip(*sorted(points)), marker=MARKS[layout], alpha=0.7, label=f"{tool}, {caches}, {layout}")
    times.set(xscale="log", yscale="log", xlabel="threads", ylabel="ms of virtual time", title="layouts, 1:1")
    for share, found in sorted(by_share.items()):
        if len(dict(found)) > 1:
            shares.plot(*zip(*dict(found).items()), marker="o", label=share)
    shares.set(xlabel="real-time cores to normal ones", ylabel="ms of virtual time", title="ratios")
    shares.set_ylim(bottom=0)
    for axes in (times, shares):
        if axes.lines:
            axes.legend(fontsize="x-small")
    plot.save(figure, files)
