"""Cores split into a real-time and a normal group (docs/groups.md), under the cache model: layouts, methods, ratios.

Threads compete for mutexes: those of sysbench, all normal as in the report whose figures stand beside ours
(lab/bench/groups_published.py), and those of our threadload, of both classes, each class's time apart. Cores run at the same time in
virtual time, and a run repeats. Of the product of all that can be chosen a question measures the part that answers it
(`QUESTIONS`); options name other parts.
"""

from __future__ import annotations

import itertools
import re
import tempfile
from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path

from lab import boot_options, cache_model, guest
from lab.bench import groups_report, load
from lab.bench.bench import Bench, runs_of
from lab.bench.groups_point import CACHES, LAYOUTS, METHODS, NAME, RATIOS, TOOLS, Point
from lab.bench.results import Results, Row, medians
from lab.options import Parser, choose, numbers
from lab.problem import WRONG_USE, Problem
from lab.progress import Progress

SEED = 1  # of the machine; the programs' own are 1, 2, 3, ...
CORES = 32
MEMORY_MIB = 1024
MODEL = "l1=16K:4,l1lat=10,l2lat=100,quantum=2000,clock=parallel"
OPTIONS = "interleave.seed=0"
PATIENCE = 3000.0
SYSBENCH = load.BY_NAME["threads"]
SYSBENCH_WORDS = "threads --threads={threads} --events={threads} --thread-locks=8 --thread-yields=4 --thread-stack-size=64K --time=0 --rand-seed=$seed run"
CLASSES = ("normal", "real-time")
MOST_THREADS = 20_000

# Every combination of these.
Cut = dict[str, tuple[object, ...]]
QUESTIONS: dict[str, tuple[Cut, ...]] = {
    "layouts": ({"tool": TOOLS, "caches": ("one", "pairs", "halves"), "layout": LAYOUTS},
                {"threads": (1000,), "caches": ("one", "pairs"), "layout": LAYOUTS}),
    "methods": ({"method": METHODS},),
    "ratios": ({"share": (25, 50, 75), "ratio": RATIOS},),
}
QUICK: dict[str, tuple[Cut, ...]] = {
    "layouts": ({"threads": (100,), "caches": ("pairs",), "layout": LAYOUTS[:2]},),
    "methods": ({"threads": (100,), "method": METHODS[:2], "caches": ("pairs",)},),
    "ratios": ({"threads": (100,), "share": (75,), "ratio": ("3:1",), "caches": ("pairs",)},),
}


@dataclass(frozen=True)
class Plan:
    points: tuple[Point, ...]
    runs: int
    cores: int = CORES
    append: str = ""  # more for Corral's kernel
    quick: bool = False

    def options_of(self, point: Point) -> str:
        return " ".join(filter(None, (OPTIONS, point.options, self.append)))


def script(point: Point, runs: int) -> str:
    """All runs in one boot: starting 32 cores takes longer than they do."""
    if point.tool == "threadload":
        command = f"threadload {point.threads} real-time {point.share} seed $seed || exit 1"
    else:
        program = f"/host/{load.LINKER} --library-path /host /host/sysbench {SYSBENCH_WORDS.format(threads=point.threads)}"
        command = f"corral-region reset; {program} || exit 1; corral-region dump"
    seeds = " ".join(map(str, range(1, runs + 1)))
    # The serial line is slow, and power-off does not wait for it.
    return f"ulimit -u unlimited; for seed in {seeds}; do {command}; done; sleep 1"


def parse(point: Point, said: str) -> list[dict[str, float]]:
    """Of each run milliseconds: of each class that has threads until the last one is done, and until one is in the mean; `all` of both."""
    if point.tool == "sysbench":
        return [{"all_ms": 1000.0 * float(told)} for told in load.TIMES["sysbench"].findall(said)]
    runs: list[dict[str, float]] = []
    found: dict[str, float] = {}
    for of, done, mean in re.findall(r"^threadload: (normal|real-time|all) threads=\d+ (?:made_us=\d+ )?done_us=(\d+)(?: mean_us=(\d+))?$",
                                     said, re.MULTILINE):
        if of == "all":  # the last line of a run; its time is with the ends of the threads
            runs.append(found | {"all_ms": max(found[f"{of}_ms"] for of in CLASSES if f"{of}_ms" in found)})
            found = {}
        else:
            found |= {f"{of}_ms": int(done) / 1000, f"{of}_mean_ms": int(mean) / 1000}
    return runs


def once(point: Point, plan: Plan) -> list[Row]:
    files = load.files((SYSBENCH,)) if point.tool == "sysbench" else None
    with tempfile.TemporaryDirectory(prefix="corral-groups-") as name:
        file = Path(name) / "report"
        plugin = cache_model.plugin(f"{MODEL},{CACHES[point.caches]}", file, seeded=True)
        said, end = guest.run_program(["sh", "-c", script(point, plan.runs)], cores=plan.cores, seed=SEED, plugin=plugin, files=files,
                                      options=plan.options_of(point), memory_mib=MEMORY_MIB, patience=PATIENCE)
        reports = [report for report in cache_model.read(file) if report.label != cache_model.END]
    runs = parse(point, said)
    if end.status != 0 or not len(runs) == len(reports) == plan.runs:
        raise Problem(f"{point}: the program did not end well", f"its output: {said[-500:]}")
    for values, counted in zip(runs, reports, strict=True):
        for event in ("refills", "l2_refills"):
            values[event] = sum(counted.total(mode, event) for mode in cache_model.MODES)
        for mode in cache_model.MODES:
            values[f"{mode}_instructions"] = counted.total(mode, "instructions")
    return [Row("corral", "model", plan.cores, point.threads, point.metric(what), value, plan.options_of(point), SEED)
            for values in runs for what, value in values.items()]


def measure(plan: Plan) -> Results:
    rows: list[Row] = []
    with Progress("Running threads of two classes under the cache model") as progress:
        for number, point in enumerate(plan.points):
            progress.of(number, len(plan.points), str(point))
            rows += once(point, plan)
        progress.done(f"{len(plan.points)} points, {plan.runs} runs each")
    return Results(NAME, medians(rows))


def report(results: Results, plan: Plan) -> list[str]:
    lines = groups_report.lines(results, plan.points, plan.cores, plan.options_of)
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
    parser.add_argument("--questions", metavar="LIST", help=f"only these: {', '.join(QUESTIONS)}; default: all")
    for name, words in LISTS.items():
        parser.add_argument(f"--{name}", metavar="LIST", help=f"instead of a question's own: {', '.join(words)}")
    parser.add_argument("--threads", type=numbers, metavar="LIST", help="such as 500,10000")
    parser.add_argument("--share", type=numbers, metavar="LIST", help="how many of a hundred threads are real-time, such as 25,50")


def _words(text: str | None, known: tuple[str, ...], what: str) -> tuple[str, ...]:
    return tuple(choose(word, known, what) for word in (text or "").split(",") if word)


def plan_of(values: Namespace, _: str, __: tuple[str, ...]) -> Plan:
    for option in values.append.split():
        name, _, value = option.partition("=")
        boot_options.check(name, value)
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
    questions = _words(values.questions, tuple(QUESTIONS), "question") or tuple(QUESTIONS)
    points = points_of(list(questions), {name: some for name, some in chosen.items() if some}, quick=values.quick)
    return Plan(points, runs_of(values), cores[0], values.append, values.quick)


BENCH = Bench(NAME, "real-time and normal threads on cores of their own: layouts, methods, ratios; under the cache model, Corral only",
              {"model": "model"}, plan_of, measure, report, groups_report.draw, declare, common=("cores", "append", "runs"), systems=("corral",))
