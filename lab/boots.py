"""`corral boots`: boots again and again, and counts.

A boot passes when the shell answers and reports every core. By default cores run
truly in parallel (a new interleaving each time), if wanted beside other load.
With seeds each boot is another deterministic interleaving, of a short program
with several threads or processes; `corral run --seed N` repeats it exactly. The
guest's last words of every failure are kept.
"""

from __future__ import annotations

import json
import shlex
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from lab import build, emulators, files, guest, packages, paths
from lab.machine import check_cores, told_cores
from lab.options import Parser, numbers, positive, seconds
from lab.progress import Progress

COUNT_CORES = "grep -c ^processor /proc/cpuinfo"
PATIENCE_SECONDS = 120.0
MOST_FAILURES = 10  # of a series; then what is left would tell nothing new

# What seeded boots run: a seed chooses one of each. All of them need only moments.
PIPES = "for i in 1 2 3 4; do (echo $i | cat | cat) & done; wait"
DRAWING = "mandelbrot 8 --mode array --size 20x10 --iterations 200"
PROGRAMS = (DRAWING, PIPES, "/tests/musl_pthreads", DRAWING, PIPES, "/tests/affinitytest", DRAWING, "/tests/pipetest",
            PIPES, "/tests/forktest && /tests/execvetest && /tests/waittest", DRAWING,
            "/tests/futextest && /tests/futexqueues && /tests/futexstress")
# Not fifo, which never takes a core away: programs that wait in loops would wait for ever.
ALGORITHMS = ("cfs", "eevdf", "mlfq", "rr", "stride")
# How many stand in a list matters to `seeded`: some stand there more than once.
PLACEMENTS = ("least-loaded", "random", "round-robin", "affinity", "blend", "least-busy", "least-weight", "cache-aware",
              "least-loaded", "resource-aware", "random")
MIGRATIONS = ("pull", "both", "none", "push")
GROUPS = ("none", "affinity-mask", "blocked-migration", "run-queue-entry")
QUEUES = ("per-core", "per-core", "per-core", "global", "per-core", "per-core", "per-core")
WAKES = ("home", "waker", "home")
WITHOUT_GROUPS = ("/tests/affinitytest",)  # want every core for themselves


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
                        help="deterministic boots with these seeds, such as 1-250, instead of --count")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the record there as well")
    parser.add_argument("--busy", type=positive, metavar="N", help="keep N processes of the host busy meanwhile")
    parser.add_argument("--patience", type=seconds, default=PATIENCE_SECONDS, metavar="S",
                        help=f"a boot that needs longer has failed ({PATIENCE_SECONDS:g})")


def once(cores: int, patience: float) -> str:
    """One boot to the prompt; why it failed, or ""."""
    try:
        with guest.corral(cores, patience=patience) as machine:
            machine.prompt()
            answer = machine.run(COUNT_CORES)
            if answer.output.strip() != str(cores):
                return f"reported {answer.output.strip()} cores instead of {cores}\n{machine.said()}"
    except AssertionError as error:
        return str(error)
    return ""


@dataclass(frozen=True)
class Seeded:
    """What a seed runs: all that is chosen by it, besides the interleaving."""

    cores: int
    seed: int
    options: str
    program: list[str]

    def replay(self) -> str:
        """The command that repeats the run."""
        return shlex.join(["./corral", "run", "--cores", str(self.cores), "--seed", str(self.seed),
                           "--append", self.options, "--", *self.program])


def seeded(cores: int, seed: int) -> Seeded:
    # 5, 7, 11 and 192 have no common divisor: of any 73,920 seeds in a row each runs another combination. All groups soon: the
    # next one with each dozen of seeds, another one for the same migration with each four dozens.
    dozen = seed // len(PROGRAMS)
    program = PROGRAMS[seed % len(PROGRAMS)]
    groups = GROUPS[(dozen + dozen // len(MIGRATIONS)) % len(GROUPS)]
    if cores == 1 or program in WITHOUT_GROUPS:
        groups = "none"
    options = (f"sched.algorithm={ALGORITHMS[seed % len(ALGORITHMS)]} "
               f"sched.placement={PLACEMENTS[seed % len(PLACEMENTS)]} "
               f"sched.migration={MIGRATIONS[dozen % len(MIGRATIONS)]} "
               f"sched.groups={groups} "
               f"sched.queues={QUEUES[seed % len(QUEUES)]} "
               f"sched.wakes={WAKES[dozen % len(WAKES)]}")
    return Seeded(cores, seed, options, ["sh", "-c", f"{COUNT_CORES}; {program}"])


def once_seeded(cores: int, seed: int, patience: float) -> str:
    """One deterministic boot of a program (typing would depend on the host's time); why it failed, or ""."""
    run = seeded(cores, seed)
    options = f"quiet {run.options}"
    try:
        with guest.corral(cores, program=run.program, options=options, seed=seed, patience=patience) as machine:
            end = machine.ended()
            if end.status != 0:
                return f"{run.replay()}\nstatus {end.status} {end.message}\n{machine.said()}"
            if machine.text.split()[:1] != [str(cores)]:
                return f"{run.replay()}\ndid not report {cores} cores\n{machine.said()}"
    except AssertionError as error:
        return f"{run.replay()}\n{error}"
    return ""


@contextmanager
def _load(processes: int) -> Iterator[None]:
    """They end with this command, however it ends."""
    workers = [emulators.start(["sh", "-c", "while :; do :; done"]) for _ in range(processes)]
    try:
        yield
    finally:
        for worker in workers:
            emulators.stop(worker)


def execute(values: Namespace, _: list[str]) -> int:
    for cores in values.cores:
        check_cores(cores, "qemu")
    packages.ensure(["build", "qemu"], yes=values.yes)
    build.build_system(verbose=values.verbose)
    record: list[Series] = []
    try:
        with _load(values.busy or 0):
            for cores in values.cores:
                record.append(_series(values, cores))
    finally:  # also after Ctrl-C: what is complete is kept and told
        if record:
            _keep(values, record)
    return 1 if any(series.failed for series in record) else 0


def _keep(values: Namespace, record: list[Series]) -> None:
    name = "boots-seeded" if values.seeds else "boots"
    text = json.dumps({"busy": values.busy or 0, "series": [asdict(series) for series in record]}, indent=1) + "\n"
    for file in (paths.RESULTS / f"{name}.json", values.json):
        if file is not None:
            files.write(file, text, "--json")
    print(table(record))
    for series in record:
        for number in series.failed:
            if values.seeds:
                print(f"Again: {seeded(series.cores, number).replay()}")
            print(f"Its last words: {paths.shown(_kept(series.cores, number))}")
    print(f"Recorded in {paths.shown(paths.RESULTS / f'{name}.json')}.")
    passed = sum(series.passed for series in record)
    failed = sum(len(series.failed) for series in record)
    print(f"{passed} passed, {failed} failed")


def table(record: list[Series]) -> str:
    lines = ["cores  boots  passed  failed  seconds each"]
    for series in record:
        each = series.seconds / max(1, series.count)
        lines.append(f"{series.cores:5}  {series.count:5}  {series.passed:6}  {len(series.failed):6}  {each:12.2f}")
    return "\n".join(lines)


def _series(values: Namespace, cores: int) -> Series:
    numbered = values.seeds or list(range(1, values.count + 1))
    passed = 0
    failed: list[int] = []
    begin = time.monotonic()
    progress = Progress(f"{len(numbered)} boots, {told_cores(cores)}")
    for number in numbered:
        progress.step(f"{passed} passed, {len(failed)} failed")
        if values.seeds:
            reason = once_seeded(cores, number, values.patience)
        else:
            reason = once(cores, values.patience)
        if reason:
            failed.append(number)
            files.write(_kept(cores, number), reason + "\n", "--json")
            if len(failed) == MOST_FAILURES:
                break
        else:
            passed += 1
    progress.done(f"{passed} passed, {len(failed)} failed")
    kind = "seeds" if values.seeds else "boots"
    return Series(cores, kind, passed + len(failed), passed, failed, round(time.monotonic() - begin, 1))


def _kept(cores: int, number: int) -> Path:
    """Where the guest's last words of a failed boot are."""
    return paths.BUILD / "boots" / f"failed-{cores}-cores-{number}.txt"
