"""`corral simulate`: the kernel's scheduling policies on a machine that is only modelled, in virtual time."""

from __future__ import annotations

import itertools
import json
import subprocess
import tempfile
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lab import build, emulators, files, packages, paths
from lab.bench.table import lines
from lab.options import Parser, positive, seed
from lab.problem import WRONG_USE, Problem
from lab.progress import Progress
from lab.trace import records, workload

MOST_CORES = 4096
RECORDINGS = ".records"  # of ./corral trace --events decide
MOST_CORES_SHOWN = 32
Report = Mapping[str, object]


class Policies(NamedTuple):
    algorithm: str = "cfs"
    placement: str = "least-loaded"
    migration: str = "pull"
    groups: str = "none"
    queues: str = "per-core"


def declare(parser: Parser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", 
                        help="a workload: rt-app's JSON (docs/simulation.md); or a recording of ./corral trace: its decisions are made "
                             "again (docs/replay.md), or with any option its threads do the same again as a workload")
    parser.add_argument("--cores", type=positive, default=0, metavar="N",
                        help=f"number of cores, up to {MOST_CORES} (default: as the file says, or 4)")
    parser.add_argument("--algorithm", action="append", default=[], metavar="NAME",
                        help="as for sched.algorithm= (default cfs); more than one are compared")
    parser.add_argument("--placement", action="append", default=[], metavar="NAME",
                        help="as for sched.placement= (default least-loaded); more than one are compared")
    parser.add_argument("--migration", action="append", default=[], metavar="NAME",
                        help="as for sched.migration= (default pull); more than one are compared")
    parser.add_argument("--groups", action="append", default=[], metavar="NAME",
                        help="as for sched.groups= (default none); more than one are compared")
    parser.add_argument("--queues", action="append", default=[], metavar="NAME",
                        help="as for sched.queues=, per-core (the default) or global; more than one are compared")
    parser.add_argument("--seed", type=seed, default=1, metavar="N", help="of what is random (default 1)")
    parser.add_argument("--workload-to", type=Path, metavar="FILE", help="write there the workload that was made of a recording")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there as well")


def simulate(file: Path, cores: int, policies: Policies, number: int) -> Report:
    """One run. A Problem when the file or a name is wrong."""
    return _answer(file, str(file), str(cores), *policies, str(number), page="docs/simulation.md")


def replay(file: Path) -> list[Report]:
    """What is decided as the kernel decided it in a recording: an entry for each policy. A Problem when the file is wrong."""
    return _answer(file, "--replay", str(file), page="docs/replay.md")


def _answer(file: Path, *words: str, page: str) -> Any:
    command = [str(paths.SIMULATOR), *words]
    child = emulators.start(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        said, complaint = (stream.decode(errors="replace") for stream in child.communicate())
    finally:
        emulators.stop(child)
    if child.returncode == WRONG_USE:
        raise Problem(f"{paths.shown(file)}: {complaint.strip()}", f"{page} says what a file may hold", WRONG_USE)
    if child.returncode != 0:
        raise Problem(f"the simulator failed: {complaint.strip() or child.returncode}", f"try it alone: {' '.join(command)}")
    return json.loads(said)


def _ms(ns: object) -> str:
    return f"{float(ns) / 1e6:.3f}"  # type: ignore[arg-type]


def summary(reports: Sequence[Report]) -> list[str]:
    """A line for each choice of policies."""
    head = (*Policies._fields, "elapsed ms", "busy %", "wasted ms", "decisions", "moves", "worst wake ms", "violations")
    body = []
    for report in reports:
        per_core, tasks = report["per_core"], report["tasks"]
        busy = sum(core["busy_ns"] for core in per_core)  # type: ignore[union-attr,attr-defined]
        whole = int(report["elapsed_ns"]) * len(per_core) or 1  # type: ignore[call-overload,arg-type]
        body.append((*(str(report[name]) for name in Policies._fields), _ms(report["elapsed_ns"]), f"{busy * 100 / whole:.1f}",
                     _ms(report["wasted_ns"]), str(report["decisions"]),
                     str(sum(task["moves"] for task in tasks)),  # type: ignore[union-attr,attr-defined]
                     _ms(max(task["wake_worst_ns"] for task in tasks)),  # type: ignore[union-attr,attr-defined]
                     str(report["violations"])))
    return lines(head, body)


def of_tasks(report: Report) -> list[str]:
    head = ("task", "threads", "ended", "last end ms", "run ms", "waited ms", "wake-ups", "mean ms", "worst ms", "moves", "cores")
    body = [(task["task"], str(task["threads"]), str(task["ended"]), _ms(task["last_end_ns"]), _ms(task["run_ns"]),
             _ms(task["waited_ns"]), str(task["wakes"]), _ms(task["wake_mean_ns"]), _ms(task["wake_worst_ns"]),
             str(task["moves"]), task["cores"]) for task in report["tasks"]]  # type: ignore[attr-defined]
    return lines(head, body)


def of_cores(report: Report) -> list[str]:
    """As the kernel's /proc/sched has it."""
    names = ("core", "algorithm", "runnable", "coming", "weight", "switches", "preemptions", "moved_in", "moved_out", "idle_ns",
             "violations")
    return lines(names, [tuple(str(core[name]) for name in names) for core in report["per_core"]])  # type: ignore[attr-defined]


def of_groups(report: Report) -> list[str]:
    """As the kernel's /proc/sched says it; nothing without groups."""
    groups: Any = report.get("core_groups")
    if groups is None:
        return []
    text = [f"groups real-time cores {groups['real_time_cores']}",
            f"groups changes {groups['changes']} moved {groups['moved']} blocked {groups['blocked']} turned away {groups['turned_away']}"]
    if "real_time_demand" in groups:
        text.append(f"groups demand, thousandths of a thread: real-time {groups['real_time_demand']} normal {groups['normal_demand']}")
    return text


def of_global_queue(report: Report) -> list[str]:
    """The same; what was waited for locks in virtual time. Nothing with run queues of cores."""
    queue: Any = report.get("global_queue")
    if queue is None:
        return []
    return [f"global queue: waiting {queue['waiting']} rounds {queue['rounds']}",
            *(f"lock of level {lock['level']}: taken {lock['taken']} found taken {lock['found_taken']} waited {_ms(lock['waited_ns'])} ms"
              for lock in queue["locks"])]


def is_replayed(values: Namespace) -> bool:
    """A recording, with the machine and the policies that it had: no option asks for others."""
    usual = Parser()
    declare(usual)
    return values.file.suffix == RECORDINGS and all(getattr(values, name) == value
                                                    for name, value in vars(usual.parse_args([str(values.file)])).items())


def _written(made: workload.Derived, values: Namespace, folder: Path) -> Path:
    """The file of a recording's workload, for which there is room in `folder`. Tells what it has."""
    file = folder / "workload.json" if values.workload_to is None else values.workload_to
    files.write(file, made.text, "--workload-to")
    print("\n".join([f"{paths.shown(values.file)}: {made.notes[0]}", *made.notes[1:]]))
    return file


def execute(values: Namespace, _: list[str]) -> int:
    if not values.file.is_file():
        raise Problem(f"{values.file}: there is no such file", "a workload in JSON is wanted (docs/simulation.md)", WRONG_USE)
    if values.cores > MOST_CORES:
        raise Problem(f"--cores {values.cores}: too many", f"at most {MOST_CORES} are simulated", WRONG_USE)
    recorded = values.file.suffix == RECORDINGS
    if values.workload_to is not None and not recorded:
        raise Problem(f"{values.file} is a workload already", f"--workload-to is for recordings, *{RECORDINGS}", WRONG_USE)
    made = None if not recorded or is_replayed(values) else workload.derived(records.read(values.file))
    packages.ensure(["simulator"], yes=values.yes)
    build.build(build.SIMULATOR, verbose=values.verbose)
    if made is not None:
        with tempfile.TemporaryDirectory(prefix="corral-simulate-") as name:
            return _compare(_written(made, values, Path(name)), values)
    return show_replay(replay(values.file)) if recorded else _compare(values.file, values)


def _compare(file: Path, values: Namespace) -> int:
    usual = Policies()
    choices = [Policies(*names) for names in itertools.product(values.algorithm or [usual.algorithm],
                                                               values.placement or [usual.placement],
                                                               values.migration or [usual.migration],
                                                               values.groups or [usual.groups],
                                                               values.queues or [usual.queues])]
    reports = []
    progress = Progress("Simulating")
    for number, policies in enumerate(choices, start=1):
        progress.step(f"{number} of {len(choices)}: {', '.join(policies)}")
        reports.append(simulate(file, values.cores, policies, values.seed))
    progress.done()
    show(reports)
    if values.json is not None:
        files.write(values.json, json.dumps(reports, indent=1) + "\n", "--json")
    return 0


def show(reports: Sequence[Report]) -> None:
    first = reports[0]
    print(f"{first['threads']} threads on {first['cores']} cores, seed {first['seed']}")
    print("\n".join(["", *summary(reports)]))
    if len(reports) == 1:
        print("\n".join(["", *of_tasks(first)]))
        for text in (of_groups(first), of_global_queue(first)):
            if text:
                print("\n".join(["", *text]))
        if len(first["per_core"]) <= MOST_CORES_SHOWN:  # type: ignore[arg-type]
            print("\n".join(["", *of_cores(first)]))
    unfinished = max(int(report["unfinished"]) for report in reports)  # type: ignore[call-overload]
    if unfinished:
        print(f"\n{unfinished} threads had not ended when the simulation did.")


def show_replay(policies: Sequence[Report]) -> int:
    """Status 1 when anything was decided differently."""
    if not policies:
        raise Problem("there are no decisions in this recording", 
                      "record them with ./corral trace --events decide -- PROGRAM, or simulate what the threads did: with --algorithm NAME")
    names = ("kind", "name", "cores", "calls", "decisions", "different")
    print("\n".join(lines(names, [tuple(str(policy[name]) for name in names) for policy in policies])))
    for policy in policies:
        if policy["different"]:
            print(f"{policy['name']}: {policy['first_difference']}")
    return 1 if any(policy["different"] for policy in policies) else 0
