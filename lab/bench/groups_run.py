"""One boot of the bench `groups`: points that differ in their groups alone follow each other, on Corral or, without groups, on Linux.

Starting 32 cores under the cache model takes longer than many a point does. The first run of a boot is not measured: in memory that nobody
has used yet it takes a seventh longer than after others (docs/results/groups.md). A point in such a row repeats with the row; by itself
it differs from that by as much as with another seed.
"""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from lab import cache_model, guest
from lab.bench import failures, load, systems
from lab.bench.groups_point import CACHES, COUNTED, Point
from lab.machine import Boot, Machine
from lab.problem import Problem

MACHINE_SEED = 1  # the programs' own are 1, 2, 3, ...
UNMEASURED_SEED = 1_000_000
MEMORY_MIB = 1024
MODEL = "l1=16K:4,l1lat=10,l2lat=100,quantum=2000,clock=parallel"
PATIENCE_OF_POINT = 3000.0
SYSBENCH = load.BY_NAME["threads"]
SYSBENCH_WORDS = "threads --threads={threads} --events={threads} --thread-locks=8 --thread-yields=4 --thread-stack-size=64K --time=0 --rand-seed=$seed run"
CLASSES = ("normal", "real-time")
NEXT = "groups: next point"
MOST_TASKS = 40_000  # Linux allows few where memory is little

Figures = dict[str, float]  # of one run, by metric


@dataclass(frozen=True)
class Runs:
    """What one boot is to do. All points have the same tool, threads and caches; those of Linux are ungrouped."""

    system: str
    cores: int
    points: tuple[Point, ...]
    runs: int
    options: str = ""  # of Corral's kernel


def script(runs: Runs) -> str:
    limits = f"echo {MOST_TASKS} > /proc/sys/kernel/threads-max" if runs.system == "linux" else ""
    lines = [limits, "ulimit -u unlimited"]
    seeds = " ".join(map(str, range(1, runs.runs + 1)))
    lines += [*_grouped(runs, runs.points[0]), f"for seed in {UNMEASURED_SEED}; do {_command(runs.points[0])}; done"]
    for point in runs.points:
        lines += [f"echo '{NEXT}'", *_grouped(runs, point), f"for seed in {seeds}; do {_command(point)}; done"]
    return "\n".join(lines)


def _grouped(runs: Runs, point: Point) -> list[str]:
    # Refused while a change is not complete.
    return [f"until echo groups {point.groups} > /proc/sched; do sleep 0.01; done"] if runs.system == "corral" else []


def _command(point: Point) -> str:
    if point.tool == "threadload":
        return f"/host/threadload {point.threads} real-time {point.share} seed $seed || exit 1"
    program = load.call(f"sysbench {SYSBENCH_WORDS.format(threads=point.threads)}")
    return f"/host/corral-region reset; {program} || exit 1; /host/corral-region dump"


def parse(point: Point, said: str) -> list[Figures]:
    """Of each run milliseconds: of each class that has threads until the last one is done, and until one is in the mean; `all` of both."""
    if point.tool == "sysbench":
        return [{"all_ms": 1000.0 * float(told)} for told in load.TIMES["sysbench"].findall(said)]
    runs: list[Figures] = []
    found: Figures = {}
    for of, done, mean in re.findall(r"^threadload: (normal|real-time|all) threads=\d+ (?:made_us=\d+ )?done_us=(\d+)(?: mean_us=(\d+))?$",
                                     said, re.MULTILINE):
        if of == "all":  # the last line of a run; its time is with the ends of the threads
            runs.append(found | {"all_ms": max(found[f"{of}_ms"] for of in CLASSES if f"{of}_ms" in found)})
            found = {}
        else:
            found |= {f"{of}_ms": int(done) / 1000, f"{of}_mean_ms": int(mean) / 1000}
    return runs


def counts(report: cache_model.Report) -> Figures:
    told = {event: float(sum(report.total(mode, event) for mode in cache_model.MODES)) for event in ("refills", "l2_refills")}
    return told | {f"{mode}_instructions": float(report.total(mode, "instructions")) for mode in cache_model.MODES}


def once(runs: Runs) -> list[tuple[Point, Figures]]:
    """Each point as often as it ran."""
    with tempfile.TemporaryDirectory(prefix="corral-groups-") as name:
        work = Path(name)
        said = _said(runs, work, work / "report")
        reports = [report for report in cache_model.read(work / "report") if report.label != cache_model.END][1:]
    parts = said.split(NEXT)[1:]
    found = [(point, figures) for point, part in zip(runs.points, parts) for figures in parse(point, part)]
    if not len(found) == len(reports) == runs.runs * len(runs.points):
        raise Problem(f"{runs.system}, {runs.points[0]} and what followed: the program did not end well", f"its output: {said[-800:]}")
    return [(point, figures | (counts(report) if point.caches in COUNTED else {}))
            for (point, figures), report in zip(found, reports, strict=True)]


def _said(runs: Runs, work: Path, report: Path) -> str:
    first = runs.points[0]
    files = {name: systems.program(name) for name in ("threadload", "corral-region")}
    if first.tool == "sysbench":
        files |= load.programs(frozenset({SYSBENCH.program}))
    made = systems.parts(runs.system, "qemu", systems.Job(script(runs), files, runs.options), work)
    plugin = cache_model.plugin(f"{MODEL},{CACHES[first.caches]}", report, seeded=True)
    machine = Machine(runs.cores, memory_mib=MEMORY_MIB, seed=MACHINE_SEED, plugin=plugin)
    patience = PATIENCE_OF_POINT * len(runs.points)
    with failures.of_guest(f"{runs.system}, {len(runs.points)} points from {first}"), \
            guest.Guest(machine, Boot(made.kernel, made.initramfs, made.line), patience=patience) as running:
        running.ended()
        return running.text.replace("\r\n", "\n")
