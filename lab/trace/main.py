"""`corral trace`: runs a program while the kernel's trace is on, and writes the trace for the tools that people use."""

from __future__ import annotations

import hashlib
import tempfile
from argparse import Namespace
from collections import Counter
from pathlib import Path

from lab import build, debian, files, machine_options, options, packages, paths, payload, qemu, reference, runner
from lab.machine import Folder, Machine, check_cores, memory_mib
from lab.options import Parser, seed
from lab.problem import WRONG_USE, Problem
from lab.simulate import RECORDINGS
from lab.trace import ftrace, perfetto, records

TAG = "corral-trace"  # the mount tag of the folder where the guest leaves its records
RECORDS = "records"
DECISIONS = "decide"  # on demand: there are many, and they are for the simulator
ARGUMENTS = "arguments"  # on demand: a call costs four times as much with them
GROUPS = ("switch", "wake", "place", "migrate", "message", "interrupt", "call", "policy")


def declare(parser: Parser) -> None:
    parser.add_argument("--events", default=",".join(GROUPS), metavar="LIST",
                        help=f"of {', '.join(GROUPS)} (default all of these); {ARGUMENTS}: calls with their arguments; {DECISIONS}: "
                             "for ./corral simulate")
    parser.add_argument("--output", type=Path, default=paths.BUILD / "trace", metavar="PREFIX",
                        help="PREFIX.json is for ui.perfetto.dev, PREFIX.txt as Linux's ftrace, PREFIX.records for ./corral "
                             "report and, with decisions, ./corral simulate (default build/trace)")
    machine_options.declare(parser, "512M; 1G with --debian")
    parser.add_argument("--seed", type=seed, metavar="N", help="deterministic: the same N, the same run")
    parser.add_argument("--debian", action="store_true", help="among programs of Debian (docs/programs.md)")


def _command(values: Namespace, program: list[str]) -> list[str]:
    """The program, among the guest's own, that traces the one asked for."""
    return ["corral-trace", "-e", ",".join(values.events), "-t", TAG, RECORDS, *program]


def execute(values: Namespace, program: list[str]) -> int:
    if not program:
        raise Problem("which program is to be traced?", "such as ./corral trace -- mandelbrot 4 --mode array", WRONG_USE)
    values.events = [options.choose(name, (*GROUPS, ARGUMENTS, DECISIONS), "group of events") for name in values.events.split(",")]
    check_cores(values.cores, "qemu")
    memory = memory_mib(values.memory or (f"{debian.MEMORY_MIB}M" if values.debian else "512M"))
    argv, brought = payload.resolve(program, dynamic=values.debian)
    packages.ensure(["build", "qemu"], yes=values.yes)
    qemu.check_folders()
    build.build_system(verbose=values.verbose)
    with tempfile.TemporaryDirectory(prefix="corral-trace-") as name:
        machine = Machine(cores=values.cores, memory_mib=memory, seed=values.seed,
                          folders=(Folder(TAG, Path(name)),))
        status = runner.run(runner.Request(machine, "qemu", values.append, tuple(_command(values, argv)),
                                           values.timeout, by_image=False, debian=values.debian, files=brought))
        written = Path(name) / RECORDS
        if not written.exists():
            raise Problem("no trace was left: the machine ended before", "see its message above", status or 1)
        data = written.read_bytes()
    _write(records.decoded(data), values)
    print(identity(data))
    kept = _named(values, RECORDINGS)
    files.write_bytes(kept, data, "--output")
    print(f"{paths.shown(kept)}: ./corral report --trace {paths.shown(kept)} shows it as a timeline")
    if DECISIONS in values.events:
        print(f"{paths.shown(kept)}: ./corral simulate {paths.shown(kept)} makes the same decisions again")
    return status


def _named(values: Namespace, end: str) -> Path:
    return values.output.with_name(values.output.name + end)


def _write(found: list[records.Record], values: Namespace) -> None:
    calls = {call.number: call.name for call in reference.linux_calls(paths.ROOT)}
    json_file, text_file = _named(values, ".json"), _named(values, ".txt")
    files.write(json_file, perfetto.text(found, values.cores, calls), "--output")
    files.write(text_file, ftrace.text(found, values.cores), "--output")
    print(summary(found))
    print(f"{paths.shown(json_file)}: open it in ui.perfetto.dev; {paths.shown(text_file)}: as Linux's ftrace has it")


def identity(data: bytes) -> str:
    """One line that two traces have in common if and only if each core wrote the same records, times included."""
    return f"Trace: {len(data) // records.SIZE} records, sha256 {hashlib.sha256(data).hexdigest()}"


def summary(found: list[records.Record]) -> str:
    """One line: how long, what, and how much was lost."""
    counts = Counter(type(record).__name__ for record in found if not isinstance(record, records.Loss))
    lost = sum(record.records for record in found if isinstance(record, records.Loss))
    names = {"Switch": "switches", "Wake": "wake-ups", "Placement": "placements", "Migration": "migrations",
             "Message": "messages", "Interrupt": "interrupts", "Call": "calls", "PolicyChange": "changes of policy"}
    length = (found[-1].time - found[0].time) / 1e6 if found else 0.0
    parts = [f"{counts[kind]} {name}" for kind, name in names.items() if counts[kind]]
    end = f"; {lost} lost: the rings keep the last ones" if lost else ""
    return f"{length:.3f} ms: {', '.join(parts) or 'nothing'}{end}"
