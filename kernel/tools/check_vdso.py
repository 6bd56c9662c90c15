#!/usr/bin/env python3
"""Gate on the vDSO, which the kernel copies into pages as it is: nobody links it, relocates it or gives it data.

usage: check_vdso.py FILE
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

MOST_BYTES = 4 * 4096  # kernel/task/vdso.cpp
NAMES = {"clock_gettime", "clock_getres", "gettimeofday", "time", "getcpu"}


def main(arguments: list[str]) -> int:
    (file,) = arguments
    text = subprocess.run(["llvm-readelf-19", "-lrW", "--dyn-syms", file], check=True, capture_output=True, text=True).stdout
    wrong = []
    loads = re.findall(r"^  LOAD +(0x\w+) (0x\w+) 0x\w+ 0x\w+ 0x\w+ (.*) 0x\w+$", text, re.MULTILINE)
    if len(loads) != 1 or int(loads[0][0], 16) != 0 or int(loads[0][1], 16) != 0 or loads[0][2].split() != ["R", "E"]:
        wrong.append(f"it must be one segment, read and executed, from the file's beginning: {loads}")
    if "There are no relocations" not in text:
        wrong.append("it must not need relocation")
    offered = set(re.findall(r" (\w+)@@LINUX_2\.6$", text, re.MULTILINE))
    if offered != NAMES | {f"__vdso_{name}" for name in NAMES}:
        wrong.append(f"it offers {sorted(offered)}")
    if Path(file).stat().st_size > MOST_BYTES:
        wrong.append(f"it is longer than {MOST_BYTES} bytes")
    for line in wrong:
        print(f"{file}: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
