"""How late threads run that were woken: by timers (Debian's cyclictest), and by others (user/programs/requests.cpp).

The machine is idle, or its cores have threads that compute (sysbench), or threads that talk (hackbench). SCHED_OTHER, and SCHED_FIFO
as is usual with cyclictest. Corral by default, Linux, and Corral with its other policies. bochs: virtual time, which repeats. wall: time
under TCG, with all that the host adds. Percentiles are of all samples of a case (lab/bench/latency_cases.py).
"""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path

from lab import boot_options
from lab.bench import beside, load, plot, systems, table
from lab.bench.bench import Bench, Place, runs_of
from lab.bench.latency_cases import (
    BY_NAME, CASES, LOADS, LOOPS, MARK, QUICK, QUICK_LOOPS, SETTLE_SECONDS, STATISTICS, SUMMARY, Case, parse,
)  # fmt: skip
from lab.bench.results import Results, Row, medians, value_of
from lab.machine import told_cores
from lab.options import Parser, choose_list
from lab.problem import Problem

NAME = "latency"
INSTRUMENTS = {"bochs": "bochs", "wall": "qemu"}  # the user's word: the results' word
UNITS = {"bochs": "of virtual time", "qemu": "of wall time"}
CORES = {"bochs": (1, 4, 8), "qemu": (1, 4)}
POLICY_CORES = 4  # on which the other policies are tried
TOLERANCE = 0.01


@dataclass(frozen=True)
class Plan:
    instrument: str  # of the results
    systems: tuple[str, ...]
    cases: tuple[Case, ...]
    cores: tuple[int, ...]
    runs: int
    quick: bool = False
    options: str = ""  # more for Corral's kernel
    policies: tuple[str, ...] = ()  # options of the other policies, tried on POLICY_CORES

    @property
    def latencies(self) -> list[str]:
        return [latency for case in self.cases for latency in case.latencies]

    def loops(self, cores: int) -> int:
        by_cores = LOOPS[self.instrument]
        return QUICK_LOOPS if self.quick else by_cores[min(by_cores, key=lambda known: abs(known - cores))]

    def options_on(self, cores: int) -> tuple[str, ...]:
        """Those that Corral is measured with there, the first ones by default."""
        return (self.options, *(self.policies if cores == POLICY_CORES else ()))


def chosen(names: str | None, *, quick: bool) -> tuple[Case, ...]:
    wanted = QUICK if quick else tuple(BY_NAME)
    if names is not None:
        wanted = tuple(choose_list(names, list(BY_NAME), "case"))
    return tuple(case for case in CASES if case.name in wanted)


def other_policies() -> tuple[str, ...]:
    """Every timeline but the default one, and fifo: with that nobody runs while somebody computes. Then placements and tunables of note."""
    timelines = [name for name in boot_options.policies()["sched.algorithm"] if name not in ("cfs", "fifo")]
    return (*(f"sched.algorithm={name}" for name in timelines), "sched.algorithm=eevdf:parity=0", "sched.placement=affinity",
            "sched.placement=blend", "sched.migration=none", "sched.migration=both")


def files(cases: tuple[Case, ...]) -> dict[str, bytes]:
    commands = [case.command("bochs", 1, 1) for case in cases] + [LOADS[name] for case in cases for name in case.loads]
    names = frozenset(command.split()[0] for command in commands)
    found = load.programs(names - {"requests"})
    return {**found, "requests": systems.program("requests")}


def script(plan: Plan, cores: int) -> str:
    """Runs everything, prints at the end: the serial line would disturb what follows it."""
    lines = [SUMMARY, "results="]
    for case in plan.cases:
        lines += [f"background {LOADS[name].format(twice=2 * cores)}" for name in case.loads]
        if case.loads:
            lines.append(f"sleep {SETTLE_SECONDS}")
        lines.append("rm -f /tmp/latency.json")
        start = "/host/" if case.program == "requests" else "run "
        lines += [f"{start}{case.command(plan.instrument, cores, plan.loops(cores))} > /tmp/said 2>&1", "end_loads"]
        lines += ["if [ -s /tmp/latency.json ]; then said=$(summary); else said=$(tail -c 1000 /tmp/said); fi"]
        lines += [f'results="$results{MARK}{case.name} $said', '"']
    return "\n".join([*lines, 'echo "$results"'])


def once(plan: Plan, system: str, cores: int, options: str, seed: int = 0, patience: float | None = None) -> list[Row]:
    """One boot, in which all cases are measured."""
    job = systems.Job(script(plan, cores), files(plan.cases), options, seed)
    text = systems.run(system, plan.instrument, cores, job, memory_mib=load.MEMORY_MIB, patience=patience)
    found = parse(text)
    wanted = [f"{latency} {statistic}" for latency in plan.latencies for statistic in STATISTICS]
    if missing := [metric for metric in wanted if metric not in found]:
        raise Problem(f"{system} with {cores} cores gave no result for {', '.join(missing)}:\n{text[-2000:]}")
    return [Row(system, plan.instrument, cores, 0, metric, found[metric], options if system == "corral" else "") for metric in wanted]


def boots(plan: Plan) -> list[systems.Turn]:
    """Of the systems, with options of Corral's kernel behind it."""
    turns = []
    for cores in plan.cores:
        of_system = {"corral": [f"corral {options}".strip() for options in plan.options_on(cores)], "linux": ["linux"]}
        turns += systems.boots(plan.instrument, [cores], [boot for system in plan.systems for boot in of_system[system]], plan.runs)
    return turns


def measure(plan: Plan) -> Results:
    def boot_of(turn: systems.Turn) -> list[Row]:
        system, _, options = turn.system.partition(" ")
        return once(plan, system, turn.cores, options, turn.seed)

    return Results(NAME, medians(systems.each(f"latencies on {plan.instrument}", plan.instrument, boots(plan), boot_of)))


class Found:
    """The results by what was measured where and with which options."""

    def __init__(self, results: Results) -> None:
        self._rows = {(row.system, row.cores, row.options, row.metric): row for row in results.rows}

    def row(self, system: str, cores: int, metric: str, options: str = "") -> Row | None:
        return self._rows.get((system, cores, options, metric))

    def value(self, system: str, cores: int, metric: str, options: str = "") -> float | None:
        return value_of(self.row(system, cores, metric, options))

    def best(self, plan: Plan, cores: int, metric: str) -> tuple[float, str] | None:
        """The lowest value of Corral's, and its options."""
        values = [(value, options) for options in plan.options_on(cores)
                  if (value := self.value("corral", cores, metric, options)) is not None]
        return min(values, key=lambda pair: pair[0]) if values else None


def _on(found: Found, plan: Plan, cores: int) -> tuple[list[str], list[str | None]]:
    body = []
    verdicts: list[str | None] = []
    for latency in plan.latencies:
        for statistic in STATISTICS:
            metric = f"{latency} {statistic}"
            corral, linux = found.row("corral", cores, metric, plan.options), found.row("linux", cores, metric)
            times = [value_of(corral), value_of(linux)]
            best = found.best(plan, cores, metric)
            verdicts.append(beside.verdict(corral, linux, TOLERANCE))
            body.append([latency, statistic, *map(table.number, times), table.number(table.ratio(*times), 2), beside.shown(verdicts[-1], "LATER"),
                         *([table.number(best[0]), best[1] or "as it comes"] if best and len(plan.options_on(cores)) > 1 else ["-", "-"])])
    head = ["latency", "", "Corral", "Linux", "ratio", "verdict", "best", "with"]
    return ["", told_cores(cores), "", *table.lines(head, body)], verdicts


def _policies(found: Found, plan: Plan) -> list[str]:
    body = []
    for options in plan.options_on(POLICY_CORES):
        values = [found.value("corral", POLICY_CORES, f"{latency} p99", options) for latency in plan.latencies]
        body.append([options or "as it comes", *map(table.number, values)])
    body.append(["Linux", *(table.number(found.value("linux", POLICY_CORES, f"{latency} p99")) for latency in plan.latencies)])
    return ["", f"p99 with other policies, {POLICY_CORES} cores", "", *table.lines(["policy", *plan.latencies], body)]


def report(results: Results, plan: Plan) -> list[str]:
    out = [f"From being woken to running, microseconds {UNITS[plan.instrument]}; of `request`, to having computed too."]
    out += [f"{case.name}: {case.what}" for case in plan.cases]
    found = Found(results)
    verdicts: list[str | None] = []
    for cores in plan.cores:
        lines, more = _on(found, plan, cores)
        out += lines
        verdicts += more
    if plan.policies and "corral" in plan.systems and POLICY_CORES in plan.cores:
        out += _policies(found, plan)
    return [*out, "", beside.summed("No later than on Linux", verdicts, TOLERANCE)]


def draw(results: Results, to: list[Path]) -> None:
    """Left: Corral's p99 as a multiple of Linux's, a group of bars for each latency. Right: both on the most cores."""
    figure, (ratios, times) = plot.figure(13, 6.5)
    found = Found(results)
    first = next((row.options for row in results.rows if row.system == "corral"), "")
    measured = {row.metric for row in results.rows}
    names = [latency for case in CASES for latency in case.latencies if f"{latency} p99" in measured][::-1]
    cores = sorted({row.cores for row in results.rows})
    height = 0.8 / len(cores)

    def p99(system: str, at: int) -> list[float]:
        return [found.value(system, at, f"{name} p99", first if system == "corral" else "") or 0.0 for name in names]

    for index, at in enumerate(cores):
        bars = [corral / linux if linux else 0.0 for corral, linux in zip(p99("corral", at), p99("linux", at))]
        ratios.barh([place + 0.4 - (index + 0.5) * height for place in range(len(names))], bars, height, color=plot.COLOURS["corral"],
                    alpha=0.4 + 0.6 * at / max(cores), label=f"{at} cores")
    ratios.axvline(1.0, color=plot.COLOURS["linux"], label="Linux")
    ratios.set_xlabel("Corral / Linux, p99")
    for offset, system in ((0.2, "corral"), (-0.2, "linux")):
        times.barh([place + offset for place in range(len(names))], p99(system, max(cores)), 0.4, color=plot.COLOURS[system], label=system)
    times.set_xscale("log")
    times.set_xlabel(f"p99 on {max(cores)} cores, µs")
    for axes in (ratios, times):
        axes.set_yticks(range(len(names)), names)
        axes.legend(fontsize="small")
    figure.suptitle("From being woken to running, the identical binaries on both systems")
    plot.save(figure, to)


def declare(parser: Parser) -> None:
    parser.add_argument("--cases", metavar="LIST", help=f"only these of {', '.join(BY_NAME)}")
    parser.add_argument("--defaults", action="store_true", help="Corral's default policies only (as with --append and --quick)")


def plan_of(values: Namespace, instrument: str, on: tuple[str, ...]) -> Plan:
    cores = tuple(values.cores or ((POLICY_CORES,) if values.quick else CORES[instrument]))
    policies = () if values.quick or values.defaults or values.append else other_policies()
    return Plan(instrument, on, chosen(values.cases, quick=values.quick), cores, runs_of(values), values.quick, values.append, policies)


def at(place: Place, patience: float | None) -> list[Row]:
    plan = Plan(place.instrument, (place.system,), chosen(place.parts, quick=place.quick), (place.cores,), 1, place.quick, place.options)
    return once(plan, place.system, place.cores, place.options if place.system == "corral" else "", place.seed, patience)


BENCH = Bench(NAME, "how late threads run that were woken: Debian's cyclictest, and requests, idle and loaded", INSTRUMENTS, plan_of, measure,
              report, draw, declare, at=at, parts=BY_NAME)
