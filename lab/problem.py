"""One kind of error for everything the user can mend.

A `Problem` says what is wrong and, apart from that, what to do about it. The
entry point prints both and exits; a Python traceback is therefore always a bug
of ours.
"""

from __future__ import annotations

# Exit statuses of the command itself; `run` otherwise returns the program's.
FAILED = 1
WRONG_USE = 2
TIMED_OUT = 124  # as coreutils' timeout
GUEST_BROKE = 125  # panic, triple fault, or no exit status
INTERRUPTED = 130  # as a shell says that SIGINT ended it


class Problem(Exception):
    """Something the user can mend; `mend` says how."""

    def __init__(self, what: str, mend: str = "", status: int = FAILED) -> None:
        super().__init__(what)
        self.what = what
        self.mend = mend
        self.status = status

    def __str__(self) -> str:
        return f"{self.what}\n        Mend: {self.mend}" if self.mend else self.what
