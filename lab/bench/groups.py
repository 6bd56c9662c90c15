"""Cores split into a real-time and a normal group (docs/groups.md), under the cache model: layouts, methods, ratios.

Threads compete for mutexes: those of sysbench, all normal as in the report whose figures stand beside ours
(lab/bench/groups_published.py), and those of our threadload, of both classes, each class's time apart. Cores run at the same time in
virtual time, and a run repeats. Of the product of all that can be chosen a question measures the part that answers it
(`QUESTIONS`); options name other parts.
"""

from __future__ import annotations

import itertools
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass

from lab import boot_options
from lab.bench import failures, groups_report
from lab.bench.bench import Bench, runs_of
from lab.bench.groups_point import CACHES, LAYOUTS, METHODS, NAME, RATIOS, TOOLS, UNGROUPED, Point
from lab.bench.groups_run import MACHINE_SEED, Runs, once
from lab.bench.results import Results, Row, medians
from lab.options import Parser, choose_list, numbers
from lab.problem import WRONG_USE, Problem
from lab.progress import Progress

CORES = 32
OPTIONS = "interleave.seed=0"
MOST_THREADS = 20_000
ALL_METHODS, ALL_THREADS = METHODS[1:], (500, 1000, 5000, 10000)

# Every combination of these.
Cut = dict[str, tuple[object, ...]]
QUESTIONS: dict[str, tuple[Cut, ...]] = {
    "layouts": ({"tool": TOOLS, "caches": ("one", "pairs", "halves"), "layout": LAYOUTS},
                {"threads": (1000,), "caches": ("one", "pairs", "halves"), "layout": LAYOUTS}),
    "methods": ({"method": METHODS},),
    "ratios": ({"share": (25, 50, 75), "ratio": RATIOS},),
    # Only when asked for: hours.
    "product": ({"method": (UNGROUPED,), "caches": ("halves",), "threads": ALL_THREADS},
                {"method": ALL_METHODS, "layout": LAYOUTS, "ratio": RATIOS, "caches": ("halves",), "threads": ALL_THREADS}),
}
USUAL = ("layouts", "methods", "ratios")
QUICK: dict[str, tuple[Cut, ...]] = {
    "layouts": ({"threads": (100,), "caches": ("pairs",), "layout": LAYOUTS[:2]},),
    "methods": ({"threads": (100,), "method": METHODS[:2], "caches": ("pairs",)},),
    "ratios": ({"threads": (100,), "share": (75,), "ratio": ("3:1",), "caches": ("pairs",)},),
    "product": ({"threads": (100,), "method": METHODS[1:3], "ratio": RATIOS[:2], "layout": LAYOUTS[:2], "caches": ("free",)},),
}


@dataclass(frozen=True)
class Plan:
    points: tuple[Point, ...]
    runs: int
    cores: int = CORES
    append: str = ""  # more for Corral's kernel
    quick: bool = False
    systems: tuple[str, ...] = ("corral",)

    def __post_init__(self) -> None:
        boot_options.check_added(self.append, [OPTIONS, "sched.groups"], "choose groups with --method, --layout and --ratio")

    @property
    def kernel_options(self) -> str:
        """Corral's, of every boot."""
        return f"{OPTIONS} {self.append}".strip()

    def options_of(self, point: Point) -> str:
        return " ".join(filter(None, (OPTIONS, point.options, self.append)))

    def boots(self) -> Iterator[Runs]:
        """Points that differ in their groups alone, in one; those of one share of real-time threads after those of another."""
        by_place: dict[tuple[str, str, str, int], list[Point]] = {}
        for system in self.systems:
            for point in self.points:
                if system == "corral" or point.method == UNGROUPED:
                    by_place.setdefault((system, point.tool, point.caches, point.threads), []).append(point)
        for (system, *_), points in by_place.items():
            yield Runs(system, self.cores, tuple(points), self.runs, self.kernel_options)


def rows_of(runs: Runs, plan: Plan) -> Iterator[Row]:
    for point, figures in once(runs):
        options = plan.options_of(point) if runs.system == "corral" else ""
        for what, value in figures.items():
            yield Row(runs.system, "model", runs.cores, point.threads, point.metric(what), value, options, MACHINE_SEED)


def measure(plan: Plan) -> Results:
    rows: list[Row] = []
    boots = list(plan.boots())
    with failures.keeping(rows), Progress("Running threads of two classes under the cache model") as progress:
        for number, runs in enumerate(boots):
            progress.of(number, len(boots), f"{runs.system}, {len(runs.points)} points from {runs.points[0]}")
            rows += rows_of(runs, plan)
        progress.done(f"{len(plan.points)} points, {plan.runs} runs each")
    return Results(NAME, medians(rows))


def report(results: Results, plan: Plan) -> list[str]:
    lines = groups_report.lines(results, plan.points, plan.cores, plan.options_of, linux="linux" in plan.systems)
    return [*lines, "", "--quick: few threads, few points. A look, not a result."] if plan.quick else lines


# ---- what is measured ------------------------------------------------------------------------------------------------------------


def combinations(cut: Cut) -> list[Point]:
    return [Point(**dict(zip(cut, values, strict=True))) for values in itertools.product(*cut.values())]  # type: ignore[arg-type]


def points_of(questions: list[str], chosen: Cut, *, quick: bool) -> tuple[Point, ...]:
    """Each one once. What was chosen stands instead of the usual."""
    cuts = [cut | chosen for question in questions for cut in (QUICK if quick else QUESTIONS)[question]]
    return tuple(dict.fromkeys(point.plain() for cut in cuts for point in combinations(cut)))


LISTS = {"tool": TOOLS, "layout": LAYOUTS, "method": METHODS, "ratio": RATIOS, "caches": tuple(CACHES)}


def declare(parser: Parser) -> None:
    parser.add_argument("--questions", metavar="LIST", help=f"of {', '.join(QUESTIONS)}; default: {', '.join(USUAL)}")
    for name, words in LISTS.items():
        parser.add_argument(f"--{name}", metavar="LIST", help=f"instead of a question's own: {', '.join(words)}")
    parser.add_argument("--threads", type=numbers, metavar="LIST", help="such as 500,10000")
    parser.add_argument("--share", type=numbers, metavar="LIST", help="how many of a hundred threads are real-time, such as 25,50")


def _words(text: str | None, known: tuple[str, ...], what: str) -> tuple[str, ...]:
    return () if text is None else tuple(choose_list(text, known, what))


def plan_of(values: Namespace, _: str, systems: tuple[str, ...]) -> Plan:
    cores = values.cores or [CORES]
    if len(cores) != 1 or not 2 <= cores[0] <= 64:
        raise Problem("--cores: groups are measured on one number of cores, 2 to 64", "give --cores 32", WRONG_USE)
    for threads in values.threads or ():
        if not 1 <= threads <= MOST_THREADS:
            raise Problem(f"--threads {threads}: 1 to {MOST_THREADS}", "give --threads 500,10000", WRONG_USE)
    for share in values.share or ():
        if share > 100:
            raise Problem(f"--share {share}: at most 100 of a hundred", "give --share 25,50", WRONG_USE)
    chosen: Cut = {name: _words(getattr(values, name), known, name) for name, known in LISTS.items()}
    chosen |= {"threads": tuple(values.threads or ()), "share": tuple(values.share or ())}
    questions = _words(values.questions, tuple(QUESTIONS), "question") or USUAL
    points = points_of(list(questions), {name: some for name, some in chosen.items() if some}, quick=values.quick)
    if "corral" not in systems and all(point.method != UNGROUPED for point in points):
        raise Problem("--system linux: it has no groups of cores, and of these points all have", "--questions methods --method none", WRONG_USE)
    return Plan(points, runs_of(values), cores[0], values.append, values.quick, systems)


BENCH = Bench(NAME, "real-time and normal threads on cores of their own: layouts, methods, ratios; under the cache model",
              {"model": "model"}, plan_of, measure, report, groups_report.draw, declare, common=("cores", "append", "runs", "system"))
