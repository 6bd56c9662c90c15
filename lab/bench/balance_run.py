"""One boot of the bench `balance`: every load with every seed, on Corral or on Linux, under the cache model.

Both systems run the same script with the same static program, which marks its region for the model by itself. On Corral all is done
once more with the trace on, for the time that cores idled beside waiting threads: records are memory, so what is counted in caches
comes from the runs without it.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from lab import cache_model, guest
from lab.bench import failures, systems, timed
from lab.machine import Boot, Folder, Machine
from lab.problem import Problem
from lab.trace import records, waste

PROGRAM = "balance"
MACHINE_SEED = 1
PATIENCE_SECONDS = 1800.0
TAG = "corral-balance"
EVENTS = ("instructions", "refills", "l2_refills", "snoops")


@dataclass(frozen=True)
class Load:
    """Threads that add up a section of the array, again and again, and sleep in between."""

    name: str
    threads: int
    section_kib: int
    rounds: int
    sleep_us: int

    def words(self, seed: int) -> str:
        return f"{self.threads} section {self.section_kib} rounds {self.rounds} sleep {self.sleep_us} seed {seed}"


@dataclass(frozen=True)
class Runs:
    """What one boot is to do; `options` are for Corral's kernel."""

    system: str
    cores: int
    loads: tuple[Load, ...]
    seeds: tuple[int, ...]
    model: str  # parameters of lab/plugin/
    options: str = ""

    @property
    def points(self) -> list[tuple[Load, int]]:
        return [(load, seed) for load in self.loads for seed in self.seeds]


@dataclass(frozen=True)
class Found:
    """Of one run of the program: what it said and what the model counted, by metric; the checksum of its sums."""

    load: Load
    seed: int
    metrics: dict[str, float]
    checksum: str


def script(runs: Runs) -> str:
    lines = [f"/host/{PROGRAM} {load.words(seed)} || echo FAILED" for load, seed in runs.points]
    if runs.system == "corral":
        lines += [f"corral-trace -e switch,wake,migrate /tmp/{number} /host/{PROGRAM} {load.words(seed)} || echo FAILED"
                  for number, (load, seed) in enumerate(runs.points)]
        # The host answers when it likes, so it is not asked before everything is measured.
        lines += [f"mkdir /tmp/left && mount -t 9p -o trans=virtio {TAG} /tmp/left || echo FAILED"]
        lines += [f"cp /tmp/{number} /tmp/left/{number} || echo FAILED" for number in range(len(runs.points))]
    return "\n".join(lines)


def metrics(said: dict[str, str], counted: cache_model.Report) -> dict[str, float]:
    told = {name: float(value) for name, value in said.items() if name != "checksum"}
    return told | {f"{event}.{mode}": float(counted.total(mode, event)) for event in EVENTS for mode in cache_model.MODES}


def once(runs: Runs) -> list[Found]:
    with tempfile.TemporaryDirectory(prefix="corral-balance-") as name:
        work = Path(name)
        report, left = work / "report", work / "left"
        left.mkdir()
        text = _said(runs, work, report, left)
        reports = cache_model.read(report)[:-1]  # the last one is of the end
        lines = timed.said(PROGRAM, text)
        times = 2 if runs.system == "corral" else 1
        if "FAILED" in text or not len(lines) == len(reports) == times * len(runs.points):
            raise Problem(f"{runs.system} with {runs.cores} cores ({runs.options}): the program did not end well",
                          f"its output: {text[-800:]}")
        found = [Found(load, seed, metrics(said, counted), said["checksum"])
                 for (load, seed), said, counted in zip(runs.points, lines, reports)]
        if runs.system == "corral":
            for number, one in enumerate(found):
                wasted = waste.idle_beside_waiting(records.read(left / str(number)), runs.cores)
                one.metrics["wasted_us"] = round(wasted / 1000, 1)
        return found


def _said(runs: Runs, work: Path, report: Path, left: Path) -> str:
    job = systems.Job(script(runs), {PROGRAM: systems.program(PROGRAM)}, runs.options)
    made = systems.parts(runs.system, "qemu", job, work)
    machine = Machine(runs.cores, seed=MACHINE_SEED, plugin=cache_model.plugin(runs.model, report, seeded=True),
                      folders=(Folder(TAG, left),) if runs.system == "corral" else ())
    with failures.of_guest(f"{runs.system} with {runs.cores} cores ({runs.options})"), \
            guest.Guest(machine, Boot(made.kernel, made.initramfs, made.line), patience=PATIENCE_SECONDS) as running:
        running.ended()
        return running.text.replace("\r\n", "\n")
