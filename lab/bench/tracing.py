"""What a trace costs the loads of lab/bench/load.py: Corral's own, and Linux's (ftrace) with the same events of the same programs.

Instructions on one core, counted by QEMU as its clock, as the program itself tells its time. A load runs once with each
level of tracing in turn, `runs` times, all in one boot: so whatever else changes with time changes all levels.
"""

from __future__ import annotations

import statistics
from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path

from lab.bench import load, plot, systems, table
from lab.bench.bench import Bench, runs_of
from lab.bench.load import Load
from lab.bench.results import Results, Row, medians
from lab.options import Parser
from lab.problem import Problem

NAME = "trace"
INSTRUMENTS = {"instructions": "icount"}
LEVELS = ("off", "scheduler", "all")
AT_MOST = 0.02  # of all instructions, what the whole trace may cost
# hackbench tells whole milliseconds: for one of them to be a thousandth it needs a second.
TIMES_AS_MANY = {"hackbench": 4, "sysbench": 1}
LOOK = f"--quick: so few messages that one step of what hackbench tells may be {AT_MOST:.0%} of them. A look, not a result, and no verdict."

TRACING = "/sys/kernel/tracing"
BUFFER_KIB = 2048  # for a core, as Corral's rings have
# What switches each level on, after `off`.
SWITCHES = {
    "corral": {"off": "echo off > /proc/trace", "scheduler": "echo switch wake place migrate > /proc/trace", "all": "echo on > /proc/trace"},
    "linux": {"off": f"echo > {TRACING}/set_event", "scheduler": "events sched_switch sched_waking sched_wakeup sched_wakeup_new sched_migrate_task",
              "all": "events sched_switch sched_waking sched_wakeup sched_wakeup_new sched_migrate_task raw_syscalls irq_vectors"},
}  # fmt: skip
# A level that could not be switched on would seem to cost nothing: so this ends the script.
OPENINGS = {
    "corral": "set -e",
    "linux": f"""set -e
mount -t tracefs none {TRACING}
echo {BUFFER_KIB} > {TRACING}/buffer_size_kb
events() {{ for event; do echo "$event" >> {TRACING}/set_event; done; }}""",
}
TICKS = (0, 1, 10, 100)  # of the plot, in percent
MARK = "@trace: "  # begins with what no name in the shell has


@dataclass(frozen=True)
class Plan:
    systems: tuple[str, ...]
    loads: tuple[Load, ...]
    runs: int
    quick: bool
    options: str = ""  # more for Corral's kernel


def script(plan: Plan, system: str) -> str:
    """Runs everything, prints at the end: the serial line would disturb what follows it."""
    lines = [OPENINGS[system], f"run() {{ {load.call()} 2>&1 || true; }}", "results="]
    switches = SWITCHES[system]
    for one in plan.loads:
        command = one.command.format(one.few if plan.quick else one.many * TIMES_AS_MANY[one.program])
        for _ in range(plan.runs):
            for level in LEVELS:
                lines += [switches["off"], switches[level], f'results="$results{MARK}{one.name} {level}', f"$(run {command})", '"']
    return "\n".join([*lines, switches["off"], 'echo "$results"'])


def parse(text: str) -> dict[tuple[str, str], list[float]]:
    """Millions of instructions of each run, by load and level."""
    found: dict[tuple[str, str], list[float]] = {}
    for part in text.split(MARK)[1:]:
        name, _, level = part.split("\n", 1)[0].strip().partition(" ")
        told = load.TIMES[load.BY_NAME[name].program].search(part) if name in load.BY_NAME else None
        if told:
            found.setdefault((name, level), []).append(1000.0 * float(told[1]))
    return found


def metric(one: Load, level: str) -> str:
    return f"{one.name}, {level}"


def once(plan: Plan, system: str) -> list[Row]:
    job = systems.Job(script(plan, system), load.programs(frozenset(one.program for one in plan.loads)), plan.options)
    text = systems.run(system, "icount", 1, job, memory_mib=load.MEMORY_MIB)
    found = parse(text)
    wanted = [(one, level) for one in plan.loads for level in LEVELS]
    missing = [metric(one, level) for one, level in wanted if len(found.get((one.name, level), ())) != plan.runs]
    if missing:
        raise Problem(f"{system} gave no result for {', '.join(missing)}:\n{text[-2000:]}")
    options = plan.options if system == "corral" else ""
    return [Row(system, "icount", 1, one.tasks, metric(one, level), statistics.median(runs), options, runs=tuple(runs))
            for one, level in wanted for runs in [found[one.name, level]]]


def measure(plan: Plan) -> Results:
    turns = systems.boots("icount", (1,), plan.systems, plan.runs)
    return Results(NAME, medians(systems.each("loads that are traced", "icount", turns, lambda turn: once(plan, turn.system))))


def cost(results: Results, system: str, one: Load, level: str) -> float | None:
    """What the trace adds, as a part of what the load takes without."""
    more = table.ratio(*(results.value(system, 1, one.tasks, metric(one, which)) for which in (level, "off")))
    return None if more is None else more - 1


def report(results: Results, plan: Plan) -> list[str]:
    body = []
    verdicts = []
    for one in plan.loads:
        row = [one.name]
        for system in ("corral", "linux"):
            row.append(table.number(results.value(system, 1, one.tasks, metric(one, "off"))))
            row += [percent(cost(results, system, one, level)) for level in LEVELS[1:]]
        whole = cost(results, "corral", one, "all")
        judged = whole is not None and not plan.quick
        if judged:
            verdicts.append(whole <= AT_MOST)
        body.append([*row, "-" if not judged else "ok" if verdicts[-1] else "MORE", one.what])
    head = ["load", "Corral", "scheduler", "all", "Linux", "scheduler", "all", "verdict", "what"]
    return ["Millions of instructions on one core without a trace, and what a trace of the scheduler's events and of all events adds.", "",
            *table.lines(head, body), "", LOOK if plan.quick else f"At most {AT_MOST:.0%} for all events: {sum(verdicts)} of {len(verdicts)}."]  # fmt: skip


def percent(part: float | None) -> str:
    return "-" if part is None else f"{part:+.1%}"


def draw(results: Results, files: list[Path]) -> None:
    """What the trace adds: left the scheduler's events, right all. A pair of bars for each load."""
    figure, axes = plot.figure(12, 5)
    loads = [one for one in load.LOADS if any(row.metric == metric(one, "off") for row in results.rows)][::-1]
    for axis, level in zip(axes, LEVELS[1:]):
        for offset, system in ((0.2, "corral"), (-0.2, "linux")):
            values = [100 * (cost(results, system, one, level) or 0.0) for one in loads]
            axis.barh([place + offset for place in range(len(loads))], values, 0.4, color=plot.COLOURS[system], label=system)
        axis.axvline(100 * AT_MOST, color="black", linewidth=0.8, label=f"{AT_MOST:.0%}")
        axis.set_xscale("symlog", linthresh=1)
        axis.set_xticks(TICKS, [str(tick) for tick in TICKS])
        axis.set_yticks(range(len(loads)), [one.name for one in loads])
        axis.set_xlabel("more instructions, %")
        axis.set_title({"scheduler": "the scheduler's events", "all": "all events"}[level])
        axis.legend(fontsize="small")
    figure.suptitle("What a trace costs the identical binaries on both systems")
    plot.save(figure, files)


def declare(parser: Parser) -> None:
    parser.add_argument("--loads", metavar="LIST", help="only these, such as threads-pipe,mutex")


def plan_of(values: Namespace, _: str, on: tuple[str, ...]) -> Plan:
    return Plan(on, load.chosen(values.loads, quick=values.quick), runs_of(values), values.quick, values.append)


BENCH = Bench(NAME, "what a trace costs, Corral's own and Linux's", INSTRUMENTS, plan_of, measure, report, draw, declare,
              common=("append", "runs", "system"))
