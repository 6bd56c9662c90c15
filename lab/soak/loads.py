"""What a soak lets run. Each load draws commands of its kind, and says what every one of them must show when all went well."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random

from lab import paths
from lab.soak import go_load


@dataclass(frozen=True)
class Load:
    """A kind of programs that are let run.

    `draw`: a command of the guest's shell that takes about so many seconds on an idle machine; it ends with status 0.
    `shows`: a regular expression that its output must contain. `files`: what it needs of the host's files, by their
    names below /host; asked once, and may build them. `prefix`: it may run as another class or with another priority.
    `late`: what it says when its time was over before it had begun, which is no failure.
    """

    name: str
    what: str
    draw: Callable[[Random, int], str]
    shows: str
    files: Callable[[], dict[str, Path]] = dict
    debian: bool = False  # among programs of Debian
    go: bool = False  # needs Debian's Go
    prefix: bool = False
    late: str = ""

    def went_well(self, status: int, output: str) -> bool:
        if self.late and re.search(self.late, output):
            return True
        return status == 0 and re.search(self.shows, output) is not None


HACKBENCH_WAYS = ("-p", "", "-T -p", "-T")  # processes, threads; pipes, socket pairs
HACKBENCH_MESSAGES = 3000  # of each way in a second


def _hackbench(chance: Random, seconds: int) -> str:
    said = []
    for way in chance.choices(HACKBENCH_WAYS, k=len(HACKBENCH_WAYS)):
        groups, pairs = chance.randint(1, 5), chance.randint(2, 12)
        loops = max(1, HACKBENCH_MESSAGES * seconds // (groups * pairs * pairs))
        said.append(f"hackbench {way} -g {groups} -f {pairs} -l {loops}")
    return " && ".join(said)


STRESS_NG_SECONDS = 10  # at least, as some of its stressors do wrong when their time is over before they have run
STRESSORS = ("cpu", "futex", "pthread", "fork", "pipe", "switch", "mmap", "vm", "sem", "signal")


def stress_ng(workers: Mapping[str, int], seconds: int) -> str:
    """The command that lets so many of each stressor run."""
    return (f"stress-ng {' '.join(f'--{name} {count}' for name, count in workers.items())} --vm-bytes 32M --mmap-bytes 32M "
            f"--verify -t {seconds}")


def _stress_ng(chance: Random, seconds: int) -> str:
    names = chance.sample(STRESSORS, chance.randint(1, len(STRESSORS)))
    return stress_ng({name: chance.randint(1, 2) for name in names}, max(seconds, STRESS_NG_SECONDS))


# How much a probe does is told, and summed up by the soak; that it did nothing is no failure. Beside a load of real-time threads and
# on few cores it may have none of a core for as long as it runs.
def _probe(name: str, program: str, what: str, shows: str) -> Load:
    return Load(name, what, lambda _, seconds: f"/host/{program} {seconds}", shows,
                files=lambda: {program: paths.USER_BUILD / "probes" / program}, prefix=True)


LOADS = {load.name: load for load in (
    Load("hackbench", "Debian's hackbench: processes and threads, pipes and socket pairs, up to 120 at once", _hackbench,
         r"(?s)(Time: [0-9.]+.*){4}", debian=True, prefix=True),
    Load("stress-ng", f"Debian's stress-ng with --verify: some of {', '.join(STRESSORS)}, at the same time", _stress_ng,
         "successful run completed", debian=True, late=r"(?s)sem: could not create any pthreads.*\] successful run completed"),
    Load("go", "some of Go's own tests of its standard library", go_load.draw, r"(?m)^PASS$", files=go_load.files, go=True),
    _probe("wake-ups", "wakepairs", "futex waits and wakes with numbers that show a lost one", r"wakepairs: \d+ pairs"),
    _probe("unmaps", "stalepages", "pages that are unmapped while other cores use them",
           r"stalepages: \d+ unmaps.* 0 stale hits"),
    _probe("lifecycles", "lifecycles", "processes and threads that are created and end in every way",
           r"lifecycles: \d+ processes, \d+ threads"),
)}  # fmt: skip
