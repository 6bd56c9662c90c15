"""`corral bench NAME`: carries an experiment out, keeps its results, draws its plot."""

from __future__ import annotations

import hashlib
import re
import shlex
import statistics
import sys
import time
from argparse import Namespace
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from lab import boot_options, build, files, linux, options, packages, paths
from lab.bench import balance, beside, boot, failures, groups, host, latency, load, mandelbrot, matrix, operations, plot, table, tracing
from lab.bench.bench import Bench, declare
from lab.bench.results import Results, medians, spread
from lab.machine import check_cores
from lab.options import Parser, choose
from lab.problem import INTERRUPTED, WRONG_USE, Problem

ALL: tuple[Bench[Any], ...] = (
    mandelbrot.BENCH, boot.BENCH, operations.BENCH, load.BENCH, latency.BENCH, matrix.BENCH, balance.BENCH, groups.BENCH, tracing.BENCH)  # fmt: skip
BENCHES = {bench.name: bench for bench in ALL}
LONGEST_NAME = 120  # characters of a file's name, of 255 that a folder takes


def execute(bench: Bench[Any], values: Namespace, _: list[str]) -> int:
    word = choose(values.instrument or next(iter(bench.instruments)), list(bench.instruments), f"instrument of bench {bench.name}")
    instrument = bench.instruments[word]
    wanted = getattr(values, "system", None)
    systems = (choose(wanted, bench.systems, "system"),) if wanted else bench.systems
    _check_cores(getattr(values, "cores", None) or (), instrument)
    boot_options.check_line(getattr(values, "append", ""))  # with a wrong one the default would be measured
    plan = bench.plan(values, instrument, systems)
    _prepare(instrument, systems, getattr(values, "runs", None) or 1, verbose=values.verbose, yes=values.yes)
    values.instrument = word
    again = options.again(f"bench {bench.name}", partial(declare, bench), values, leave_out=("json", "plot"))
    name = set_name(bench, values)
    try:
        results = bench.measure(plan)
    except failures.Unfinished as failed:
        raise _kept_in_part(failed, Results(bench.name, medians(failed.rows), again, host.facts()), name) from failed
    results = replace(results, command=again, host=host.facts())
    print("\n".join([*bench.report(results, plan), *spreads(results), "", f"Again: {again}"]))
    _keep(bench, results, name, values.json, values.plot)
    return 0


def declare_all(parser: Parser) -> None:
    parser.add_argument("--quick", action="store_true", help="few points, one run each: a look, not results")


def execute_all(values: Namespace, _: list[str]) -> int:
    """One after the other, each with its usual options. One that fails does not stop the others."""
    outcomes: list[list[str]] = []
    failed = 0
    for bench in BENCHES.values():
        print(f"\n{bench.name}: {bench.what}\n", flush=True)
        begin, outcome = time.monotonic(), "measured"
        try:
            execute(bench, _usual(bench, values), [])
        except Problem as problem:
            if problem.status == INTERRUPTED:
                raise
            failed += 1
            outcome = f"FAILED: {problem.what.splitlines()[0]}"
            print(f"corral: {problem}", file=sys.stderr, flush=True)
        outcomes.append([bench.name, f"{(time.monotonic() - begin) / 60:.1f}", outcome])
    print("\n".join(["", *table.lines(["bench", "minutes", ""], outcomes), "", f"{len(BENCHES) - failed} measured, {failed} failed"]))
    return 1 if failed else 0


def _usual(bench: Bench[Any], values: Namespace) -> Namespace:
    parser = Parser()
    declare(bench, parser)
    return parser.parse_args(["--quick"] if values.quick else [], Namespace(yes=values.yes, verbose=values.verbose))


def spreads(results: Results) -> list[str]:
    """How far the runs of one point were apart; nothing where each has one run, or all are alike."""
    several = [row for row in results.rows if len(set(row.samples)) > 1]
    if not several:
        return []
    worst = max(several, key=spread)
    middle = statistics.median(map(spread, several))
    return ["", f"Spread of the runs (half of highest - lowest): median ±{middle:.1%}, at most ±{spread(worst):.1%} "
            f"({worst.system}, {worst.cores} cores, {worst.threads} threads, {worst.metric})."]


def _check_cores(wanted: list[int] | tuple[int, ...], instrument: str) -> None:
    for cores in wanted:
        check_cores(cores, "bochs" if instrument == "bochs" else "qemu")
        if instrument == "icount" and cores != 1:
            raise Problem("the count of instructions is the sum of all cores, and shows no scaling",
                          "take --instrument bochs for several cores", WRONG_USE)


def _prepare(instrument: str, systems: tuple[str, ...], runs: int, *, verbose: bool, yes: bool) -> None:
    uses = {"build", "plot"} | ({"bochs", "image"} if instrument == "bochs" else {"qemu"})
    if "linux" in systems:
        uses |= {"linux", "statistics"} if runs >= beside.FEWEST else {"linux"}
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


def set_name(bench: Bench[Any], values: Namespace) -> str:
    """What its files in build/results are called: BENCH-INSTRUMENT, and then what was asked for.

    So only the same command replaces a set, and no look and no part the usual one.
    """
    again = options.again(bench.name, partial(declare, bench), values, leave_out=("instrument", "json", "plot"))
    asked = "".join(f"-{word[2:]}" if word.startswith("--") else f"={word}" for word in shlex.split(again)[2:])
    name = f"{bench.name}-{values.instrument}{re.sub(r'[^A-Za-z0-9.,:=+-]', '_', asked)}"
    return name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}-{hashlib.sha256(asked.encode()).hexdigest()[:8]}"


def _keep(bench: Bench[Any], results: Results, name: str, json: Path | None, picture: Path | None) -> None:
    """Always in build/results; wherever else the user wants it."""
    kept = [paths.RESULTS / f"{name}.json", *([json] if json else [])]
    for file in kept:
        files.write(file, results.to_json(), "--json")
    drawn = [picture] if picture else [paths.RESULTS / f"{name}{kind}" for kind in plot.KINDS]
    bench.draw(results, drawn)
    _partial(name).unlink(missing_ok=True)
    shown = [", ".join(paths.shown(file) for file in these) for these in (kept, drawn)]
    print(f"\nResults: {shown[0]}; plot: {shown[1]}")


def _kept_in_part(failed: failures.Unfinished, measured: Results, name: str) -> Problem:
    """What ended the measurement, and where that stands which was measured before."""
    if not measured.rows:
        return failed
    file = _partial(name)
    try:
        files.write(file, measured.to_json(), "--json")
        kept = f"{len(measured.rows)} figures had been measured: {paths.shown(file)}"
    except Problem as refused:
        kept = f"{len(measured.rows)} figures had been measured, and are lost: {refused.what}"
    return Problem(f"{failed.what}\n{kept}", failed.mend, failed.status)


def _partial(name: str) -> Path:
    """What there was of a set when its measurement failed; the whole set takes its place."""
    return paths.RESULTS / f"{name}.partial.json"
