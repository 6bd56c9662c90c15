"""What a figure depends on besides the command: the machine it was measured on, and which Corral."""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from lab import paths


def _first_line(*command: str) -> str:
    if shutil.which(command[0]) is None:
        return ""
    done = subprocess.run(command, cwd=paths.ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return next(iter(done.stdout.splitlines()), "").strip() if done.returncode == 0 else ""


def _processor() -> str:
    found = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found else platform.machine()


def commit() -> str:
    """Of this tree, with a + when it was changed since; "": it is no repository."""
    name = _first_line("git", "rev-parse", "--short=12", "HEAD")
    return name + ("+" if name and _first_line("git", "status", "--porcelain") else "")


@functools.cache
def facts() -> dict[str, str]:
    """In words; what is not there is left out."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    known = {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": f"{memory} MiB",
        "system": f"{platform.system()} {platform.release()}",
        "qemu": _first_line("qemu-system-x86_64", "--version"),
        "corral": commit(),
    }
    return {name: fact for name, fact in known.items() if fact}


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16]


def digests(files: Iterable[Path]) -> dict[str, str]:
    """By the name from the root of the tree: what stands in the file."""
    return {str(file.relative_to(paths.ROOT)): digest(file) for file in files}
