"""`corral test`: the suites in order, from the quickest to the slowest."""

from __future__ import annotations

import os
import time
from argparse import Namespace
from collections.abc import Callable

from lab import build, packages, paths
from lab.options import Parser, choose, positive
from lab.problem import WRONG_USE, Problem
from lab.testing import checked_kernel, host_tests, kernel_tests, model_tests, python_tests, style_tests
from lab.testing.selection import Selection
from lab.testing.tally import Tally

USES = {
    "lab": ("linux", "style", "statistics", "report"),
    "style": ("build", "style"),
    "models": ("models",),
    "host": ("host-tests",),
    "simulator": ("simulator", "cluster"),
    "kernel": ("build", "qemu"),
    "system": ("build", "qemu", "model", "image", "uefi", "linux", "bochs", "plot", "go", "report", "browser", "debug"),
}
SUITES = tuple(USES)


def declare(parser: Parser) -> None:
    parser.add_argument("--filter", default="", metavar="TEXT", help='only tests whose "suite: name" contains TEXT')
    parser.add_argument("--suite", action="append", metavar="NAME", help=f"only this suite: {', '.join(SUITES)}")
    parser.add_argument("--durations", type=positive, default=0, metavar="N", help="name the N slowest at the end")
    parser.add_argument("--jobs", type=positive, default=min(2, os.cpu_count() or 1), metavar="N",
                        help="so many files of tests in Python side by side (default: 2, on one processor 1)")
    much = parser.add_mutually_exclusive_group()
    much.add_argument("--quick", action="store_true", help="leave out the slow tests")
    much.add_argument("--all", action="store_true", help="also those that take hours: all of what else a sample is taken of")


def _suites(verbose: bool, jobs: int, selection: Selection, tally: Tally) -> dict[str, Callable[[], None]]:
    def system() -> None:
        build.build_system(verbose=verbose)
        build.build(build.PLUGIN, verbose=verbose)
        python_tests.run("system", paths.SYSTEM_TESTS, selection, tally, jobs)

    def kernel() -> None:
        build.build_system(verbose=verbose)
        kernel_tests.run(selection, tally)
        checked_kernel.run(selection, tally, verbose=verbose)

    def simulator() -> None:
        build.build(build.SIMULATOR, verbose=verbose)
        python_tests.run("simulator", paths.SIMULATOR_TESTS, selection, tally, jobs)

    return {
        "lab": lambda: python_tests.run("lab", paths.LAB_TESTS, selection, tally, jobs),
        "style": lambda: style_tests.run(selection, tally, verbose=verbose),
        "models": lambda: model_tests.run(selection, tally),
        "host": lambda: host_tests.run(selection, tally, verbose=verbose),
        "simulator": simulator,
        "kernel": kernel,
        "system": system,
    }


def execute(values: Namespace, _: list[str]) -> int:
    chosen = [choose(name, SUITES, "suite") for name in values.suite or SUITES]
    packages.ensure({use for name in chosen for use in USES[name]}, yes=values.yes)
    selection = Selection(values.filter, values.quick, values.all)
    tally = Tally()
    for name, run in _suites(values.verbose, values.jobs, selection, tally).items():
        if name not in chosen:
            continue
        before = tally.total()
        began = time.monotonic()
        try:
            run()
        except Problem as problem:
            tally.fail(name, "suite", str(problem))
        tally.over()
        tally.note(f"        {name}: {tally.total() - before} tests in {time.monotonic() - began:.0f} s")
        if tally.total() == before and not selection.text:
            tally.fail(name, "suite", "there was no test to run")
    if tally.total() == 0:
        raise Problem(f"no test's name contains `{selection.text}`", "see the names: ./corral test", WRONG_USE)
    return tally.close(values.durations)
