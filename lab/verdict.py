"""What a guest said about its own end, on the debug console (port 0xE9).

The kernel writes `corral: exit status N` when the first process has ended,
`corral: restarts` when it was asked to start the machine again (the emulator
ends then), and `corral: panic REASON` when it gave up itself. An emulator that
ends without any of them lost its guest: a triple fault, or a power-off by
another hand.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lab.problem import GUEST_BROKE

# Bochs mixes its own messages into the same stream, hence no anchor at the line's start.
EXIT_STATUS = re.compile(r"corral: exit status (\d+)")
PANIC = re.compile(r"corral: panic:?\s*([^\r\n]*)")
RESTART = "corral: restarts"
VIOLATION = re.compile(r"sched: invariant violated: [^\r\n]*")


@dataclass(frozen=True)
class Verdict:
    status: int
    message: str = ""  # why there is no status, such as a panic
    remark: str = ""  # what else its user should know


def violation(said: str) -> str:
    """The first invariant of scheduling that the kernel found violated (docs/checker.md); "": none."""
    found = VIOLATION.search(said)
    return found[0] if found else ""


def of(debug_console: str) -> Verdict:
    """A panic counts more than a status; the last status counts."""
    if found := PANIC.search(debug_console):
        return Verdict(GUEST_BROKE, f"the kernel panicked: {found[1].strip()}")
    if statuses := EXIT_STATUS.findall(debug_console):
        return Verdict(int(statuses[-1]))
    if RESTART in debug_console:
        return Verdict(0, remark="the guest started its machine again, and the emulator ended with that")
    return Verdict(
        GUEST_BROKE,
        "the guest ended without an exit status: it was reset (triple fault), or the emulator was left",
    )
