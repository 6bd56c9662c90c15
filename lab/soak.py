"""`corral soak`: one load for minutes or hours on many cores, and whether everything is as before afterwards.

A load is run in rounds until its time is over. Each round must show what it shows when all went well, within a time that
only a guest that hangs exceeds. Memory is looked at before the first round, after it (caches are full then) and after
the last one, when everything rests: pages in use besides those of the kernel's heap, of files, and of the shell that
started it all (which remembers what was typed) must be the same to the page, and so must the heap's objects. No
scheduler may have been corrected. The guest's last words of a failure are kept.
"""

from __future__ import annotations

import json
import re
import time
from argparse import Namespace
from dataclasses import asdict, dataclass, field
from pathlib import Path

from lab import build, debian, guest, options, packages, paths
from lab.machine import check_cores, memory_mib
from lab.options import Parser, positive
from lab.problem import Problem
from lab.progress import Progress

REST_SECONDS = 2
PATIENCE_SECONDS = 1800.0
NUMBERS = ("MemFree", "Cached", "Slab")  # of /proc/meminfo, in KiB
SHELL = ("VmRSS", "VmPTE")  # of the shell, in KiB
PAGE_KIB = 4
COUNTS = re.compile(r"^(?:wakepairs|stalepages|lifecycles): .*", re.MULTILINE)
COUNT = re.compile(r"(\d+) (pairs|unmaps|processes|threads)\b")


@dataclass(frozen=True)
class Load:
    """`command` for one round of {seconds}; `shows`: regular expressions that its output must contain."""

    name: str
    command: str
    shows: tuple[str, ...]
    what: str
    debian: bool = True


STRESSORS = ("cpu", "futex", "pthread", "fork", "pipe", "switch", "mmap", "vm", "sem", "signal")
LOADS = {load.name: load for load in (
    Load("hackbench", "for how in '-p' '' '-T -p' '-T'; do hackbench $how -g 4 -f 10 -l 100; done 2>&1",
         (r"(?s)(Time: [0-9.]+.*){4}",), "Debian's hackbench: processes and threads, pipes and socket pairs, 80 at once"),
    Load("stress-ng", f"stress-ng {' '.join(f'--{name} 1' for name in STRESSORS)} --vm-bytes 32M --mmap-bytes 32M "
         "--verify -t {seconds} 2>&1", ("successful run completed",),
         f"Debian's stress-ng with --verify: {', '.join(STRESSORS)}, at the same time"),
    Load("wake-ups", "/probes/wakepairs {seconds} 2>&1", (r"wakepairs: [1-9]\d* pairs",),
         "futex waits and wakes with numbers that show a lost one", debian=False),
    Load("unmaps", "/probes/stalepages {seconds} 2>&1", (r"stalepages: [1-9]\d* unmaps.* 0 stale hits",),
         "pages that are unmapped while other cores use them", debian=False),
    Load("lifecycles", "/probes/lifecycles {seconds} 2>&1", (r"lifecycles: [1-9]\d* processes, [1-9]\d* threads",),
         "processes and threads that are created and end in every way", debian=False),
)}  # fmt: skip


@dataclass
class Record:
    """What was done and found. Memory: at the prompt, after the first round, at the end; KiB, but for objects."""

    load: str
    cores: int
    rounds: int = 0
    seconds: float = 0.0
    counted: dict[str, int] = field(default_factory=dict)
    memory: list[dict[str, int]] = field(default_factory=list)
    violations: int = 0
    failure: str = ""

    def lost_pages(self) -> int:
        """Pages in use at the end and not after the first round, besides the heap's, the shell's and those of files."""
        first, last = (sum(self.memory[at][name] for name in (*NUMBERS, *SHELL)) for at in (1, -1))
        return (first - last) // PAGE_KIB


def declare(parser: Parser) -> None:
    parser.add_argument("load", nargs="*", metavar="LOAD",
                        help="; ".join(f"{load.name}: {load.what}" for load in LOADS.values()))
    parser.add_argument("--minutes", type=options.seconds, default=10.0, metavar="N", help="for each load (default 10)")
    parser.add_argument("--round", type=positive, default=60, metavar="S",
                        help="seconds of a round, where the load has a choice (default 60)")
    parser.add_argument("--cores", type=positive, default=8, metavar="N", help="number of cores (default 8)")
    parser.add_argument("--memory", default="1G", metavar="SIZE", help="such as 512M or 2G (default 1G)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the records there as well")


def numbers(machine: guest.Guest) -> dict[str, int]:
    """Memory in use, when everything has come to rest."""
    text = machine.run(f"sleep {REST_SECONDS}; cat /proc/meminfo /proc/heap; grep Vm /proc/$$/status").output
    found = {name: int(value) for name, value in re.findall(r"^(\w+):?\s+(\d+)", text, re.MULTILINE)}
    missing = [name for name in (*NUMBERS, *SHELL, "objects") if name not in found]
    if missing:
        raise Problem(f"the guest tells no {', '.join(missing)}:\n{text[-1000:]}")
    return {name: found[name] for name in (*NUMBERS, *SHELL, "objects")}


def violations(text: str) -> int:
    """How often a scheduling policy had to be corrected, or an invariant was violated: /proc/sched."""
    between_cores = re.findall(r"^(?:placement violations|migration violations|invariants violated) (\d+)", text, re.MULTILINE)
    return sum(map(int, between_cores)) + sum(int(line.split()[-1]) for line in text.splitlines()
                                                 if re.match(r" *\d+ +\w+ ", line))


def soak(load: Load, machine: guest.Guest, record: Record, minutes: float, round_seconds: int) -> None:
    """Until the time is over, or something is wrong (`record.failure`)."""
    progress = Progress(f"Soaking {load.name}, {record.cores} cores, {minutes:g} minutes")
    record.memory.append(numbers(machine))
    begin = time.monotonic()
    end = begin + 60 * minutes
    while record.rounds == 0 or time.monotonic() < end:
        left = max(1, int(end - time.monotonic()))
        answer = machine.run(load.command.format(seconds=min(round_seconds, left)))
        record.rounds += 1
        wrong = [shown for shown in load.shows if not re.search(shown, answer.output)]
        if answer.status != 0 or wrong:
            record.failure = f"round {record.rounds}: status {answer.status}\n{answer.output[-3000:]}"
            break
        for count, what in COUNT.findall("\n".join(COUNTS.findall(answer.output))):
            record.counted[what] = record.counted.get(what, 0) + int(count)
        if record.rounds == 1:
            record.memory.append(numbers(machine))
        progress.step(f"{record.rounds} rounds, {time.monotonic() - begin:.0f} s")
    record.seconds = round(time.monotonic() - begin, 1)
    record.memory.append(numbers(machine))
    record.violations = violations(machine.run("cat /proc/sched").output)
    if record.violations:
        machine.run("cat /proc/sched-dump")  # to be kept with its last words
    if not record.failure:
        record.failure = judged(record)
    if record.failure:
        progress.failed()
    else:
        progress.done(f"{record.rounds} rounds")


def judged(record: Record) -> str:
    """What is not as it was; "" when all is well."""
    found = []
    if record.lost_pages() > 0:
        found.append(f"{record.lost_pages()} pages more are in use")
    more = record.memory[-1]["objects"] - record.memory[1]["objects"]
    if more > 0:
        found.append(f"{more} objects more are in the heap")
    if record.violations:
        found.append(f"{record.violations} scheduling decisions had to be corrected")
    return "; ".join(found)


def run(load: Load, cores: int, memory: int, minutes: float, round_seconds: int) -> Record:
    record = Record(load.name, cores)
    initramfs = debian.initramfs() if load.debian else paths.INITRAMFS
    with guest.corral(cores, initramfs=initramfs, options="quiet", memory_mib=memory,
                      patience=PATIENCE_SECONDS, invariants_hold=False) as machine:  # counted
        try:
            machine.prompt()
            soak(load, machine, record, minutes, round_seconds)
        except AssertionError as error:
            record.failure = str(error)
        if record.failure:
            kept = paths.BUILD / "soak" / f"failed-{load.name}.txt"
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(f"{record.failure}\n{machine.said()}\n", encoding="utf-8")
    return record


def table(records: list[Record]) -> str:
    lines = ["load        cores  rounds  seconds  lost pages  objects  heap KiB  result"]
    for record in records:
        changes = ["-", "-", "-"]
        if len(record.memory) > 2:
            first, last = record.memory[1], record.memory[-1]
            changes = [str(record.lost_pages()), f"{last['objects'] - first['objects']:+}", f"{last['Slab'] - first['Slab']:+}"]
        counted = ", ".join(f"{count} {what}" for what, count in record.counted.items())
        verdict = "FAILED" if record.failure else counted or "ok"
        lines.append(f"{record.load:<10}  {record.cores:5}  {record.rounds:6}  {record.seconds:7.0f}  {changes[0]:>10}  "
                     f"{changes[1]:>7}  {changes[2]:>8}  {verdict}")
    return "\n".join(lines)


def execute(values: Namespace, _: list[str]) -> int:
    loads = [LOADS[options.choose(name, list(LOADS), "load")] for name in values.load] or [LOADS["hackbench"], LOADS["stress-ng"]]
    check_cores(values.cores, "qemu")
    memory = memory_mib(values.memory)
    packages.ensure(["build", "qemu"], yes=values.yes)
    build.build_system(verbose=values.verbose)
    records = []
    for load in loads:
        records.append(run(load, values.cores, memory, values.minutes, values.round))
    text = json.dumps([asdict(record) for record in records], indent=1) + "\n"
    for file in (paths.RESULTS / "soak.json", values.json):
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    print(table(records))
    for record in records:
        if record.failure:
            print(f"{record.load}: {record.failure.splitlines()[0]}; its last words: "
                  f"{paths.shown(paths.BUILD / 'soak' / f'failed-{record.load}.txt')}")
    print(f"Recorded in {paths.shown(paths.RESULTS / 'soak.json')}.")
    return 1 if any(record.failure for record in records) else 0
