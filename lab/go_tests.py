"""Go's own tests of its standard library as programs for the guest: static binaries that `go test -c` makes of Debian's Go.

What is left out, and why, is in EXCLUDED and nowhere else; docs/programs.md shows it (lab/programs.py).
"""

from __future__ import annotations

import functools
import os
import subprocess
import zipfile
from pathlib import Path

from lab import files, paths
from lab.problem import Problem
from lab.progress import Progress

ROOT = Path("/usr/lib/go-1.19")  # Debian's package golang-1.19-go
SOURCE = Path("/usr/share/go-1.19/src")  # and golang-1.19-src
ZONES = Path("/usr/share/zoneinfo")
BUILD = paths.BUILD / "go"
TIME = "lib/time"  # below Go's root; Debian has nothing there

PACKAGES = ("sync", "sync/atomic", "time", "context", "os/signal", "runtime", "syscall", "os", "os/exec")

_NAMESPACES = "namespaces"
EXCLUDED: dict[str, dict[str, str]] = {
    "time": {"TestLoadLocationFromTZData": "fails on Linux too, with today's table of time zones"},
    "runtime": {"TestAtomicAlignment": "needs the compiler's own files"},
    "syscall": {
        "TestUnshareMountNameSpace": _NAMESPACES,
        "TestUnshareMountNameSpaceChroot": _NAMESPACES,
        "TestSetuidEtc": "other users than root",
        "TestDeathSignal": "other users than root",
    },
}

# With this set, the tests that would call the compiler skip themselves.
ENVIRONMENT = {"GO_GCFLAGS": "-N", "GOROOT": str(ROOT), "HOME": "/tmp"}


def binary(package: str) -> Path:
    return BUILD / "tests" / (package.replace("/", "_") + ".test")


def folders() -> dict[str, Path]:
    """What the guest mounts: by its place there."""
    return {str(ROOT / "src"): SOURCE, str(ROOT / TIME): BUILD / "root" / TIME, "/tests-of-go": BUILD / "tests"}


@files.exclusive(BUILD)
def build() -> None:
    """Makes the binaries that are not there yet, and the archive of time zones that some look at."""
    lacking = [package for package in PACKAGES if not binary(package).is_file()]
    zones = BUILD / "root" / TIME / "zoneinfo.zip"
    if not zones.is_file():
        _pack_zones(zones)
    if not lacking:
        return
    progress = Progress("Compiling Go's tests")
    environment = os.environ | {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": "", "GOROOT": str(ROOT),
                                "GOCACHE": str(BUILD / "cache"), "GOPATH": str(BUILD / "path")}  # fmt: skip
    for package in lacking:
        progress.step(package)
        target = binary(package)
        target.parent.mkdir(parents=True, exist_ok=True)
        ended = subprocess.run([str(ROOT / "bin/go"), "test", "-c", "-o", str(target), package], cwd=SOURCE, env=environment,
                               stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)  # fmt: skip
        if ended.returncode != 0 or not target.is_file():
            raise Problem(f"Go could not compile the tests of {package}: {ended.stderr.strip()[-400:]}",
                          f"rm -r {paths.shown(BUILD)} and try again")  # fmt: skip
    progress.done()


def _pack_zones(target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for file in sorted(ZONES.rglob("*")):
            name = str(file.relative_to(ZONES))
            if file.is_file() and not name.startswith(("posix/", "right/", "localtime")):
                archive.write(file.resolve(), name)


@functools.cache
def names(package: str) -> list[str]:
    """The tests and examples of a package that are run."""
    environment = os.environ | ENVIRONMENT | {"GOROOT": str(BUILD / "root")}
    listed = subprocess.run([str(binary(package)), "-test.list", "."], cwd=SOURCE / package, env=environment,
                            capture_output=True, text=True, check=True).stdout.split()  # fmt: skip
    unknown = set(EXCLUDED.get(package, {})) - set(listed)
    if unknown:
        raise ValueError(f"{package} has no {sorted(unknown)}")
    return [name for name in listed if name not in EXCLUDED.get(package, {}) and not name.startswith("Benchmark")]
