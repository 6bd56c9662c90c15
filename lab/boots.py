"""`corral boots`: boots again and again, and counts.

A boot passes when the shell answers and reports every core. By default cores run
truly in parallel (a new interleaving each time), if wanted beside other load;
with seeds each boot is another deterministic interleaving, which
`corral run --seed N` repeats exactly. The guest's last words of every failure
are kept.
"""

from __future__ import annotations

import json
import multiprocessing
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from lab import build, guest, packages, paths
from lab.machine import check_cores
from lab.options import Parser, numbers, positive, seconds
from lab.progress import Progress

COUNT_CORES = "grep -c ^processor /proc/cpuinfo"
PATIENCE_SECONDS = 120.0


@dataclass(frozen=True)
class Series:
    """All boots with one number of cores; `failed` has their numbers, or seeds."""

    cores: int
    kind: str
    count: int
    passed: int
    failed: list[int]
    seconds: float


def declare(parser: Parser) -> None:
    parser.add_argument("--count", type=positive, default=100, metavar="N", help="boots per number of cores (100)")
    parser.add_argument("--cores", type=numbers, default=[1, 2, 4, 8], metavar="LIST", help="default 1,2,4,8")
    parser.add_argument("--seeds", type=numbers, metavar="LIST",
                        help="deterministic boots with these seeds, such as 1-1000, instead of --count")
    parser.add_argument("--busy", type=positive, metavar="N", help="keep N processes of the host busy meanwhile")
    parser.add_argument("--patience", type=seconds, default=PATIENCE_SECONDS, metavar="S",
                        help=f"a boot that needs longer has failed ({PATIENCE_SECONDS:g})")


def once(cores: int, patience: float) -> str:
    """One boot to the prompt; why it failed, or ""."""
    with guest.corral(cores, patience=patience) as machine:
        try:
            machine.prompt()
            answer = machine.run(COUNT_CORES)
        except AssertionError as error:
            return str(error)
        if answer.output.strip() != str(cores):
            return f"reported {answer.output.strip()} cores instead of {cores}\n{machine.said()}"
    return ""


def once_seeded(cores: int, seed: int, patience: float) -> str:
    """One deterministic boot of a program (typing would depend on the host's time); why it failed, or ""."""
    program = ["sh", "-c", COUNT_CORES]
    with guest.corral(cores, program=program, options="quiet", seed=seed, patience=patience) as machine:
        try:
            end = machine.ended()
        except AssertionError as error:
            return str(error)
        if end.status != 0:
            return f"status {end.status} {end.message}\n{machine.said()}"
        if str(cores) not in machine.text.split():
            return f"did not report {cores} cores\n{machine.said()}"
    return ""


def _spin() -> None:
    while True:
        pass


@contextmanager
def _load(processes: int) -> Iterator[None]:
    workers = [multiprocessing.Process(target=_spin, daemon=True) for _ in range(processes)]
    for worker in workers:
        worker.start()
    try:
        yield
    finally:
        for worker in workers:
            worker.kill()
            worker.join()


def execute(values: Namespace, _: list[str]) -> int:
    for cores in values.cores:
        check_cores(cores, "qemu")
    packages.ensure(["build", "qemu"], yes=values.yes)
    build.build_system(verbose=values.verbose)
    record: list[Series] = []
    with _load(values.busy or 0):
        for cores in values.cores:
            record.append(_series(values, cores))
    name = "boots-seeded" if values.seeds else "boots"
    file = paths.RESULTS / f"{name}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"busy": values.busy or 0, "series": [asdict(series) for series in record]}, indent=1) + "\n", encoding="utf-8")
    passed = sum(series.passed for series in record)
    failed = sum(len(series.failed) for series in record)
    print(f"Recorded in {paths.shown(file)}.")
    print(f"{passed} passed, {failed} failed")
    return 0 if failed == 0 else 1


def _series(values: Namespace, cores: int) -> Series:
    numbered = values.seeds or list(range(1, values.count + 1))
    failed: list[int] = []
    begin = time.monotonic()
    progress = Progress(f"{len(numbered)} boots, {cores} core{'s' if cores > 1 else ''}")
    for done, number in enumerate(numbered):
        progress.step(f"{done - len(failed)} passed, {len(failed)} failed")
        if values.seeds:
            reason = once_seeded(cores, number, values.patience)
        else:
            reason = once(cores, values.patience)
        if reason:
            failed.append(number)
            _keep(cores, number, reason)
    passed = len(numbered) - len(failed)
    progress.done(f"{passed} passed, {len(failed)} failed")
    kind = "seeds" if values.seeds else "boots"
    return Series(cores, kind, len(numbered), passed, failed, round(time.monotonic() - begin, 1))


def _keep(cores: int, number: int, reason: str) -> Path:
    file = paths.BUILD / "boots" / f"failed-{cores}-cores-{number}.txt"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(reason + "\n", encoding="utf-8")
    return file
