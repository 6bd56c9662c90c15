#!/usr/bin/env python3
"""Gates on the linked kernel.

usage: check_image.py IMAGE FIRST_IMAGE

1. No floating-point or vector instruction: such registers are the user
   thread's while the kernel runs. Saving and restoring them is allowed in the
   functions of FpState alone.
2. No segment is both writable and executable.
3. The image with the table of names has every function where the image without
   it has it: otherwise backtraces would lie.
"""

from __future__ import annotations

import re
import subprocess
import sys

FUNCTION = re.compile(r"^[0-9a-f]+ <(.+)>:$")
VECTOR_REGISTER = re.compile(r"%[xyz]?mm\d|%st\b|%k[0-7]\b")
SAVING = re.compile(r"^(fxsave|fxrstor|xsave|xrstor)")
# What begins with f in this instruction set is x87, except these.
X87 = re.compile(r"^(f(?!s:)[a-z0-9]+|emms|ldmxcsr|stmxcsr)$")
SHOWN = 20


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def vector_code(image: str) -> list[str]:
    wrong = []
    function = "?"
    for line in run("llvm-objdump-19", "-d", "--no-show-raw-insn", "--no-leading-addr", image).splitlines():
        text = line.strip()
        if text.startswith("<") and text.endswith(">:"):
            function = text[1:-2]
            continue
        if not text or text.endswith(":"):
            continue
        mnemonic = text.split(None, 1)[0]
        saving = SAVING.match(mnemonic) is not None
        if saving and "FpState" in function:
            continue
        if saving or X87.match(mnemonic) or VECTOR_REGISTER.search(text):
            wrong.append(f"{function}: {' '.join(text.split())}")
    return wrong


def writable_code(image: str) -> list[str]:
    wrong = []
    for line in run("llvm-readelf-19", "-lW", image).splitlines():
        parts = line.split()
        if parts and parts[0] == "LOAD":
            rights = "".join(parts[6:-1])
            if "W" in rights and "E" in rights:
                wrong.append(f"segment at {parts[2]} is writable and executable")
    return wrong


def addresses(image: str) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for line in run("llvm-nm-19", "--defined-only", image).splitlines():
        value, _, name = line.split(None, 2)
        found.setdefault(name, []).append(int(value, 16))
    return {name: sorted(values) for name, values in found.items()}


def moved(image: str, first: str) -> list[str]:
    now, before = addresses(image), addresses(first)
    end = before["corral_symbols_start"][0]
    wrong = []
    for name, places in before.items():
        if min(places) < end and now.get(name) != places:
            wrong.append(f"{name} moved from {places[0]:#x} to {now.get(name)}")
    return wrong


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    image, first = sys.argv[1:]
    failed = False
    for title, wrong in (
        ("floating-point or vector instructions in the kernel", vector_code(image)),
        ("segments that are writable and executable", writable_code(image)),
        ("functions that moved when the table of names was linked in", moved(image, first)),
    ):
        if wrong:
            failed = True
            print(f"{image}: {title}:", file=sys.stderr)
            print("\n".join(f"  {line}" for line in wrong[:SHOWN]), file=sys.stderr)
            if len(wrong) > SHOWN:
                print(f"  … and {len(wrong) - SHOWN} more", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
