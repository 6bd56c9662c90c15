"""Go's tests as a load: a few of one package at a time, among other loads (lab/go_tests.py has the binaries)."""

from __future__ import annotations

from pathlib import Path
from random import Random

from lab import go_tests

PACKAGES = ("sync", "sync/atomic", "time", "context", "os/signal", "runtime", "os", "os/exec")
MOST_TESTS = 12  # at once
ROOT = "/host/go"

_LONG = "takes minutes by itself"
_HASTY = "wants to be done within a second"
_PUNCTUAL = "wants timers to the hundredth of a second, which a busy host does not give"
# Besides what go_tests.EXCLUDED has.
EXCLUDED: dict[str, dict[str, str]] = {
    "sync/atomic": {"TestValueCompareAndSwapConcurrent": _LONG},
    "os": {"TestCloseWithBlockingReadByFd": _HASTY, "TestCloseWithBlockingReadByNewFile": _HASTY},
    "time": {"TestAfterQueuing": _PUNCTUAL, "TestReset": _PUNCTUAL},
    "runtime": {"TestMemmoveOverflow": _LONG, "TestStackGrowth": _LONG},
}


def names(package: str) -> list[str]:
    """The tests that are drawn from."""
    listed = go_tests.names(package)
    unknown = set(EXCLUDED.get(package, {})) - set(listed)
    if unknown:
        raise ValueError(f"{package} has no {sorted(unknown)}")
    return [name for name in listed if name not in EXCLUDED.get(package, {})]


def draw(chance: Random, _: int) -> str:
    """Some tests of one package. They take the time that they take."""
    package = chance.choice(PACKAGES)
    known = names(package)
    chosen = chance.sample(known, min(len(known), chance.randint(2, MOST_TESTS)))
    settings = " ".join(f"{name}={value}" for name, value in {**go_tests.ENVIRONMENT, "GOROOT": ROOT}.items())
    return (f"cd {ROOT}/src/{package} && {settings} {ROOT}/{go_tests.binary(package).name} -test.short -test.timeout 30m "
            f"-test.run '^({'|'.join(chosen)})$'")


def files() -> dict[str, Path]:
    """Binaries, the sources that some tests read, and the time zones: by their names below /host."""
    go_tests.build()
    found = {f"go/{go_tests.binary(package).name}": go_tests.binary(package) for package in PACKAGES}
    zones = go_tests.BUILD / "root" / go_tests.TIME / "zoneinfo.zip"
    found[f"go/{go_tests.TIME}/{zones.name}"] = zones
    for package in PACKAGES:
        for file in sorted((go_tests.SOURCE / package).rglob("*")):
            if file.is_file():
                found[f"go/src/{file.relative_to(go_tests.SOURCE)}"] = file
    return found
