"""`corral soak`: loads for minutes on many cores, one kind after the other or mixed, and whether everything is as before.

A soak goes in rounds until its time is over (lab/soak/plan.py). All that it does is drawn from a seed, which is printed.
"""

from __future__ import annotations

import json
import random
import time
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from lab import build, files, options, packages, paths
from lab.bench import host
from lab.machine import check_cores, memory_mib
from lab.options import Parser, positive
from lab.problem import WRONG_USE, Problem
from lab.progress import Progress
from lab.soak import drive, plan, records
from lab.soak.loads import LOADS, Load
from lab.soak.records import Record

MIXED = "mixed"
ROUNDS_PER_MINUTE = 20  # more than any host gets through
LEFT_OUT = ("load", "seed", "json", "record", "total")  # of the command that repeats a run: said otherwise, or no part of it


def declare(parser: Parser) -> None:
    what = "; ".join(f"{load.name}: {load.what}" for load in LOADS.values())
    parser.add_argument("load", nargs="*", metavar="LOAD", help=f"{MIXED}: several at once, while policies change; {what}")
    parser.add_argument("--minutes", type=options.seconds, default=10.0, metavar="N", help="for each load (default 10)")
    parser.add_argument("--round", type=positive, default=10, metavar="S",
                        help="seconds of a load in a round, where it has a choice (default 10)")
    parser.add_argument("--of", type=lambda text: text.split(","), metavar="LIST",
                        help=f"loads that {MIXED} draws from (default: all), such as hackbench,go")
    parser.add_argument("--cores", type=positive, default=8, metavar="N", help="number of cores (default 8)")
    parser.add_argument("--memory", default="2G", metavar="SIZE", help="such as 512M or 2G (default 2G)")
    parser.add_argument("--seed", type=options.seed, metavar="N", help="what is drawn (default: another one each time)")
    parser.add_argument("--deterministic", action="store_true",
                        help="in virtual time, on a machine that does the same again with the same seed")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the records there as well")
    parser.add_argument("--record", type=Path, metavar="FILE", help="append a line of JSON for each run")
    parser.add_argument("--total", type=Path, metavar="FILE", help="run nothing: the sums of what --record has written")


def loads_of(name: str, values: Namespace) -> list[Load]:
    """What a soak of that name draws from; a Problem when there is no such thing."""
    if values.of is not None and name != MIXED:
        raise Problem(f"--of is for {MIXED}, and {name} is one load", "leave it out", WRONG_USE)
    names = values.of or list(LOADS) if name == MIXED else [name]
    return [LOADS[options.choose(one, list(LOADS), "load")] for one in names]


def soak(name: str, loads: Sequence[Load], values: Namespace, seed: int) -> Record:
    for load in loads:
        load.files()  # may build programs that are asked for their tests
    count = int(values.minutes * ROUNDS_PER_MINUTE) + 2
    if name == MIXED:
        rounds = plan.mixed(loads, values.cores, seed, count, values.round)
    else:
        rounds = plan.single(loads[0], seed, count, values.round)
    record = Record(name, values.cores, seed, "deterministic" if values.deterministic else "parallel",
                    time.strftime("%Y-%m-%d %H:%M", time.gmtime()), host.commit(),
                    f"{options.again('soak', declare, values, LEFT_OUT)} {name} --seed {seed}")
    progress = Progress(f"Soaking {name}, {values.cores} cores, {values.minutes:g} minutes, seed {seed}")
    drive.run(rounds, drive.Setting(values.cores, memory_mib(values.memory), values.minutes, seed if values.deterministic else None),
              record, progress.step)
    if record.failure:
        progress.failed()
    else:
        progress.done(f"{record.rounds} rounds")
    return record


def execute(values: Namespace, _: list[str]) -> int:
    if values.total is not None:
        print(records.total(records.read(values.total)))
        return 0
    names = [options.choose(name, [MIXED, *LOADS], "load") for name in values.load] or ["hackbench", "stress-ng"]
    wanted = [(name, loads_of(name, values)) for name in names]
    check_cores(values.cores, "qemu")
    memory_mib(values.memory)
    packages.ensure(["build", "qemu", "debug", *(["go"] if any(load.go for _, loads in wanted for load in loads) else [])], yes=values.yes)
    build.build_system(verbose=values.verbose)
    found = []
    for name, loads in wanted:
        found.append(soak(name, loads, values, values.seed or random.randrange(1, 2**31)))
        if values.record is not None:
            records.append(values.record, found[-1:])
    text = json.dumps([asdict(record) for record in found], indent=1) + "\n"
    for file in (paths.RESULTS / "soak.json", values.json):
        if file is not None:
            files.write(file, text, "--json")
    print(records.table(found))
    for record in found:
        if record.failure:
            print(f"{record.load}: {record.failure}\nIts last words: {paths.shown(drive.kept(record))}\nAgain: {record.again}")
    print(f"Recorded in {paths.shown(paths.RESULTS / 'soak.json')}.")
    return 1 if any(record.failure for record in found) else 0
