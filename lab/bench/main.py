"""`corral bench NAME`: chooses the experiment, keeps its results, draws its plot."""

from __future__ import annotations

import statistics
from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from lab import build, files, linux, options, packages, paths
from lab.bench import boot, host, load, mandelbrot, matrix, operations, plot
from lab.bench.results import SYSTEMS, Results, spread
from lab.machine import check_cores
from lab.options import Parser, choose, numbers, positive
from lab.problem import WRONG_USE, Problem

BENCHES = {
    mandelbrot.NAME: "threads that compute, on 1 to 4 (Bochs: 8) cores",
    boot.NAME: "kernel entry to prompt, and the memory in use there",
    operations.NAME: "system calls, faults, switches, processes: what each costs, and whether it scales",
    load.NAME: "Debian's hackbench and sysbench, on 1, 4 and 8 cores",
    matrix.NAME: "what threads that multiply matrices do to caches, by a model of them; Corral only",
}
INSTRUMENTS = {mandelbrot.NAME: ("qemu", "bochs"), boot.NAME: ("qemu",), operations.NAME: tuple(operations.INSTRUMENTS),
               load.NAME: tuple(load.INSTRUMENTS), matrix.NAME: ("model",)}  # fmt: skip
RUNS = 3
# Measures when everything is built; what was found, and the lines that tell it.
Measure = Callable[[], tuple[Results, list[str]]]


def declare(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", help="; ".join(f"{name}: {what}" for name, what in BENCHES.items()))
    parser.add_argument("--instrument", metavar="NAME",
                        help="qemu: wall time (default); bochs: virtual time. Of operations: instructions (default), "
                        "bochs, or wall; of load: bochs (default), instructions, or wall")
    parser.add_argument("--operations", metavar="LIST", help="of bench operations: only these, such as getpid,fork")
    parser.add_argument("--loads", metavar="LIST", help="of bench load: only these, such as threads-pipe,mutex")
    parser.add_argument("--by", choices=("processes", "threads"), default="processes",
                        help="of bench operations: what the copies on several cores are (default processes)")
    parser.add_argument("--cores", type=numbers, metavar="LIST", help="such as 1,2,4 or 1-4")
    parser.add_argument("--threads", type=numbers, metavar="LIST", help="such as 1,2,4,8")
    parser.add_argument("--append", default="", metavar="OPTIONS",
                        help="not of bench boot: more options for Corral's kernel, such as sched.algorithm=rr")
    parser.add_argument("--runs", type=positive, metavar="N", help=f"median of N runs (default {RUNS})")
    parser.add_argument("--system", metavar="NAME", help="only corral, or only linux")
    parser.add_argument("--quick", action="store_true", help="few points, one run each: a look, not a result")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there as well")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the plot there instead of in build/results")


def execute(values: Namespace, _: list[str]) -> int:
    name = choose(values.name, list(BENCHES), "bench")
    instrument = choose(values.instrument or INSTRUMENTS[name][0], INSTRUMENTS[name], f"instrument of bench {name}")
    systems = (choose(values.system, SYSTEMS, "system"),) if values.system else SYSTEMS
    if name == matrix.NAME:
        systems = ("corral",)
    for cores in values.cores or ():
        check_cores(cores, "bochs" if instrument == "bochs" else "qemu")
    _check_options(name, values)
    bench = {mandelbrot.NAME: _mandelbrot, boot.NAME: _boot, operations.NAME: _operations,
             load.NAME: _load, matrix.NAME: _matrix}[name]  # fmt: skip
    measure = bench(values, instrument, systems)
    _prepare(instrument, systems, verbose=values.verbose, yes=values.yes)
    results, lines = measure()
    values.instrument = instrument
    again = options.again("bench", declare, values, leave_out=("json", "plot"))
    results = replace(results, command=again, host=host.facts())
    print("\n".join([*lines, *spreads(results), "", f"Again: {again}"]))
    _keep(results, f"{name}-{instrument}", values.json, values.plot)
    return 0


def spreads(results: Results) -> list[str]:
    """How far the runs of one point were apart; nothing where each has one run, or all are alike."""
    several = [row for row in results.rows if len(set(row.samples)) > 1]
    if not several:
        return []
    worst = max(several, key=spread)
    middle = statistics.median(map(spread, several))
    return ["", f"Spread of the runs (half of highest - lowest): median ±{middle:.1%}, at most ±{spread(worst):.1%} "
            f"({worst.system}, {worst.cores} cores, {worst.threads} threads, {worst.metric})."]


def _check_options(name: str, values: Namespace) -> None:
    if values.threads and name != mandelbrot.NAME:
        raise Problem(f"bench {name} has no threads to choose", "leave out --threads", WRONG_USE)
    if values.append and name == boot.NAME:
        raise Problem(f"bench {name} has no options for Corral's kernel", "leave out --append", WRONG_USE)
    if name != operations.NAME and (values.operations or values.by != "processes"):
        raise Problem("--operations and --by belong to bench operations", f"leave them out of bench {name}", WRONG_USE)
    if name == matrix.NAME and (values.system == "linux" or values.cores or values.runs):
        raise Problem("bench matrix runs on Corral alone, once, on the cores of the study's figures",
                      "leave out --system, --cores and --runs", WRONG_USE)
    if name != load.NAME and values.loads:
        raise Problem("--loads belongs to bench load", f"leave it out of bench {name}", WRONG_USE)


def _prepare(instrument: str, systems: tuple[str, ...], *, verbose: bool, yes: bool) -> None:
    uses = {"build", "plot"} | ({"bochs", "image"} if instrument == "bochs" else {"qemu"})
    if "linux" in systems:
        uses.add("linux")
    if instrument == "model":
        uses.add("model")
    packages.ensure(uses, yes=yes)
    if "corral" in systems:
        build.build_system(verbose=verbose)
    else:
        build.build(build.USER, verbose=verbose)
    if "linux" in systems:
        linux.kernel()
    if instrument == "model":
        build.build(build.PLUGIN, verbose=verbose)


def _mandelbrot(values: Namespace, instrument: str, systems: tuple[str, ...]) -> Measure:
    quick_cores = (1, 2) if instrument == "qemu" else (1, 4)
    plan = mandelbrot.Plan(
        instrument,
        systems,
        tuple(values.cores or (quick_cores if values.quick else mandelbrot.CORES[instrument])),
        tuple(values.threads) if values.threads else ((1, 4) if values.quick else None),
        values.runs or (1 if values.quick else RUNS),
        (mandelbrot.QUICK_WORKLOADS if values.quick else mandelbrot.WORKLOADS)[instrument],
        values.append,
    )

    def measure() -> tuple[Results, list[str]]:
        results = mandelbrot.measure(plan)
        return results, mandelbrot.report(results, plan)

    return measure


def _boot(values: Namespace, _: str, systems: tuple[str, ...]) -> Measure:
    cores = tuple(values.cores or ((4,) if values.quick else (1, 2, 4)))
    plan = boot.Plan(systems, cores, values.runs or (1 if values.quick else RUNS))

    def measure() -> tuple[Results, list[str]]:
        results = boot.measure(plan)
        return results, boot.report(results, plan)

    return measure


def _operations(values: Namespace, word: str, systems: tuple[str, ...]) -> Measure:
    instrument = operations.INSTRUMENTS[word]
    cores = tuple(values.cores or operations.CORES[instrument])
    if instrument == "icount" and cores != (1,):
        raise Problem("the count of instructions is the sum of all cores, and shows no scaling",
                      "take --instrument bochs for several cores", WRONG_USE)
    plan = operations.Plan(instrument, systems, operations.chosen(values.operations, quick=values.quick), cores,
                           values.runs or (1 if values.quick else RUNS), values.by, values.append)

    def measure() -> tuple[Results, list[str]]:
        results = operations.measure(plan)
        return results, operations.report(results, plan)

    return measure


def _load(values: Namespace, word: str, systems: tuple[str, ...]) -> Measure:
    instrument = load.INSTRUMENTS[word]
    cores = tuple(values.cores or load.CORES[instrument])
    if instrument == "icount" and cores != (1,):
        raise Problem("the count of instructions is the sum of all cores, and shows no scaling",
                      "take --instrument bochs for several cores", WRONG_USE)
    plan = load.Plan(instrument, systems, load.chosen(values.loads, quick=values.quick), cores,
                     values.runs or (1 if values.quick else RUNS), values.append)

    def measure() -> tuple[Results, list[str]]:
        results = load.measure(plan)
        return results, load.report(results, plan)

    return measure


def _matrix(values: Namespace, _: str, __: tuple[str, ...]) -> Measure:
    plan = matrix.Plan(quick=values.quick, options=values.append)

    def measure() -> tuple[Results, list[str]]:
        results = matrix.measure(plan)
        return results, matrix.report(results, plan)

    return measure


def _keep(results: Results, name: str, json: Path | None, picture: Path | None) -> None:
    """Always in build/results; wherever else the user wants it."""
    kept = [paths.RESULTS / f"{name}.json", *([json] if json else [])]
    for file in kept:
        files.write(file, results.to_json(), "--json")
    drawn = [picture] if picture else [paths.RESULTS / f"{name}{kind}" for kind in plot.KINDS]
    plot.PLOTS[results.bench](results, drawn)
    shown = [", ".join(paths.shown(file) for file in these) for these in (kept, drawn)]
    print(f"\nResults: {shown[0]}; plot: {shown[1]}")
