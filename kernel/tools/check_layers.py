#!/usr/bin/env python3
"""Checks that imports between the kernel's rooms point downwards only.

usage: check_layers.py REPOSITORY [--dot FILE]

The order of the rooms, from the top (see docs/):
  boot, abi → fs, ipc, net → task → vm, sched engine → core → device → arch → memory
  → sync, trace → arch contract → lib
`arch` is what stands in arch/<name>/ itself: it fulfils the contract (the
headers of arch/<name>/include) by means of memory and below. platform/ stands
beside boot, which alone uses it. Policies, and all of sched/ that is not its
engine, import only lib/ and sched/.
--dot writes the picture of who imports whom.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

HEIGHT = {
    "lib": 0, "arch contract": 1, "sync": 2, "trace": 2, "memory": 3, "arch": 4, "device": 5, "core": 6,
    "sched": 7, "vm": 7, "task": 8, "fs": 9, "ipc": 9, "net": 9, "platform": 10, "abi": 10, "boot": 10,
}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
# Made by the build, beside no source: data only.
GENERATED = "generated/"
# What the loader told: plain data without functions, handed down to those who set memory up.
GROUND_HEADERS = {"boot/boot_info.h"}
# The host builds all of sched/ but the engine, too: no kernel below it but lib/.
SCHED_ENGINE = "sched/engine/"


class Tree:
    def __init__(self, root: Path) -> None:
        self.kernel = root / "kernel"
        self.root = root

    def resolve(self, name: str, importer: Path) -> Path | None:
        """As the compiler does: beside the importer, then in the include roots."""
        roots = [importer.parent, self.kernel, self.root, *sorted(self.kernel.glob("arch/*/include"))]
        for base in roots:
            if (base / name).is_file():
                return (base / name).resolve()
        return None

    def room(self, file: Path) -> str | None:
        if file.is_relative_to(self.root / "lib"):
            return "lib"
        if not file.is_relative_to(self.kernel):
            return None
        parts = file.relative_to(self.kernel).parts
        if str(file.relative_to(self.kernel)) in GROUND_HEADERS:
            return "lib"
        if parts[0] == "arch":
            return "arch contract" if "include" in parts else "arch"
        return parts[0] if len(parts) > 1 else None

    def is_pure_sched(self, file: Path) -> bool:
        return not str(file.relative_to(self.kernel)).startswith(SCHED_ENGINE)


def problem_of(tree: Tree, importer: Path, imported: Path) -> str | None:
    above, below = tree.room(importer), tree.room(imported)
    if above is None or below is None or above == below:
        return None
    if above not in HEIGHT or below not in HEIGHT:
        return f"room {above if above not in HEIGHT else below} is not in the order of rooms"
    if below == "platform" and above != "boot":
        return "only boot may use platform"
    if above == "sched" and tree.is_pure_sched(importer) and below != "lib":
        return f"a policy may import only lib and sched, this is {below}"
    if HEIGHT[below] > HEIGHT[above]:
        return f"{above} may not import {below}, which stands above it"
    return None


def main() -> int:
    if len(sys.argv) not in (2, 4):
        print(__doc__, file=sys.stderr)
        return 2
    tree = Tree(Path(sys.argv[1]).resolve())
    wrong: list[str] = []
    edges: dict[tuple[str, str], int] = {}
    for folder in (tree.kernel, tree.root / "lib"):
        for file in sorted(folder.rglob("*")):
            if file.suffix not in (".h", ".cpp", ".S") or "tools" in file.relative_to(folder).parts:
                continue
            text = file.read_text(encoding="utf-8")
            for match in INCLUDE.finditer(text):
                if match[1].startswith(GENERATED):
                    continue
                imported = tree.resolve(match[1], file)
                line = text.count("\n", 0, match.start(1)) + 1
                place = f"{file.relative_to(tree.root)}:{line}"
                if imported is None:
                    wrong.append(f'{place}: "{match[1]}" is not in this repository')
                    continue
                if problem := problem_of(tree, file, imported):
                    wrong.append(f'{place}: "{match[1]}": {problem}')
                pair = (tree.room(file) or "?", tree.room(imported) or "?")
                if pair[0] != pair[1]:
                    edges[pair] = edges.get(pair, 0) + 1
    if len(sys.argv) == 4 and sys.argv[2] == "--dot":
        lines = [f'  "{a}" -> "{b}" [label={n}];' for (a, b), n in sorted(edges.items())]
        Path(sys.argv[3]).write_text("digraph rooms {\n" + "\n".join(lines) + "\n}\n", encoding="utf-8")
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
