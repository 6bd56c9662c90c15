"""The kernel that checks itself for undefined behaviour (cmake -DCORRAL_UBSAN=ON): its own tests and some programs.

Each report is a panic, so what ends well had none. That one is made is shown by an overflow on purpose.
"""

from __future__ import annotations

from lab import build, guest, paths
from lab.problem import GUEST_BROKE
from lab.testing.kernel_tests import parse
from lab.testing.selection import Selection
from lab.testing.tally import Tally

SUITE = "kernel, UBSan"
CORES = 4
OWN_TESTS = "test=all"
PLANTED = "a planted overflow is reported"
PROGRAMS = ("mandelbrot 4 --mode array --iterations 200", "/tests/forktest", "/tests/futextest", "/tests/vmstress")
REPORT = "undefined behaviour: a signed addition overflows at proc/provoke.cpp:"


def run(selection: Selection, tally: Tally, *, verbose: bool) -> None:
    wanted = [name for name in (OWN_TESTS, PLANTED, *PROGRAMS) if selection.wants(SUITE, name)]
    if not wanted:
        return
    if selection.quick:
        tally.note(f"        {SUITE}: {len(wanted)} slow tests left out (--quick)")
        return
    build.build(build.CHECKED_KERNEL, verbose=verbose)
    for name in wanted:
        tally.running(SUITE, name)
        try:
            fault = _own_tests() if name == OWN_TESTS else _planted() if name == PLANTED else _program(name)
        except AssertionError as error:
            fault = str(error)
        if fault:
            tally.fail(SUITE, name, fault)
        else:
            tally.ok(SUITE, name)


def _boot(options: str, *program: str) -> guest.Guest:
    return guest.corral(CORES, options=f"quiet panic=off {options}", program=program, kernel=paths.CHECKED_KERNEL_ELF)


def _own_tests() -> str:
    """What was wrong; empty when nothing was."""
    with _boot("test=all") as machine:
        end = machine.ended()
        results = parse(machine.debug_console())
        if end.status != 0 or not results or not all(line.passed for line in results):
            return f"exit status {end.status}, {len(results)} results\n{machine.said()}"
    return ""


def _program(command: str) -> str:
    with _boot("", *command.split()) as machine:
        end = machine.ended()
        return f"exit status {end.status}\n{machine.said()}" if end.status != 0 else ""


def _planted() -> str:
    with _boot("provoke", "sh", "-c", "echo overflow > /proc/provoke; echo survived") as machine:
        end = machine.ended()
        said = machine.said()
    told = end.status == GUEST_BROKE and REPORT in said and "add_past_the_largest" in said and "survived" not in said
    return "" if told else f"exit status {end.status}\n{said}"
