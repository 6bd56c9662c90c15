"""Debian's Linux sometimes hangs in QEMU 7.2 with a host thread for each core; then it is booted again.

Linux changes its own code while other cores run it: it puts a breakpoint over the old
instruction first, and takes it away last. QEMU may translate the breakpoint at the very moment at
which it goes away, and keep that translation: every core that comes by traps for ever, finds no
breakpoint in memory, and tries again (docs/measuring.md). Corral does not change its code while
it runs, so that a Corral that hangs is a defect of ours: nobody boots it again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TypeVar

from lab import guest

Result = TypeVar("Result")

BOOTS = 3  # one of some 200 hangs: three in a row have another reason


def survived(once: Callable[[], Result]) -> Result:
    """What `once`, which boots Linux in QEMU, returns; while Linux does not do what is waited for, it is called again."""
    for _ in range(BOOTS - 1):
        try:
            return once()
        except guest.GuestFailure as failure:
            print(f"Linux hangs in QEMU and is booted again: {str(failure).splitlines()[0]}", file=sys.stderr)
    return once()
