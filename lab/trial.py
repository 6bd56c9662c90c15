"""How a program is tried in the guest, and whether it works."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Trial:
    """`command` for the guest's shell; `shows`: a regular expression that its output matches when it works.

    `lacks` says why it does not; then the command must fail or show something else.
    """

    name: str
    does: str
    command: str
    shows: str
    lacks: str = ""
