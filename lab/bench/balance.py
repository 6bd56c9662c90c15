"""Threads that compute, sleep and are placed anew each time they wake, under every placement and migration, beside Linux.

The load is the one with which paper 000 wanted to compare placements (section 5.2.1; user/programs/balance.cpp). Cores run at the
same time in virtual time and have caches by the model of lab/plugin/, so a run repeats to the last count; what differs from run to
run is the seed of the threads' sleeps, and shown is the median of several.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

from lab import boot_options, cache_model
from lab.bench import balance_plot, failures, table, timed
from lab.bench.balance_run import PROGRAM, Found, Load, Runs, once
from lab.bench.bench import RUNS, Bench, Place
from lab.bench.results import Results, Row, medians
from lab.machine import told_cores
from lab.options import Parser
from lab.problem import Problem
from lab.progress import Progress

NAME = "balance"
PLACEMENT, MIGRATION = "sched.placement", "sched.migration"
BASELINE = "random"  # the placement that the others are measured against, with the same migration
CORES = (4,)
# Sections of which three fit beside each other into a cache of today, not four: threads gain by staying, and lose by crowding.
LOADS = (
    Load("light", 8, 12, 100, 1000),
    Load("busy", 8, 12, 100, 400),
    Load("crowded", 16, 12, 60, 400),
)
QUICK_PLACEMENTS = ("random", "least-loaded", "affinity", "cache-aware")
QUICK_MIGRATIONS = ("none", "pull")
NEITHER = ("calculations", "moves", "instructions.user", "instructions.kernel")  # better neither higher nor lower
BY_NAME = {load.name: load for load in LOADS}
IN_SWEEPS = ("runtime_us", "wake_p50_ns", "wake_p99_ns", "wake_worst_ns", "moves")  # of what the program says


@dataclass(frozen=True)
class Choice:
    placement: str  # with tunables, if any
    migration: str

    @property
    def options(self) -> str:
        return f"{PLACEMENT}={self.placement} {MIGRATION}={self.migration}"


@dataclass(frozen=True)
class Plan:
    systems: tuple[str, ...]
    cores: tuple[int, ...]
    choices: tuple[Choice, ...]
    seeds: tuple[int, ...]
    caches: str
    options: str = ""  # more for Corral's kernel
    quick: bool = False

    def __post_init__(self) -> None:
        boot_options.check_added(self.options, [choice.options for choice in self.choices], "name policies with --placement and --migration")
        for choice in self.choices:
            boot_options.check_line(self.options_of(choice))

    @property
    def model(self) -> str:
        return f"{self.caches},quantum=500,clock=parallel"

    def options_of(self, choice: Choice) -> str:
        return f"{choice.options} {self.options}".strip()

    def boots(self) -> Iterator[Runs]:
        for cores in self.cores:
            for choice in self.choices if "corral" in self.systems else ():
                yield Runs("corral", cores, LOADS, self.seeds, self.model, self.options_of(choice))
            if "linux" in self.systems:
                yield Runs("linux", cores, LOADS, self.seeds, self.model)


def better(metric: str) -> str:
    return "neither" if metric in NEITHER else "lower"


def rows(runs: Runs, found: list[Found]) -> Iterator[Row]:
    for one in found:
        for metric, value in one.metrics.items():
            yield Row(runs.system, "model", runs.cores, one.load.threads, f"{one.load.name}.{metric}", value, runs.options, better=better(metric))


def check_sums(found: list[Found], sums: dict[tuple[Load, int], str]) -> None:
    """Whoever ran them, and where: the same threads have computed the same."""
    for one in found:
        if sums.setdefault((one.load, one.seed), one.checksum) != one.checksum:
            raise Problem(f"load {one.load.name}, seed {one.seed}: the threads' sums are {one.checksum}, and were "
                          f"{sums[(one.load, one.seed)]} before", "a thread was lost or its memory damaged: please report it")


def measure(plan: Plan) -> Results:
    measured: list[Row] = []
    sums: dict[tuple[Load, int], str] = {}
    todo = list(plan.boots())
    with failures.keeping(measured), Progress("Balancing threads under the cache model") as progress:
        for number, runs in enumerate(todo):
            progress.of(number, len(todo), f"{runs.system}, {runs.cores} cores {runs.options}")
            found = once(runs)
            check_sums(found, sums)
            measured += rows(runs, found)
        progress.done(f"{len(todo)} boots")
    return Results(NAME, medians(measured))


# --- what is told ---------------------------------------------------------------------------------------------------------

Figures = dict[str, float]  # of one load at one place, by metric


def figures(results: Results, system: str, cores: int, options: str) -> dict[str, Figures]:
    """By load."""
    told: dict[str, Figures] = {}
    for row in results.rows:
        if (row.system, row.cores, row.options) == (system, cores, options):
            load, _, metric = row.metric.partition(".")
            told.setdefault(load, {})[metric] = row.value
    return told


def refills(of: Figures) -> float:
    return sum(of[f"refills.{mode}"] for mode in cache_model.MODES)


def change(value: float, before: float) -> str:
    return f"{100 * (value - before) / before:+.0f} %" if before else "-"


def _against(of: Figures, baseline: Figures | None) -> list[str]:
    changes = [change(of["runtime_us"], baseline["runtime_us"]), change(refills(of), refills(baseline))] if baseline else ["", ""]
    thousands = [table.number(of[f"refills.{mode}"] / 1000) for mode in cache_model.MODES]
    return [table.number(of["runtime_us"] / 1000), changes[0], *thousands, changes[1]]


def _cells(of: Figures, baseline: Figures | None) -> list[str]:
    wakes = [table.number(of[f"wake_{which}_ns"] / 1000, 0) for which in ("p50", "p99", "worst")]
    wasted = table.number(of["wasted_us"] / 1000) if "wasted_us" in of else "-"
    return [*_against(of, baseline), table.number(of["l2_refills.user"] + of["l2_refills.kernel"], 0), table.number(of["moves"], 0), *wakes, wasted]


HEAD = ("placement", "migration", "ms", "to random", "refills, user", "kernel", "to random", "L2", "moves", "wake p50", "p99", "worst", "wasted ms")


def together(loads: dict[str, Figures]) -> Figures | None:
    """Time and refills of all loads, one after the other; None if nothing was measured."""
    if not loads:
        return None
    return {metric: sum(of[metric] for of in loads.values()) for metric in ("runtime_us", *(f"refills.{mode}" for mode in cache_model.MODES))}


def _rows(results: Results, plan: Plan, cores: int, of: Callable[[dict[str, Figures]], Figures | None],
          cells: Callable[[Figures, Figures | None], list[str]]) -> list[list[str]]:
    """A row for each choice, and for Linux: `cells` of what `of` makes of its loads, and of those of the baseline if that was measured."""
    def told(system: str, options: str) -> Figures:
        return of(figures(results, system, cores, options)) or {}

    body = []
    for choice in plan.choices if "corral" in plan.systems else ():
        baseline = told("corral", plan.options_of(Choice(BASELINE, choice.migration)))
        body.append([choice.placement, choice.migration, *cells(told("corral", plan.options_of(choice)), baseline or None)])
    if "linux" in plan.systems:
        body.append(["Linux", "", *cells(told("linux", ""), None)])
    return body


def _sums(results: Results, plan: Plan, cores: int) -> list[str]:
    """What a placement is worth over all loads."""
    return ["", f"all loads together; {told_cores(cores)}", "", *table.lines(HEAD[:7], _rows(results, plan, cores, together, _against))]


def _table(results: Results, plan: Plan, cores: int, load: Load) -> list[str]:
    title = (f"{load.name}: {load.threads} threads, sections of {load.section_kib} KiB, {load.rounds} rounds, sleeps of up to "
             f"{load.sleep_us} us; {told_cores(cores)}")
    return ["", title, "", *table.lines(HEAD, _rows(results, plan, cores, lambda loads: loads.get(load.name), _cells))]


def report(results: Results, plan: Plan) -> list[str]:
    lines = [f"Median of {len(plan.seeds)} seeds; caches: {plan.caches}. ms: virtual time until all have ended; refills of cores' own caches, "
             "thousands; wake: us from the end of a sleep until the thread runs; wasted: cores idled beside waiting threads."]
    for cores in plan.cores:
        for load in LOADS:
            lines += _table(results, plan, cores, load)
        lines += _sums(results, plan, cores)
    return [*lines, *(["", "--quick: one seed, few policies. A look, not a result."] if plan.quick else [])]


def declare(parser: Parser) -> None:
    parser.add_argument("--placement", action="append", metavar="NAME", help="only this one, such as affinity:warm=500; again for more")
    parser.add_argument("--migration", action="append", metavar="NAME", help="only this one, such as pull:hot=200; again for more")
    parser.add_argument("--caches", choices=cache_model.PRESETS, default="today", help="of the model (default today)")


def plan_of(values: Namespace, _: str, systems: tuple[str, ...]) -> Plan:
    known = boot_options.policies()
    placements = values.placement or (QUICK_PLACEMENTS if values.quick else known[PLACEMENT])
    migrations = values.migration or (QUICK_MIGRATIONS if values.quick else known[MIGRATION])
    choices = tuple(Choice(*both) for both in product(placements, migrations))
    seeds = tuple(range(1, 1 + (values.runs or (1 if values.quick else RUNS))))
    return Plan(systems, tuple(values.cores or CORES), choices, seeds, values.caches, values.append, values.quick)


def at(place: Place, patience: float | None) -> list[Row]:
    names = place.parts.split(",") if place.parts else list(BY_NAME)
    seeds = range(1, 1 + (1 if place.quick else RUNS))
    runs = [timed.Run(load.name, load.threads, f"{PROGRAM} {load.words(seed)}") for load in LOADS if load.name in names for seed in seeds]
    return timed.at(place, runs, {metric: better(metric) for metric in IN_SWEEPS}, patience)


BENCH = Bench(NAME, "threads that compute and sleep, under every placement and migration, by a model of caches", {"model": "model"}, plan_of,
              measure, report, balance_plot.draw, declare, at=at, at_instruments=("bochs", "wall"), parts=BY_NAME)
