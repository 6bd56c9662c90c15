"""The kernel's own tests: booted with `test=all`, reported on the debug console."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lab import guest
from lab.machine import told_cores
from lab.testing.selection import Selection
from lab.testing.tally import Tally

SUITE = "kernel"
CORES = (1, 4)
LINE = re.compile(r"^test: (\S+) (ok|FAILED)[ \t]*(.*?)\r?$", re.MULTILINE)


@dataclass(frozen=True)
class Line:
    name: str
    passed: bool
    reason: str


def parse(debug_console: str) -> list[Line]:
    return [Line(name, word == "ok", reason) for name, word, reason in LINE.findall(debug_console)]


def run(selection: Selection, tally: Tally) -> None:
    for cores in CORES:
        suite = f"{SUITE}, {told_cores(cores)}"
        tally.running(suite, "booting")
        try:
            with guest.corral(cores, options="test=all") as machine:
                end = machine.ended()
                lines = parse(machine.debug_console())
                said = machine.said()
        except AssertionError as error:
            tally.fail(suite, "run", str(error))
            continue
        for line in lines:
            if not selection.wants(suite, line.name):
                continue
            if line.passed:
                tally.ok(suite, line.name)
            else:
                tally.fail(suite, line.name, line.reason)
        if not lines:
            tally.fail(suite, "run", f"no test reported anything\n{said}")
        elif end.status != 0 and all(line.passed for line in lines):
            tally.fail(suite, "run", f"exit status {end.status} {end.message}\n{said}")
