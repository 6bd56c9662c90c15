"""`corral sweep FILE`: measures every point of a grid, keeps each as soon as it is there, and goes on where it was left."""

from __future__ import annotations

import itertools
import os
from argparse import Namespace
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from lab import build, linux, options, packages, paths
from lab.bench import choices, host
from lab.options import Parser, positive, seconds
from lab.progress import Progress
from lab.sweep import grid, origin, pool
from lab.sweep.points import Point
from lab.sweep.store import Store, load

SHOWN_FAILURES = 5


def declare(parser: Parser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="the grid, in TOML (docs/sweeps.md)")
    parser.add_argument("--output", type=Path, metavar="FILE", help="where results are kept (default build/results/GRID.sqlite)")
    parser.add_argument("--jobs", type=positive, default=os.cpu_count() or 1, metavar="N",
                        help="points at the same time, but for wall time (default: one for each of the host's cores)")
    parser.add_argument("--dask", metavar="ADDRESS", help="let the workers of this cluster measure, such as tcp://host:8786")
    parser.add_argument("--patience", type=seconds, metavar="S", help="a point that needs longer has failed (default 30 or 60 minutes)")
    parser.add_argument("--quick", action="store_true", help="the first point of each workload alone: does the grid work?")
    parser.add_argument("--list", action="store_true", help="show the points, and measure nothing")


def execute(values: Namespace, _: list[str]) -> int:
    wanted = grid.read(values.file)
    points = first_of_each(wanted.points) if values.quick else wanted.points
    if values.list:
        print("\n".join([*map(str, points), f"{len(points)} points"]))
        return 0
    output = values.output or paths.RESULTS / f"{values.file.stem}.sqlite"
    with Store(output) as store:  # a wrong file is said before anything is built
        _prepare(points, values)
        depends = origin.digests(points)
        again = options.again("sweep", declare, values, leave_out=("yes", "verbose", "jobs"))
        done = store.done()
        left = [point for point in points if point.key not in done]
        store.begin({**(host.facts() if left else {}), "command": again, "grid": wanted.text}, depends)
        if len(left) < len(points):
            print(f"{len(points) - len(left)} of {len(points)} points were measured before.")
        failed = _measure(store, left, values, depends)
        kept = len(points) - failed
        told = _told(store, points)
    for results in load(output):
        told += choices.report(results)
    print("\n".join([*told, f"Results: {paths.shown(output)}", f"Again, or on: {again}"]))
    print(f"{kept} of {len(points)} points have figures, {failed} failed")
    return 1 if failed else 0


def first_of_each(points: Sequence[Point]) -> list[Point]:
    return [next(group) for _, group in itertools.groupby(sorted(points, key=lambda point: point.workload), lambda point: point.workload)]


def uses(points: Sequence[Point]) -> set[str]:
    """Of packages: what it takes to measure these points, and to judge them in the end."""
    guests = [point for point in points if "simulate" not in point.defined]
    found = {"simulator"} if len(guests) < len(points) else set()
    found |= {"build"} if guests else set()
    for point in guests:
        found |= {"bochs", "image"} if point.instrument == "bochs" else {"qemu"}
    beside = [point for point in guests if point.system == "linux"]
    found |= {"linux"} if beside else set()
    # What is measured more than once beside Linux is judged by ranks (lab/bench/beside.py).
    return found | ({"statistics"} if any(point.seed or point.noisy for point in beside) else set())


def _prepare(points: Sequence[Point], values: Namespace) -> None:
    """Installs and builds what the points need."""
    wanted = uses(points)
    packages.ensure(wanted | ({"cluster"} if values.dask else set()), yes=values.yes)
    if "simulator" in wanted:
        build.build(build.SIMULATOR, verbose=values.verbose)
    if "build" in wanted:
        build.build_system(verbose=values.verbose)
    if "linux" in wanted:
        linux.kernel()


def _measure(store: Store, points: list[Point], values: Namespace, depends: dict[str, str]) -> int:
    """How many failed."""
    failed = 0
    measured = pool.measured(points, values.jobs, values.dask, values.patience, depends)
    # Closed at once when a result cannot be kept: nothing more is to be measured then.
    with Progress(f"Measuring {len(points)} points") as progress, closing(measured):
        for number, (point, outcome) in enumerate(measured, start=1):
            store.keep(point, outcome)
            failed += bool(outcome.failure)
            progress.of(number, len(points), f"{failed} failed; {point}")
        progress.done(f"{failed} failed", quiet=not points)
    return failed


def _told(store: Store, points: Sequence[Point]) -> list[str]:
    named = {point.key: point for point in points}
    lines = []
    failures = store.failures(set(named))
    for key, failure in failures[:SHOWN_FAILURES]:
        lines += [f"Failed: {named[key]}", *(f"  {line}" for line in failure.strip().splitlines()[-6:])]
    if len(failures) > SHOWN_FAILURES:
        lines.append(f"… and {len(failures) - SHOWN_FAILURES} more: SELECT workload, options, failure FROM points WHERE failure != ''")
    return lines
