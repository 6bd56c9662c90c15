#!/usr/bin/env python3
"""Writes the table of function names that kernel/trace/symbols.cpp reads.

usage: make_symbols.py IMAGE OUTPUT.S

Names are shown without their parameters, so that a backtrace's line fits a
screen; functions of the same name stay apart by their addresses.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

IMAGE_BASE = 0xFFFF_FFFF_8000_0000
LONGEST = 120


def functions(image: Path) -> list[tuple[int, int, str]]:
    """(address, size, mangled name) of every function, in order of address."""
    listing = subprocess.run(
        ["llvm-nm-19", "--defined-only", "--print-size", str(image)], check=True, capture_output=True, text=True
    ).stdout
    found: dict[int, tuple[int, int, str]] = {}
    for line in listing.splitlines():
        parts = line.split()
        if len(parts) == 4 and parts[2] in "tTwW":
            address, size = int(parts[0], 16), int(parts[1], 16)
            if address >= IMAGE_BASE and size > 0:
                found.setdefault(address, (address, size, parts[3]))
    return [found[address] for address in sorted(found)]


def without_parameters(name: str) -> str:
    """`corral::Ring<4u>::put(char) const` becomes `corral::Ring<4u>::put`."""
    name = name.replace("(anonymous namespace)::", "")
    depth = 0
    for position, character in enumerate(name):
        if character == "<":
            depth += 1
        elif character == ">" and name[position - 1] != "-":
            depth -= 1
        elif character == "(" and depth == 0 and not name[:position].endswith("operator"):
            name = name[:position]
            break
    name = re.sub(r"^(?:[a-z]+ )+(?=corral)", "", name)
    return name[:LONGEST]


def demangled(names: list[str]) -> list[str]:
    if not names:
        return []
    output = subprocess.run(
        ["llvm-cxxfilt-19"], input="\n".join(names) + "\n", check=True, capture_output=True, text=True
    ).stdout.splitlines()
    return [without_parameters(line) for line in output]


def assembly(table: list[tuple[int, int, str]], names: list[str]) -> str:
    lines = ['  .section .symbols, "a", @progbits', "  .balign 4", f"  .long {len(table)}"]
    offsets: dict[str, int] = {}
    text: list[str] = []
    end = 0
    for (address, size, _), name in zip(table, names, strict=True):
        if name not in offsets:
            offsets[name] = end
            text.append(name)
            end += len(name.encode()) + 1
        lines.append(f"  .long {address - IMAGE_BASE:#x}, {size:#x}, {offsets[name]:#x}")
    for name in text:
        escaped = name.replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'  .asciz "{escaped}"')
    return "\n".join([*lines, '  .section .note.GNU-stack, "", @progbits', ""])


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    table = functions(Path(sys.argv[1]))
    if not table:
        print(f"{sys.argv[1]}: no functions found", file=sys.stderr)
        return 1
    Path(sys.argv[2]).write_text(assembly(table, demangled([name for _, _, name in table])), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
