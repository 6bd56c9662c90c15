"""What a point's figures depend on beside its key: what was built, who measures (our own Python), the emulator, and what others made.

A file of results holds those of one origin only (lab/sweep/store.py), and a worker of a cluster measures only with the sweep's.
Each part has a name that stays when there is another one of it.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from lab import bochs, linux, paths, qemu
from lab.bench import host, latency, load, operations
from lab.bench.main import BENCHES
from lab.sweep.points import Point

MEASURES = "lab/sweep/measure.py"
# They only tell, draw, judge or install: no figure depends on them, nor on what they import.
ASIDE = frozenset(f"lab/{name}.py" for name in (
    "bench/balance_plot", "bench/beside", "bench/mandelbrot_published", "bench/matrix_published", "bench/plot", "bench/table", "build", "options",
    "packages", "paths", "problem", "progress"))  # fmt: skip
# By bench, what it brings into the guest that is not built here.
BROUGHT: Mapping[str, Callable[[], Mapping[str, bytes]]] = {
    "load": lambda: load.programs(frozenset(one.program for one in load.LOADS)),
    "latency": lambda: latency.files(latency.CASES),
    "operations": operations.files,
}
MACHINE = ("processor", "cores", "system")  # of the host's facts, what wall times depend on


def digests(points: Sequence[Point]) -> dict[str, str]:
    """Of all that the points depend on, by name. Fetches what is to be brought into guests."""
    found = host.digests(products(points))
    for point in points:
        found |= _sources(module(point))
    guests = [point for point in points if "simulate" not in point.defined]
    for name in sorted({"bochs" if point.instrument == "bochs" else qemu.PROGRAM for point in guests}):
        found |= _emulator(name)
    if any(point.system == "linux" for point in guests):
        found |= {"Linux kernel": host.digest(linux.kernel()), str(linux.BUSYBOX): host.digest(linux.BUSYBOX)}
    for name in sorted({str(point.defined["bench"]) for point in guests if "bench" in point.defined} & BROUGHT.keys()):
        found[f"set of programs for bench {name}"] = _together(BROUGHT[name]())
    for name in sorted({str(point.defined["program"]).split()[0] for point in guests if "program" in point.defined}):
        if "/" in name and Path(name).is_file():
            found[name] = host.digest(Path(name))
    if any(point.noisy for point in points):
        found |= {f"host's {name}": host.facts().get(name, "") for name in MACHINE}
    return found


def products(points: Sequence[Point]) -> list[Path]:
    """The files that were built here."""
    simulated = {"simulate" in point.defined for point in points}
    files = [paths.SIMULATOR] if True in simulated else []
    return [*files, paths.KERNEL_ELF, paths.INITRAMFS] if False in simulated else files


def module(point: Point) -> str:
    """Whose code measures it, by its path from the root of the tree."""
    if "simulate" in point.defined:
        return "lab/simulate.py"
    if "program" in point.defined:
        return "lab/bench/systems.py"
    return f"{BENCHES[point.defined['bench']].at.__module__.replace('.', '/')}.py"


@functools.cache
def sources(first: str) -> frozenset[str]:
    """This file and all of ours that it imports, and they import, but ASIDE."""
    found = {first}
    waiting = [first]
    while waiting:
        new = _imported(paths.ROOT / waiting.pop()) - found - ASIDE
        found |= new
        waiting += new
    return frozenset(found)


def _imported(file: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    ours = {f"{name.replace('.', '/')}.py" for name in names if name.startswith("lab.")}
    return {name for name in ours if (paths.ROOT / name).is_file()}


@functools.cache
def _sources(first: str) -> Mapping[str, str]:
    """As they were when they were first looked at: what was loaded does not change with the file."""
    return host.digests(paths.ROOT / name for name in sorted(sources(first) | {MEASURES}))


@functools.cache
def _emulator(name: str) -> Mapping[str, str]:
    """Of the program that is started under this name; Bochs has its firmware beside it."""
    found = shutil.which(name)
    files = {name: Path(found)} if found else {}
    files |= {one: Path(one) for one in (bochs.BIOS, bochs.VGA_BIOS) if name == "bochs"}
    return {one: host.digest(file) for one, file in files.items() if file.is_file()}


def _together(files: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256()
    for name, data in sorted(files.items()):
        digest.update(f"{name} {len(data)}\n".encode() + data)
    return digest.hexdigest()[:16]


def different(wanted: Mapping[str, str], here: Iterable[tuple[str, str]], most: int = 5) -> str:
    """The names under which `here` has something else than `wanted`, as a person reads them; "": none."""
    names = [name for name, digest in here if wanted.get(name) != digest]
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
