"""Matrices multiplied by threads, under the cache model: what migration, pinning and a pool of threads do to caches.

The loads are those of figures 3 to 8 of the study of schedulers on the Raspberry Pi (lab/bench/matrix_published.py), and 6c
and 6d, which it lacks; with its caches (16 KiB for each core, 128 KiB for all), or with a processor's of today. Cores run at the same time in virtual time, and a run repeats:
so each run gives the model's cores other turns, and threads meet otherwise. Counted is from before the first thread is made until the last one has ended, user and kernel mode
apart.
"""

from __future__ import annotations

import statistics
import tempfile
from argparse import Namespace
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from lab import boot_options, cache_model, guest
from lab.bench import failures, plot, table, timed
from lab.bench.bench import Bench, Place, runs_of
from lab.bench.matrix_published import PUBLISHED, Figure
from lab.bench.results import Results, Row, medians
from lab.options import Parser, choose, choose_list, positive
from lab.problem import Problem
from lab.progress import Progress

NAME = PROGRAM = "matrix"
EVENTS = ("instructions", "cycles", "accesses", "refills")
QUANTUM = 2000  # cycles of a core's turn in the model, in the first run
SEED = 1
OPTIONS = "interleave.seed=0 counters=model"
DIVIDED_WHEN_QUICK = 20
DIVIDED = {"bochs": 10}  # of sweeps, by instrument; others: 1


@dataclass(frozen=True)
class Case:
    figure: str
    what: str
    cores: int
    options: str  # of Corral's kernel
    load: str  # of the program `matrix`

    @property
    def threads(self) -> int:
        _, _, *counts = self.load.split()
        return int(counts[4]) if "pool" in counts else sum(map(int, counts[:3]))

    def command(self, divided: int) -> str:
        return f"{PROGRAM} {self.load} divide {divided}" if divided > 1 else f"{PROGRAM} {self.load}"


PUSH, PULL_TOO, STAY = "sched.migration=push", "sched.migration=both", "sched.migration=none"
CASES = (
    Case("3a", "one core, medium matrix", 1, STAY, "medium 1 1 0 0"),
    Case("3b", "one core, large matrix", 1, STAY, "large 1 1 0 0"),
    Case("4a", "four parts, one queue", 4, f"sched.queues=global {STAY}", "parts 1 4 0 0"),
    Case("4b", "four parts, pinned", 4, STAY, "parts 1 4 0 0 pin"),
    Case("5a", "12 hard + 60 easy, 4 samples, push", 4, PUSH, "small 4 12 0 60"),
    Case("5b", "the same, push and pull", 4, PULL_TOO, "small 4 12 0 60"),
    Case("6a", "12 hard + 60 easy, 16 samples, push", 4, PUSH, "small 16 12 0 60"),
    Case("6b", "the same, push and pull", 4, PULL_TOO, "small 16 12 0 60"),
    Case("6c", "6a's threads, one queue", 4, f"sched.queues=global {STAY}", "small 16 12 0 60"),
    Case("6d", "the same, pinned", 4, STAY, "small 16 12 0 60 pin"),
    Case("7a", "24 of each difficulty, 16 samples, push", 4, PUSH, "small 16 24 24 24"),
    Case("7b", "the same, push and pull", 4, PULL_TOO, "small 16 24 24 24"),
    Case("8a", "64 threads, 4 samples", 4, PULL_TOO, "small 4 0 64 0"),
    Case("8b", "a pool of 16, 4 samples", 4, PULL_TOO, "small 4 0 64 0 pool 16"),
    Case("8c", "64 threads, 16 samples", 4, PULL_TOO, "small 16 0 64 0"),
    Case("8d", "a pool of 16, 16 samples", 4, PULL_TOO, "small 16 0 64 0 pool 16"),
)
# For sweeps: the first figure of each load. The options are not the case's, but the grid's.
LOADS = {case.figure: case for case in CASES if case is next(other for other in CASES if other.load == case.load)}
# Before, after, and what the study found.
CHANGES = (
    ("4a", "4b", "pinned threads refill less than threads of one queue"),
    ("5a", "5b", "pull: 19 to 26 % fewer cycles, 60 to 76 % fewer refills"),
    ("6a", "6b", "pull: 19 to 26 % fewer cycles, 60 to 76 % fewer refills"),
    ("6c", "6d", "pinned threads refill less than threads of one queue"),
    ("7a", "7b", "pull: fewer cycles and refills"),
    ("8a", "8b", "pool: 40 to 50 % fewer instructions of the kernel"),
    ("8c", "8d", "pool: 40 to 50 % fewer instructions of the kernel"),
)


@dataclass(frozen=True)
class Plan:
    quick: bool
    options: str = ""  # more for Corral's kernel
    caches: str = cache_model.PRESETS[0]
    quantum: int = QUANTUM
    cases: tuple[Case, ...] = CASES
    runs: int = 1

    def __post_init__(self) -> None:
        own = [OPTIONS, *(case.options for case in self.cases)]
        boot_options.check_added(self.options, own, "leave it out: the figures differ in it, and --figures chooses them")

    @property
    def quanta(self) -> list[int]:
        """Of each run, a twentieth more each time."""
        return [self.quantum + run * max(1, self.quantum // 20) for run in range(self.runs)]

    def model(self, quantum: int) -> str:
        return f"preset={self.caches},quantum={quantum},clock=parallel"

    def options_of(self, case: Case) -> str:
        return f"{OPTIONS} {case.options} {self.options}".strip()


def once(case: Case, plan: Plan, quantum: int) -> Figure:
    """Each event by mode, and the run time in microseconds of virtual time."""
    program = case.command(DIVIDED_WHEN_QUICK if plan.quick else 1).split()
    with tempfile.TemporaryDirectory(prefix="corral-matrix-") as name:
        file = Path(name) / "report"
        with failures.of_guest(f"figure {case.figure}"):
            said, end = guest.run_program(program, cores=case.cores, seed=SEED, plugin=cache_model.plugin(plan.model(quantum), file, seeded=True),
                                          options=plan.options_of(case), patience=3000.0)
        reports = cache_model.read(file)
    told = timed.said(PROGRAM, said)
    if end.status != 0 or not told or len(reports) != 2:
        raise Problem(f"figure {case.figure}: the program did not end well", f"its output: {said[-500:]}")
    return Figure(int(told[0]["runtime_us"]), *({mode: reports[0].total(mode, event) for mode in cache_model.MODES} for event in EVENTS))


def measure(plan: Plan) -> Results:
    rows: list[Row] = []
    with failures.keeping(rows), Progress("Multiplying matrices under the cache model") as progress:
        todo = list(product(plan.cases, plan.quanta))
        for number, (case, quantum) in enumerate(todo):
            progress.of(number, len(todo), f"figure {case.figure}")
            figure = once(case, plan, quantum)
            rows += [Row("corral", "model", case.cores, 0, metric, value, plan.options_of(case), SEED)
                     for metric, value in metrics(case.figure, figure).items()]
        progress.done(f"{len(todo)} runs")
    return Results(NAME, medians(rows))


def metrics(name: str, figure: Figure) -> dict[str, float]:
    counted = {f"{name}.{event}.{mode}": value for event in EVENTS for mode, value in getattr(figure, event).items()}
    return {f"{name}.runtime_us": figure.runtime, **counted}


def figure_of(results: Results, case: Case, run: int | None = None) -> Figure:
    """The medians, or one run."""
    def value(metric: str) -> int:
        row = results.row("corral", case.cores, 0, f"{case.figure}.{metric}")
        return 0 if row is None else int(row.value if run is None else row.samples[run])

    return Figure(value("runtime_us"), *({mode: value(f"{event}.{mode}") for mode in cache_model.MODES} for event in EVENTS))


def _cells(figure: Figure) -> list[str]:
    return [str(getattr(figure, event)[mode]) for event in EVENTS for mode in cache_model.MODES] + [str(figure.runtime)]


def change(before: Figure, after: Figure, event: str, modes: tuple[str, ...] = cache_model.MODES) -> float | None:
    """In per cent, of these modes together."""
    first, second = (sum(getattr(figure, event)[mode] for mode in modes) for figure in (before, after))
    return 100.0 * (second - first) / first if first else None


def changes(pairs: list[tuple[Figure, Figure]]) -> list[str]:
    """Of cycles, refills and the kernel's instructions: the median of all runs, and its range if there are several."""
    told = []
    for event, modes in (("cycles", cache_model.MODES), ("refills", cache_model.MODES), ("instructions", ("kernel",))):
        found = [value for before, after in pairs if (value := change(before, after, event, modes)) is not None]
        between = f" ({min(found):+.0f} to {max(found):+.0f})" if len(found) > 1 else ""
        told.append(f"{statistics.median(found):+.0f} %{between}" if found else "-")
    return told


def report(results: Results, plan: Plan) -> list[str]:
    found = {case.figure: figure_of(results, case) for case in plan.cases}
    head = ["figure", "case", *(f"{event}, {mode}" for event in EVENTS for mode in cache_model.MODES), "run time"]
    body = []
    for case in plan.cases:
        body.append([case.figure, case.what, *_cells(found[case.figure])])
        if case.figure in PUBLISHED:
            body.append(["", "published", *_cells(PUBLISHED[case.figure])])
    lines = table.lines(head, body)
    runs = f"Median of {plan.runs} runs, in which a core's turn in the model is" if plan.runs > 1 else "A core's turn in the model is"
    lines += ["", f"Caches: {plan.caches} (docs/cache-model.md). {runs} {', '.join(map(str, plan.quanta))} cycles."]
    lines += ["Run times: microseconds of virtual time; published ones are ticks of 19.2 MHz on another machine, with output.", ""]
    cases = {case.figure: case for case in plan.cases}
    told = []
    for before, after, claim in CHANGES:
        if before in cases and after in cases:
            ours = [(figure_of(results, cases[before], run), figure_of(results, cases[after], run)) for run in range(plan.runs)]
            theirs = [(PUBLISHED[before], PUBLISHED[after])] if before in PUBLISHED and after in PUBLISHED else []
            told.append([f"{before} to {after}", *changes(ours), *changes(theirs), claim])
    lines += table.lines(["change", "cycles", "refills", "kernel instr.", "published: cycles", "refills", "kernel instr.",
                          "the study's conclusion"], told)
    if plan.quick:
        lines += ["", f"--quick: each thread did 1/{DIVIDED_WHEN_QUICK} of its work. A look, not a result."]
    return lines


def draw(results: Results, files: list[Path]) -> None:
    """Left: refills of each figure's case. Right: the published ones."""
    measured = [case for case in CASES if any(row.metric.startswith(f"{case.figure}.") for row in results.rows)]
    figure, panels = plot.figure(11, 4.5)
    sides = (({case.figure: figure_of(results, case) for case in measured}, "Corral, cache model"), (PUBLISHED, "published, Raspberry Pi 3"))
    for axes, (of, title) in zip(panels, sides):
        names = [case.figure for case in measured if case.figure in of]
        for offset, mode, colour in ((-0.2, "user", plot.COLOURS["corral"]), (0.2, "kernel", plot.COLOURS["linux"])):
            axes.bar([place + offset for place in range(len(names))], [max(1, of[name].refills[mode]) for name in names], 0.4,
                     color=colour, label=mode)
        axes.set_yscale("log")
        axes.set_xticks(range(len(names)), names)
        axes.set_ylabel("refills of the first-level cache")
        axes.set_title(title)
        axes.legend(fontsize="small")
    plot.save(figure, files)


def chosen(names: str | None) -> tuple[Case, ...]:
    wanted = None if names is None else choose_list(names, [case.figure for case in CASES], "figure")
    return CASES if wanted is None else tuple(case for case in CASES if case.figure in wanted)


def declare(parser: Parser) -> None:
    parser.add_argument("--figures", metavar="LIST", help="only these, such as 6a,6b")
    parser.add_argument("--caches", default=cache_model.PRESETS[0], metavar="NAME", help="pi: the study's (default); today: a processor's of today")
    parser.add_argument("--quantum", type=positive, default=QUANTUM, metavar="N",
                        help=f"cycles of a core's turn in the model, in the first run (default {QUANTUM}); a twentieth more in each further one")


def plan_of(values: Namespace, _: str, __: tuple[str, ...]) -> Plan:
    caches = choose(values.caches, cache_model.PRESETS, "set of caches")
    return Plan(values.quick, values.append, caches, values.quantum, chosen(values.figures), runs_of(values))


def at(place: Place, patience: float | None) -> list[Row]:
    names = place.parts.split(",") if place.parts else list(LOADS)
    divided = DIVIDED_WHEN_QUICK if place.quick else DIVIDED.get(place.instrument, 1)
    runs = [timed.Run(name, case.threads, case.command(divided)) for name, case in LOADS.items() if name in names]
    return timed.at(place, runs, {"runtime_us": "lower"}, patience)


BENCH = Bench(NAME, "what threads that multiply matrices do to caches, by a model of them; Corral only", {"model": "model"}, plan_of, measure,
              report, draw, declare, common=("append", "runs"), systems=("corral",), at=at,
              at_instruments=("bochs", "wall"), parts=LOADS)
