"""A compiler launcher for a copy of the tree: what the original has compiled already of the very same source is copied.

    CMAKE_CXX_COMPILER_LAUNCHER="python3;reuse_object.py;ORIGINAL;COPY"

Right only while the copy's headers and flags are the original's, and the original is built: for a test that adds sources.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path


def reused(original: Path, copy: Path, command: list[str]) -> bool:
    """Whether the command's output was there already, and is in its place now."""
    try:
        source = Path(command[command.index("-c") + 1])
        output = Path(command[command.index("-o") + 1])
        if output.suffix != ".o":
            return False  # a precompiled header is for its own build: it knows where its parts are
        twin = original / source.relative_to(copy)
        kept = original / Path.cwd().relative_to(copy) / output
        if twin.read_bytes() != source.read_bytes():
            return False
        shutil.copyfile(kept, output)
    except (ValueError, IndexError, OSError):
        return False
    if "-MF" in command:
        Path(command[command.index("-MF") + 1]).write_text(f"{output}: {source}\n", encoding="utf-8")
    return True


def main() -> int:
    original, copy = Path(sys.argv[1]), Path(sys.argv[2])
    command = sys.argv[3:]
    return 0 if reused(original, copy, command) else subprocess.call(command)


if __name__ == "__main__":
    sys.exit(main())
