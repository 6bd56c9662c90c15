"""Writes docs/system-call-list.md from the kernel's tables of system calls.

    python3 -m lab.reference          writes the page
    python3 -m lab.reference --check  says whether it is current (a test does the same)

The tables are read as text: every entry stands as `{number, "name", handler}` in
kernel/abi/linux/*.cpp, and Corral's own calls stand in the comment that opens
kernel/abi/corral/calls.cpp. A handler whose whole body is one error is listed
with that error, so that the page does not promise what the kernel refuses.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from lab import paths
from lab.problem import Problem

LINUX = Path("kernel/abi/linux")
OWN = Path("kernel/abi/corral/calls.cpp")
PAGE = Path("docs/system-call-list.md")

ENTRY = re.compile(r'\{\s*(\d+),\s*"(\w+)",\s*(\w+)(?:<[^>]*>)?\s*\}')
REFUSED = re.compile(r"^Result<i64> (\w+)\(Call&\) \{\s*return Errno::(\w+);\s*\}", re.MULTILINE)
OWN_CALL = re.compile(r"^//   (0x[0-9a-f]+) (\w+\([^)]*\)) → (.*)$")

HEAD = """\
# The system calls

All calls that the kernel knows, by number. Any other number answers `ENOSYS`, and the first use of each is
named in the log. How a call runs: [system-calls.md](system-calls.md).

This page is written from the kernel's tables by `python3 -m lab.reference`; a test compares the two.

## Linux's ({count})

Arguments, results and errors are those of Linux x86-64. What a call does not do is in [caveats.md](caveats.md).

| number | call | where |
|---|---|---|
"""
OWN_HEAD = """
## Corral's own

From 0x4000 on, a range that Linux does not use; described in `kernel/abi/corral/calls.cpp`.

| number | call | result |
|---|---|---|
"""


@dataclass(frozen=True, order=True)
class Call:
    number: int
    name: str
    file: str
    refused: str = ""  # the one error that it always answers


def linux_calls(root: Path) -> list[Call]:
    """In order of their numbers; a Problem when one stands twice."""
    calls: list[Call] = []
    for file in sorted((root / LINUX).glob("*.cpp")):
        text = file.read_text(encoding="utf-8")
        refused = dict(REFUSED.findall(text))
        for number, name, handler in ENTRY.findall(text):
            calls.append(Call(int(number), name, str(LINUX / file.name), refused.get(handler, "").upper()))
    calls.sort()
    for one, next_one in zip(calls, calls[1:]):
        if one.number == next_one.number:
            raise Problem(f"system call {one.number} stands in the tables twice: {one.name}, {next_one.name}",
                          "take one out")
    return calls


def own_calls(root: Path) -> list[tuple[str, str, str]]:
    """Number, signature and result, as the opening comment gives them (a sentence may go on in further lines)."""
    found: list[tuple[str, str, str]] = []
    for line in (root / OWN).read_text(encoding="utf-8").splitlines():
        if not line.startswith("//"):
            break
        if match := OWN_CALL.match(line):
            found.append((match[1], match[2], match[3]))
    return found


def page(root: Path) -> str:
    calls = linux_calls(root)
    rows = [
        f"| {call.number} | `{call.name}`{f' (always `{call.refused}`)' if call.refused else ''} | `{call.file}` |"
        for call in calls
    ]
    own = [f"| {number} | `{signature}` | {result} |" for number, signature, result in own_calls(root)]
    return HEAD.format(count=len(calls)) + "\n".join(rows) + "\n" + OWN_HEAD + "\n".join(own) + "\n"


def main(arguments: list[str]) -> int:
    kept, wanted = paths.ROOT / PAGE, page(paths.ROOT)
    if arguments == ["--check"]:
        if kept.is_file() and kept.read_text(encoding="utf-8") == wanted:
            return 0
        print(f"{PAGE} is not current: python3 -m lab.reference", file=sys.stderr)
        return 1
    kept.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
