"""What basic operations cost: the identical static program, operation by operation, on Corral and on Linux.

instructions: QEMU counts instructions as its clock, so that a difference of the
time-stamp counter on one core is a number of instructions, user and kernel, the
same in every run. bochs: virtual time on one core and on all cores at once, each
core with a copy of the operation: does it scale? wall: nanoseconds under TCG.
"""

from __future__ import annotations

import re
from argparse import Namespace
from dataclasses import dataclass, replace
from pathlib import Path

from lab import paths
from lab.bench import beside, plot, systems, table
from lab.bench.bench import Bench, Place, runs_of
from lab.bench.results import Results, Row, medians, value_of
from lab.options import Parser, choose_list
from lab.problem import Problem

NAME = "operations"
INSTRUMENTS = {"instructions": "icount", "bochs": "bochs", "wall": "qemu"}  # the user's word: the results' word
UNITS = {"icount": "instructions", "bochs": "ticks of virtual time", "qemu": "ns of wall time"}
MEMORY_MIB = 1024
CORES = {"icount": (1,), "bochs": (1, 8), "qemu": (1,)}
INTERPRETER = Path("/lib/ld-musl-x86_64.so.1")
LINE = re.compile(r"^operations: (name=.*)$", re.MULTILINE)
UNSUPPORTED = "unsupported"
# Counted instructions repeat; what is left is where timer interrupts fall. Virtual time the same.
TOLERANCE = 0.005
SCALE_TOLERANCE = 0.01


@dataclass(frozen=True)
class Operation:
    """`count`: operations in a round, of which the program makes seven; fewer of them in Bochs, which is slow."""

    name: str
    count: int
    few: int
    what: str


OPERATIONS = tuple(Operation(*row) for row in (
    ("null", 2000, 500, "null call"),
    ("getpid", 2000, 500, "getpid"),
    ("read", 1000, 300, "read 1 byte"),
    ("write", 1000, 300, "write 1 byte"),
    ("switch-pipe", 500, 100, "context switch, pipe"),
    ("switch-futex", 500, 100, "context switch, futex"),
    ("thread", 100, 20, "thread create + join"),
    ("fork", 50, 10, "fork + exit"),
    ("fork-64m", 3, 1, "fork + exit, 64 MiB"),
    ("exec-static", 20, 5, "fork + exec, static"),
    ("exec-dynamic", 20, 5, "fork + exec, dynamic"),
    ("fault-anonymous", 512, 128, "page fault, anonymous"),
    ("fault-large", 2048, 2048, "page touched in a large mapping"),
    ("fault-copy", 512, 128, "page fault, copy-on-write"),
    ("fault-file", 512, 128, "page fault, file"),
    ("mmap", 500, 100, "mmap + munmap"),
    ("signal", 500, 100, "signal delivery"),
    ("select", 200, 50, "select on 100"),
    ("eventfd", 500, 100, "eventfd write + read"),
    ("epoll", 500, 100, "epoll_wait on 100, 1 ready"),
    ("unix-socket", 300, 50, "UNIX socket round trip"),
    ("file-create", 200, 50, "file create + delete"),
    ("read-4k", 1000, 200, "4 KiB from the page cache"),
))  # fmt: skip
BY_NAME = {operation.name: operation for operation in OPERATIONS}
QUICK = ("null", "getpid", "read", "switch-pipe", "thread", "fork", "fault-anonymous", "mmap")
# A copy on each core of these needs more memory than the machine has, or tells nothing new.
NOT_PARALLEL = ("fork-64m",)


@dataclass(frozen=True)
class Plan:
    instrument: str  # of the results
    systems: tuple[str, ...]
    operations: tuple[Operation, ...]
    cores: tuple[int, ...]
    runs: int
    by: str = "processes"
    options: str = ""  # more for Corral's kernel
    seed: int = 0  # systems.Job's

    def measured(self, cores: int) -> list[Operation]:
        return [operation for operation in self.operations if cores == 1 or operation.name not in NOT_PARALLEL]


def chosen(names: str | None, *, quick: bool) -> tuple[Operation, ...]:
    if names is None:
        return tuple(BY_NAME[name] for name in QUICK) if quick else OPERATIONS
    wanted = choose_list(names, list(BY_NAME), "operation")
    return tuple(operation for operation in OPERATIONS if operation.name in wanted)


def files() -> dict[str, bytes]:
    """The program, and the dynamic one that it executes with its library."""
    if not INTERPRETER.is_file():
        raise Problem(f"{INTERPRETER} is missing", "./corral setup, or apt-get install musl-tools")
    dynamic = paths.USER_BUILD / "dynamic" / "nothing-dynamic"
    if not dynamic.is_file():
        raise Problem(f"{paths.shown(dynamic)} is missing", f"remove {paths.shown(paths.USER_BUILD)} and try again")
    return {"operations": systems.program("operations"), "nothing-dynamic": dynamic.read_bytes(),
            "ld-musl.so": INTERPRETER.read_bytes()}  # fmt: skip


def script(plan: Plan, cores: int) -> str:
    """Runs everything, prints at the end: the serial line would disturb what follows it."""
    lines = ["results="]
    for operation in plan.measured(cores):
        count = operation.few if plan.instrument == "bochs" else operation.count
        lines.append(f'results="$results$(/host/operations {operation.name} {count} {cores} {plan.by} 2>&1)')
        lines.append('"')
    return "\n".join([*lines, 'echo "$results"'])


def parse(text: str) -> list[dict[str, str]]:
    return [dict(word.split("=", 1) for word in line.split() if "=" in word) for line in LINE.findall(text)]


def once(plan: Plan, system: str, cores: int, patience: float | None = None) -> list[Row]:
    """One boot, in which everything is measured."""
    job = systems.Job(script(plan, cores), files(), plan.options, plan.seed)
    text = systems.run(system, plan.instrument, cores, job, memory_mib=MEMORY_MIB, patience=patience)
    found = {fields["name"]: fields for fields in parse(text)}
    missing = [operation.name for operation in plan.measured(cores) if operation.name not in found]
    if missing:
        raise Problem(f"{system} with {cores} cores gave no result for {', '.join(missing)}:\n{text[-2000:]}")
    return [_row(plan, system, cores, found[operation.name]) for operation in plan.measured(cores)]


def measure(plan: Plan) -> Results:
    boots = systems.boots(plan.instrument, plan.cores, plan.systems, plan.runs)
    rows = systems.each(f"operations on {plan.instrument}", plan.instrument, boots,
                        lambda turn: once(replace(plan, seed=turn.seed), turn.system, turn.cores))
    return Results(NAME, medians(rows))


def _row(plan: Plan, system: str, cores: int, fields: dict[str, str]) -> Row:
    name = fields["name"]
    options = plan.options if system == "corral" else ""
    if UNSUPPORTED in fields:
        return Row(system, plan.instrument, cores, cores, f"{name} {UNSUPPORTED}", float(fields[UNSUPPORTED]), options)
    value = float(fields["ns" if plan.instrument == "qemu" else "ticks"])
    return Row(system, plan.instrument, cores, cores, name, value, options)


def scale(results: Results, system: str, name: str, cores: int) -> float | None:
    """How many times as many operations `cores` cores finish as one does."""
    alone = results.value(system, 1, 1, name)
    return table.ratio(None if alone is None else cores * alone, results.value(system, cores, cores, name))


def scales(corral: float | None, linux: float | None, ideal: float) -> bool | None:
    """Gains as much; what is above the ideal shows only that one core alone is slow."""
    return None if corral is None or linux is None else corral >= min(linux, ideal) * (1 - SCALE_TOLERANCE)


def _cell(results: Results, system: str, cores: int, name: str) -> str:
    if results.value(system, cores, cores, f"{name} {UNSUPPORTED}") is not None:
        return "not supported"
    return table.number(results.value(system, cores, cores, name))


def _costs(results: Results, plan: Plan) -> list[str]:
    body = []
    verdicts = []
    for operation in plan.operations:
        corral, linux = (results.row(system, 1, 1, operation.name) for system in ("corral", "linux"))
        verdicts.append(beside.verdict(corral, linux, TOLERANCE))
        body.append([operation.name, _cell(results, "corral", 1, operation.name), _cell(results, "linux", 1, operation.name),
                     table.number(table.ratio(value_of(corral), value_of(linux)), 3),
                     beside.shown(verdicts[-1], "MORE"), operation.what])
    lines = table.lines(["operation", "Corral", "Linux", "ratio", "verdict", "what"], body)
    return [*lines, "", beside.summed("At most as much as on Linux", verdicts, TOLERANCE)]


def _scaling(results: Results, plan: Plan, cores: int) -> list[str]:
    body = []
    verdicts = []
    for operation in plan.measured(cores):
        gains = ours, theirs = [scale(results, system, operation.name, cores) for system in ("corral", "linux")]
        verdicts.append({True: beside.OK, False: beside.WORSE, None: None}[scales(ours, theirs, cores)])
        body.append([operation.name, _cell(results, "corral", cores, operation.name),
                     _cell(results, "linux", cores, operation.name), *(table.number(gain, 2) for gain in gains),
                     beside.shown(verdicts[-1], "LESS")])
    head = ["operation", "Corral", "Linux", "Corral gains", "Linux gains", "verdict"]
    return ["", f"{cores} cores, a copy of the operation on each ({plan.by}); gain: operations in the same time as on "
            f"one core, ideal {cores}", "", *table.lines(head, body),
            "", beside.summed("Scales at least as well as Linux", verdicts, SCALE_TOLERANCE)]  # fmt: skip


def report(results: Results, plan: Plan) -> list[str]:
    repeatable = "" if plan.instrument == "qemu" else ", repeatable"
    out = [f"Basic operations, one core, {UNITS[plan.instrument]} for each{repeatable}; user and kernel together.", ""]
    if 1 in plan.cores:
        out += _costs(results, plan)
    for cores in plan.cores:
        if cores > 1:
            out += _scaling(results, plan, cores)
    return out


def draw(results: Results, files: list[Path]) -> None:
    """Left: Corral's cost as a multiple of Linux's. Right: what several cores gain."""
    figure, (costs, gains) = plot.figure(12, 6.5)
    names = [name for name in BY_NAME if any(row.metric == name for row in results.rows)][::-1]
    places = range(len(names))
    ratios = [(results.value("corral", 1, 1, name) or 0.0) / (results.value("linux", 1, 1, name) or float("inf"))
              for name in names]
    costs.barh(places, ratios, color=plot.COLOURS["corral"])
    costs.axvline(1.0, color=plot.COLOURS["linux"], label="Linux")
    costs.set_yticks(places, names)
    instrument = results.rows[0].instrument
    costs.set_xlabel(f"Corral / Linux, {UNITS[instrument]}, one core")
    costs.legend(fontsize="small")
    cores = max(at for at, _ in results.points())
    for offset, system in ((0.2, "corral"), (-0.2, "linux")):
        values = [scale(results, system, name, cores) or 0.0 for name in names]
        gains.barh([place + offset for place in places], values, 0.4, color=plot.COLOURS[system], label=system)
    gains.set_yticks(places, names)
    gains.set_xlabel(f"operations on {cores} cores in the time of one on one core")
    gains.legend(fontsize="small")
    gains.set_visible(cores > 1)
    figure.suptitle("Basic operations, the identical binary on both systems")
    plot.save(figure, files)


def declare(parser: Parser) -> None:
    parser.add_argument("--operations", metavar="LIST", help="only these, such as getpid,fork")
    parser.add_argument("--by", choices=("processes", "threads"), default="processes",
                        help="what the copies on several cores are (default processes)")


def plan_of(values: Namespace, instrument: str, on: tuple[str, ...]) -> Plan:
    cores = tuple(values.cores or CORES[instrument])
    return Plan(instrument, on, chosen(values.operations, quick=values.quick), cores, runs_of(values), values.by, values.append)


def at(place: Place, patience: float | None) -> list[Row]:
    parts = chosen(place.parts, quick=place.quick)
    plan = Plan(place.instrument, (place.system,), parts, (place.cores,), 1, options=place.options, seed=place.seed)
    return once(plan, place.system, place.cores, patience)


BENCH = Bench(NAME, "system calls, faults, switches, processes: what each costs, and whether it scales", INSTRUMENTS, plan_of, measure, report,
              draw, declare, at=at, parts=BY_NAME)
