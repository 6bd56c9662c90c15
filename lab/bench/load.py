"""Loads of Debian: hackbench and sysbench, the identical binaries with their libraries, on Corral and on Linux.

The figure is what the program itself says it needed, starting and ending excluded. bochs: virtual time on 1, 4 and 8
cores, the same work on each number of cores. instructions: QEMU counts instructions as its clock, on one core.
wall: time under TCG. What a load consists of stands in LOADS; sizes fit the slowness of the instrument.
"""

from __future__ import annotations

import functools
import re
from argparse import Namespace
from dataclasses import dataclass, replace
from pathlib import Path

from lab import debian, elf
from lab.bench import beside, plot, systems, table
from lab.bench.bench import Bench, Place, runs_of
from lab.bench.results import Results, Row, medians, value_of
from lab.machine import told_cores
from lab.options import Parser, choose_list
from lab.problem import Problem

NAME = "load"
INSTRUMENTS = {"bochs": "bochs", "instructions": "icount", "wall": "qemu"}  # the user's word: the results' word
UNITS = {"icount": "millions of instructions", "bochs": "ms of virtual time", "qemu": "ms of wall time"}
CORES = {"bochs": (1, 4, 8), "icount": (1,), "qemu": (1, 4)}
MEMORY_MIB = 1024
LINKER = "ld-linux-x86-64.so.2"
LIBRARIES = ("usr/lib/x86_64-linux-gnu", "usr/lib64")
# What both programs say at the end, in seconds.
TIMES = {"hackbench": re.compile(r"^Time: ([0-9.]+)$", re.MULTILINE),
         "sysbench": re.compile(r"^ *total time: +([0-9.]+)s$", re.MULTILINE)}  # fmt: skip
MARK = "@load: "  # begins with what no name in the shell has
# hackbench tells milliseconds, and its shortest time here is some hundred of them.
TOLERANCE = 0.01


@dataclass(frozen=True)
class Load:
    """`command` with {} for its size; `tasks`: processes or threads that take part."""

    name: str
    command: str
    tasks: int
    few: int
    many: int
    what: str

    @property
    def program(self) -> str:
        return self.command.split()[0]

    def arguments(self, instrument: str) -> str:
        """What follows the program's name; `few` in Bochs, which is slow."""
        return self.command.format(self.few if instrument == "bochs" else self.many).partition(" ")[2]


LOADS = tuple(Load(*row) for row in (
    ("processes-pipe", "hackbench -p -g 2 -f 8 -l {}", 32, 200, 800, "hackbench: processes, pipes"),
    ("processes-socket", "hackbench -g 2 -f 8 -l {}", 32, 200, 800, "hackbench: processes, socket pairs"),
    ("threads-pipe", "hackbench -T -p -g 2 -f 8 -l {}", 32, 200, 800, "hackbench: threads, pipes"),
    ("threads-socket", "hackbench -T -g 2 -f 8 -l {}", 32, 200, 800, "hackbench: threads, socket pairs"),
    ("threads", "sysbench threads --threads=16 --thread-locks=4 --thread-yields=100 --time=0 --events={} run",
     16, 400, 2000, "sysbench: threads that yield with a mutex held"),
    ("mutex", "sysbench mutex --threads=16 --mutex-num=4 --mutex-loops=100 --time=0 --mutex-locks={} run",
     16, 1000, 5000, "sysbench: threads that compete for mutexes"),
    ("cpu", "sysbench cpu --threads=16 --cpu-max-prime=1000 --time=0 --events={} run",
     16, 1000, 5000, "sysbench: threads that compute"),
    ("memory", "sysbench memory --threads=16 --memory-block-size=1K --time=0 --memory-total-size={}M run",
     16, 16, 64, "sysbench: threads that write memory"),
))  # fmt: skip
BY_NAME = {load.name: load for load in LOADS}
QUICK = ("processes-pipe", "threads-socket", "threads")


@dataclass(frozen=True)
class Plan:
    instrument: str  # of the results
    systems: tuple[str, ...]
    loads: tuple[Load, ...]
    cores: tuple[int, ...]
    runs: int
    options: str = ""  # more for Corral's kernel
    seed: int = 0  # systems.Job's


def chosen(names: str | None, *, quick: bool) -> tuple[Load, ...]:
    if names is None:
        return tuple(BY_NAME[name] for name in QUICK) if quick else LOADS
    wanted = choose_list(names, list(BY_NAME), "load")
    return tuple(load for load in LOADS if load.name in wanted)


@functools.cache
def programs(names: frozenset[str]) -> dict[str, bytes]:
    """Programs of Debian, the libraries that they need, and the dynamic linker: all for one directory of the guest."""
    tree = debian.tree()
    found: dict[str, bytes] = {}
    wanted = [LINKER, *sorted(names)]
    while wanted:
        name = wanted.pop()
        if name in found:
            continue
        places = [tree / folder / name for folder in ("usr/bin", *LIBRARIES)]
        path = next((place for place in places if place.is_file()), None)
        if path is None:
            raise Problem(f"Debian's packages have no {name}", "is a library missing in lab/debian-packages.txt?")
        found[name] = path.read_bytes()
        wanted += elf.needed(found[name])
    return found


def call(command: str = '"$@"') -> str:
    """How a guest's shell runs one of programs(), which stand in /host with all that they need; the words of its own by default."""
    return f"/host/{LINKER} --library-path /host /host/{command}"


def script(plan: Plan) -> str:
    """Runs everything, prints at the end: the serial line would disturb what follows it."""
    lines = [f"run() {{ {call()} 2>&1; }}", "results="]
    for load in plan.loads:
        lines.append(f'results="$results{MARK}{load.name}')
        lines.append(f'$(run {load.program} {load.arguments(plan.instrument)})')
        lines.append('"')
    return "\n".join([*lines, 'echo "$results"'])


def parse(text: str) -> dict[str, float]:
    """Milliseconds by load; those that told no time are left out."""
    found = {}
    for part in text.split(MARK)[1:]:
        name = part.split("\n", 1)[0].strip()
        told = TIMES[BY_NAME[name].program].search(part) if name in BY_NAME else None
        if told:
            found[name] = 1000.0 * float(told[1])
    return found


def once(plan: Plan, system: str, cores: int, patience: float | None = None) -> list[Row]:
    """One boot, in which everything is measured."""
    job = systems.Job(script(plan), programs(frozenset(load.program for load in plan.loads)), plan.options, plan.seed)
    text = systems.run(system, plan.instrument, cores, job, memory_mib=MEMORY_MIB, patience=patience)
    found = parse(text)
    missing = [load.name for load in plan.loads if load.name not in found]
    if missing:
        raise Problem(f"{system} with {cores} cores gave no result for {', '.join(missing)}:\n{text[-2000:]}")
    options = plan.options if system == "corral" else ""
    return [Row(system, plan.instrument, cores, load.tasks, load.name, found[load.name], options) for load in plan.loads]


def measure(plan: Plan) -> Results:
    boots = systems.boots(plan.instrument, plan.cores, plan.systems, plan.runs)
    rows = systems.each(f"loads on {plan.instrument}", plan.instrument, boots, lambda turn: once(replace(plan, seed=turn.seed), turn.system, turn.cores))
    return Results(NAME, medians(rows))


def gain(results: Results, system: str, load: Load, cores: int) -> float | None:
    """How many times faster the load is than on one core."""
    return table.ratio(*(results.value(system, at, load.tasks, load.name) for at in (1, cores)))


def _times(results: Results, plan: Plan, cores: int) -> tuple[list[str], list[str | None]]:
    body = []
    verdicts: list[str | None] = []
    for load in plan.loads:
        corral, linux = (results.row(system, cores, load.tasks, load.name) for system in ("corral", "linux"))
        verdicts.append(beside.verdict(corral, linux, TOLERANCE))
        times = [value_of(corral), value_of(linux)]
        body.append([load.name, *map(table.number, times), table.number(table.ratio(*times), 3), beside.shown(verdicts[-1], "LONGER"),
                     *(table.number(gain(results, system, load, cores), 2) for system in ("corral", "linux")), load.what])
    head = ["load", "Corral", "Linux", "ratio", "verdict", "Corral gains", "Linux gains", "what"]
    return ["", told_cores(cores), "", *table.lines(head, body)], verdicts


def report(results: Results, plan: Plan) -> list[str]:
    out = [f"hackbench and sysbench of Debian, {UNITS[plan.instrument]}; gain: how many times faster than on one core."]
    verdicts: list[str | None] = []
    for cores in plan.cores:
        lines, more = _times(results, plan, cores)
        out += lines
        verdicts += more
    return [*out, "", beside.summed("No longer than on Linux", verdicts, TOLERANCE)]


def draw(results: Results, files: list[Path]) -> None:
    """Left: Corral's time as a multiple of Linux's. Right: what further cores gain. A group of bars for each load."""
    figure, (times, gains) = plot.figure(12, 6.5)
    loads = [load for name, load in BY_NAME.items() if any(row.metric == name for row in results.rows)][::-1]
    cores = sorted({at for at, _ in results.points()})
    height = 0.8 / len(cores)
    for index, at in enumerate(cores):
        places = [place + 0.4 - (index + 0.5) * height for place in range(len(loads))]
        ratios = [(results.value("corral", at, load.tasks, load.name) or 0.0)
                  / (results.value("linux", at, load.tasks, load.name) or float("inf")) for load in loads]
        times.barh(places, ratios, height, color=plot.COLOURS["corral"], alpha=0.4 + 0.6 * at / max(cores), label=f"{at} cores")
    times.axvline(1.0, color=plot.COLOURS["linux"], label="Linux")
    times.set_yticks(range(len(loads)), [load.name for load in loads])
    times.set_xlabel("Corral / Linux, time")
    times.legend(fontsize="small")
    for offset, system in ((0.2, "corral"), (-0.2, "linux")):
        values = [gain(results, system, load, max(cores)) or 0.0 for load in loads]
        gains.barh([place + offset for place in range(len(loads))], values, 0.4, color=plot.COLOURS[system], label=system)
    gains.set_yticks(range(len(loads)), [load.name for load in loads])
    gains.set_xlabel(f"times faster on {max(cores)} cores than on one")
    gains.legend(fontsize="small")
    gains.set_visible(max(cores) > 1)
    figure.suptitle("hackbench and sysbench, the identical binaries on both systems")
    plot.save(figure, files)


def declare(parser: Parser) -> None:
    parser.add_argument("--loads", metavar="LIST", help="only these, such as threads-pipe,mutex")


def plan_of(values: Namespace, instrument: str, on: tuple[str, ...]) -> Plan:
    cores = tuple(values.cores or CORES[instrument])
    return Plan(instrument, on, chosen(values.loads, quick=values.quick), cores, runs_of(values), values.append)


def at(place: Place, patience: float | None) -> list[Row]:
    plan = Plan(place.instrument, (place.system,), chosen(place.parts, quick=place.quick), (place.cores,), 1, place.options, place.seed)
    return once(plan, place.system, place.cores, patience)


BENCH = Bench(NAME, "Debian's hackbench and sysbench, on 1, 4 and 8 cores", INSTRUMENTS, plan_of, measure, report, draw, declare, at=at,
              parts=BY_NAME)
