"""E1: the Mandelbrot set by threads that share a worklist, on Corral and on Linux.

The identical static binary, array mode, thread creation and joining included.
QEMU: wall time, one boot per run and system, the two in turn, so that a busy
host disturbs both alike. Bochs: virtual time, which repeats; one boot each.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.bench import failures, plot, systems, table, timed
from lab.bench.bench import Bench, Place, runs_of
from lab.bench.mandelbrot_published import GAINS, MANDELBROT
from lab.bench.results import Results, Row, medians
from lab.machine import told_cores
from lab.options import Parser, numbers
from lab.problem import Problem
from lab.progress import Progress

NAME = "mandelbrot"
INSTRUMENTS = {"wall": "qemu", "bochs": "bochs"}
THREADS = (1, 2, 4, 8, 16, 32)


@dataclass(frozen=True)
class Workload:
    size: str
    iterations: int
    arithmetic: str

    def arguments(self) -> str:
        return f"--mode array --size {self.size} --iterations {self.iterations} --arithmetic {self.arithmetic}"


@dataclass(frozen=True)
class Plan:
    instrument: str
    systems: tuple[str, ...]
    cores: tuple[int, ...]
    threads: tuple[int, ...] | None  # None: as published, no single thread on several cores
    runs: int
    workload: Workload
    options: str = ""  # more for Corral's kernel
    seed: int = 0  # systems.Job's

    def threads_at(self, cores: int) -> list[int]:
        return list(self.threads) if self.threads else [count for count in THREADS if cores == 1 or count > 1]


# About one second on one emulated core of an ordinary host; in Bochs as in earlier measurements.
WORKLOADS = {"qemu": Workload("80x25", 600_000, "fixed"), "bochs": Workload("128x96", 512, "double")}
QUICK_WORKLOADS = {"qemu": Workload("80x25", 150_000, "fixed"), "bochs": Workload("64x48", 256, "double")}
CORES = {"qemu": (1, 2, 3, 4), "bochs": (1, 2, 4, 8)}
QUICK_CORES = {"qemu": (1, 2), "bochs": (1, 4)}
QUICK_THREADS = (1, 4)


def script(threads: list[int], rounds: int, workload: Workload) -> str:
    """Runs everything, prints at the end: output during a run would disturb it."""
    counts = " ".join(map(str, threads))
    numbers = " ".join(str(number) for number in range(1, rounds + 1))
    return "\n".join([
        "results=",
        f"for round in {numbers}; do",
        f"  for threads in {counts}; do",
        f'    results="$results$(/host/mandelbrot $threads {workload.arguments()} 2>&1)',
        '"',
        "  done",
        "done",
        'echo "$results"',
    ])  # fmt: skip


@dataclass(frozen=True)
class Sample:
    threads: int
    compute_ms: float
    total_ms: float
    checksum: str


def parse(text: str) -> list[Sample]:
    return [Sample(int(words["threads"]), float(words["compute_ms"]), float(words["total_ms"]), words["checksum"])
            for words in timed.said(NAME, text) if "threads" in words]


def boots(plan: Plan) -> Iterator[tuple[int, str, int]]:
    """(cores, system, runs in this boot), the systems in turn and in changing order."""
    virtual = plan.instrument == "bochs"
    for turn in systems.boots(plan.instrument, plan.cores, plan.systems, 1 if virtual else plan.runs):
        yield turn.cores, turn.system, plan.runs if virtual else 1


def once(plan: Plan, system: str, cores: int, runs: int, patience: float | None = None) -> list[Sample]:
    """One boot, in which everything is drawn `runs` times."""
    threads = plan.threads_at(cores)
    job = systems.Job(script(threads, runs, plan.workload), {"mandelbrot": systems.program("mandelbrot")}, plan.options, plan.seed)
    text = systems.run(system, plan.instrument, cores, job, patience=patience)
    samples = parse(text)
    if len(samples) != len(threads) * runs:
        raise Problem(f"{system} with {cores} cores gave {len(samples)} of {len(threads) * runs} results:\n{text[-2000:]}")
    return samples


def rows_of(plan: Plan, system: str, cores: int, samples: list[Sample]) -> list[Row]:
    options = plan.options if system == "corral" else ""
    return [Row(system, plan.instrument, cores, sample.threads, metric, value, options)
            for sample in samples for metric, value in (("total_ms", sample.total_ms), ("compute_ms", sample.compute_ms))]


def measure(plan: Plan) -> Results:
    rows: list[Row] = []
    checksums: dict[str, str] = {}
    todo = list(boots(plan))
    with failures.keeping(rows), Progress(f"Measuring mandelbrot on {plan.instrument}") as progress:
        for number, (cores, system, runs) in enumerate(todo):
            progress.of(number, len(todo), f"{system}, {cores} cores")
            samples = once(plan, system, cores, runs)
            rows += rows_of(plan, system, cores, samples)
            for sample in samples:
                checksums.setdefault(sample.checksum, f"{system}, {cores} cores, {sample.threads} threads")
        if len(checksums) > 1:
            found = "; ".join(f"{value} on {where}" for value, where in checksums.items())
            raise Problem(f"the picture is not the same everywhere: {found}")
        progress.done(f"{len(rows) // 2} runs")
    return Results(NAME, medians(rows))


def report(results: Results, plan: Plan) -> list[str]:
    clock = "virtual time, repeatable" if plan.instrument == "bochs" else "wall time, noisy: look at ratios"
    head = f"Mandelbrot, {plan.workload.size}, {plan.workload.iterations} iterations, {plan.workload.arithmetic}, " \
           f"creating and joining threads included; {plan.instrument} ({clock}); median of {plan.runs}."
    out = [head, "Published: seconds on other machines; InfOS drawing (T4.1) and array (T4.2), Linux array (T4.3).", ""]
    out += table.lines(
        ["cores", "threads", "Corral ms", "Linux ms", "ratio", "T4.1 s", "T4.2 s", "T4.3 s", "T4.2/T4.3"],
        [_row(results, cores, threads) for cores, threads in results.points()],
    )
    return out + _ratios(results) + gains(results) + speed_ups(results)


def _row(results: Results, cores: int, threads: int) -> list[str]:
    corral = results.value("corral", cores, threads, "total_ms")
    linux = results.value("linux", cores, threads, "total_ms")
    draw, array, other = MANDELBROT.get((cores, threads), (None, None, None))
    return [str(cores), str(threads), table.number(corral, 2), table.number(linux, 2),
            table.number(table.ratio(corral, linux), 3), table.number(draw, 3), table.number(array, 3),
            table.number(other, 3), table.number(table.ratio(array, other), 3)]  # fmt: skip


def _ratios(results: Results) -> list[str]:
    ratios = sorted(
        found
        for cores, threads in results.points()
        if (found := table.ratio(results.value("corral", cores, threads, "total_ms"),
                                 results.value("linux", cores, threads, "total_ms"))) is not None
    )  # fmt: skip
    if not ratios:
        return []
    middle = ratios[len(ratios) // 2] if len(ratios) % 2 else sum(ratios[len(ratios) // 2 - 1 :][:2]) / 2
    return ["", f"Corral/Linux: median {middle:.3f}, from {ratios[0]:.3f} to {ratios[-1]:.3f}."]


def matched(results: Results, system: str, cores: int) -> float | None:
    """The time with the fewest threads that can use all cores, as the published gains take it."""
    for at_cores, threads in results.points():
        if at_cores == cores and threads >= cores:
            if (value := results.value(system, cores, threads, "total_ms")) is not None:
                return value
    return None


def gain(before: float | None, after: float | None) -> float | None:
    return None if not before or after is None else 100.0 * (before - after) / before


def gains(results: Results) -> list[str]:
    cores = sorted({cores for cores, _ in results.points()})
    body = []
    for fewer, more in zip(cores, cores[1:]):
        ours = [gain(matched(results, system, fewer), matched(results, system, more)) for system in ("corral", "linux")]
        known = GAINS.get(more, (None, None)) if more == fewer + 1 else (None, None)
        body.append([f"{fewer} to {more}", *(table.number(value, 2) for value in ours),
                     table.number(100.0 * (more - fewer) / more, 2), *(table.number(value, 2) for value in known)])
    if not body:
        return []
    return ["", "Time saved by further cores, per cent (published: T4.5)", "",
            *table.lines(["cores", "Corral", "Linux", "ideal", "T4.5 InfOS", "T4.5 Linux"], body)]  # fmt: skip


def speed_ups(results: Results) -> list[str]:
    """Speed-up against one core and one thread, and the total beside the ideal."""
    body = []
    for cores, threads in results.points():
        if cores == 1 or threads < cores:
            continue
        cells = [str(cores), str(threads)]
        for system in ("corral", "linux"):
            alone, here = results.value(system, 1, 1, "total_ms"), results.value(system, cores, threads, "total_ms")
            speed_up = table.ratio(alone, here)
            cells += [table.number(speed_up, 2), table.number(table.ratio(cores, speed_up), 3)]
        body.append(cells)
    if not body or all(cell == "-" for row in body for cell in row[2:]):
        return []
    return ["", "Speed-up over one core, and total time divided by the ideal (one core's time / cores)", "",
            *table.lines(["cores", "threads", "Corral", "of ideal", "Linux", "of ideal"], body)]  # fmt: skip


def draw(results: Results, files: list[Path]) -> None:
    """Left: total time by threads, a line per core count. Right: speed-up by cores."""
    figure, (times, speeds) = plot.figure(11, 4.5)
    cores = sorted({at for at, _ in results.points()})
    for system, style in (("corral", "-"), ("linux", "--")):
        for at in cores:
            points = [(threads, value) for here, threads in results.points()
                      if here == at and (value := results.value(system, at, threads, "total_ms")) is not None]
            if points:
                times.plot(*zip(*points), style, color=plot.COLOURS[system], marker=plot.MARKS.get(at, "."),
                           label=f"{system}, {told_cores(at)}", alpha=0.4 + 0.6 * at / max(cores))
    times.set_xscale("log", base=2)
    threads = sorted({count for _, count in results.points()})
    times.set_xticks(threads, [str(count) for count in threads])
    times.set_ylim(bottom=0)
    times.set_xlabel("threads")
    times.set_ylabel("total, ms")
    times.legend(fontsize="small", ncols=2)
    _speed_up(results, speeds, cores)
    instruments = ", ".join(sorted({row.instrument for row in results.rows}))
    figure.suptitle(f"Mandelbrot, the identical binary on both systems ({instruments})")
    plot.save(figure, files)


def _speed_up(results: Results, axes: Any, cores: list[int]) -> None:

    for system in ("corral", "linux"):
        alone = matched(results, system, 1)
        points = [(at, alone / value) for at in cores if alone and (value := matched(results, system, at))]
        if points:
            axes.plot(*zip(*points), color=plot.COLOURS[system], marker="o", label=system)
    axes.plot(cores, cores, ":", color="gray", label="ideal")
    axes.set_xticks(cores)
    axes.set_xlabel("cores (threads: the fewest that use them all)")
    axes.set_ylabel("speed-up over one core")
    axes.set_ylim(bottom=0)
    axes.legend(fontsize="small")


def declare(parser: Parser) -> None:
    parser.add_argument("--threads", type=numbers, metavar="LIST", help="such as 1,2,4,8")


def plan_of(values: Namespace, instrument: str, chosen: tuple[str, ...]) -> Plan:
    cores = tuple(values.cores or (QUICK_CORES if values.quick else CORES)[instrument])
    threads = tuple(values.threads) if values.threads else QUICK_THREADS if values.quick else None
    workload = (QUICK_WORKLOADS if values.quick else WORKLOADS)[instrument]
    return Plan(instrument, chosen, cores, threads, runs_of(values), workload, values.append)


def at(place: Place, patience: float | None) -> list[Row]:
    workload = (QUICK_WORKLOADS if place.quick else WORKLOADS)[place.instrument]
    plan = Plan(place.instrument, (place.system,), (place.cores,), place.threads, 1, workload, place.options, place.seed)
    return rows_of(plan, place.system, place.cores, once(plan, place.system, place.cores, 1, patience))


BENCH = Bench(NAME, "threads that compute, on 1 to 4 (Bochs: 8) cores", INSTRUMENTS, plan_of, measure, report, draw, declare, at=at, has_threads=True)
