"""`corral hunt`: one program under many seeds, until an interleaving is found in which it fails.

Each seed is a deterministic machine (docs/deterministic-runs.md): what fails once fails again, by the command that
is printed. Seeds run beside each other, one for each of the host's cores.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from concurrent.futures import as_completed
from dataclasses import asdict, dataclass
from pathlib import Path

from lab import boot_options, build, emulators, files, guest, packages, paths, payload, replay, runner, verdict
from lab.machine import Machine, check_cores
from lab.options import Parser, numbers, positive, seconds
from lab.problem import WRONG_USE, Problem
from lab.progress import Progress

PATIENCE_SECONDS = 300.0
POLL_SECONDS = 0.2
SHOWN_FAILURES = 5
# What the kernel says of itself when something is wrong, the most telling first.
TELLING = (re.compile(r"corral: panic.*"), re.compile(r".*\binvariant\b.*"), re.compile(r".*\bviolat.*"))


@dataclass(frozen=True)
class Hunt:
    """What is run under each seed."""

    cores: int
    program: Sequence[str]
    append: str = ""
    status: int = 0  # that the program should end with
    patience: float = PATIENCE_SECONDS

    def again(self, seed: int) -> str:
        """The command that repeats one run."""
        append = ["--append", self.append] if self.append else []
        return shlex.join(["./corral", "run", "--cores", str(self.cores), "--seed", str(seed), *append, "--", *self.program])


@dataclass(frozen=True)
class Catch:
    """How one seed ended. `output`: a digest of all that the machine said, which another run with the same seed says again."""

    seed: int
    failure: str  # "": none
    output: str
    last_words: str = ""
    dump: replay.Dump | None = None  # to run it again (lab/replay.py); none of one that did not end


def telling(said: str, account: Sequence[str] = ()) -> str:
    """The line in which the kernel says what was wrong, there or in its account of failures; "": there is none."""
    for pattern in TELLING:
        if found := pattern.search(said):
            return found[0].strip()
    return next((line for line in account if line.startswith("failure at")), "")


def _end(machine: guest.Guest, patience: float) -> verdict.Verdict:
    """Waits for the emulator's end, or for a panic, after which the machine stands still."""
    deadline = time.monotonic() + patience
    while machine.alive():
        if verdict.PANIC.search(machine.debug_console()):
            machine.run_for(runner.PANIC_GRACE_SECONDS)
            return verdict.of(machine.debug_console())
        if time.monotonic() > deadline:
            raise guest.GuestFailure(f"it did not end within {patience:g} s")
        machine.run_for(POLL_SECONDS)
    return machine.ended()


def once(hunt: Hunt, seed: int) -> Catch:
    request = runner.Request(Machine(cores=hunt.cores, seed=seed), "qemu", hunt.append, tuple(hunt.program), None, by_image=False)
    argv, files = payload.resolve(list(hunt.program))
    options = f"quiet {hunt.append}".strip()
    with guest.corral(hunt.cores, program=argv, options=options, seed=seed, files=files, patience=hunt.patience,
                      invariants_hold=False) as machine:  # told below
        try:
            end = _end(machine, hunt.patience)
        except guest.GuestFailure as failure:
            return Catch(seed, verdict.violation(machine.text) or str(failure), "", machine.said())
        said = machine.text + machine.debug_console()
        output = hashlib.sha256(said.encode()).hexdigest()[:16]
        dump = replay.dump(request, machine.debug_console())
        failure = verdict.violation(said) or telling(machine.debug_console(), dump.account)
        if end.status != hunt.status:
            failure = failure or end.message or f"status {end.status}"
        return Catch(seed, failure, output, machine.said(), dump) if failure else Catch(seed, "", output)


def declare(parser: Parser) -> None:
    parser.add_argument("--seeds", type=numbers, required=True, metavar="LIST", help="such as 1-200 or 3,17")
    parser.add_argument("--cores", type=positive, default=4, metavar="N", help="number of cores (default 4)")
    parser.add_argument("--append", default="", metavar="OPTIONS", help="more options for the kernel, in one word")
    parser.add_argument("--status", type=int, default=0, metavar="N", help="with which the program should end (default 0)")
    parser.add_argument("--patience", type=seconds, default=PATIENCE_SECONDS, metavar="S",
                        help=f"a run that needs longer has failed ({PATIENCE_SECONDS:g})")
    parser.add_argument("--first", action="store_true", help="stop at the first seed that fails")
    parser.add_argument("--jobs", type=positive, default=os.cpu_count() or 1, metavar="N",
                        help="seeds at the same time (default: one for each of the host's cores)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was found there")


def explore(hunt: Hunt, seeds: Sequence[int], jobs: int) -> Iterator[Catch]:
    """In the order in which they end. To leave early ends what is under way, and lets nothing else be started."""
    with emulators.lanes(jobs) as lanes:
        for done in as_completed([lanes.submit(once, hunt, seed) for seed in seeds]):
            yield done.result()


def execute(values: Namespace, program: list[str]) -> int:
    if not program:
        raise Problem("which program is to be hunted through?", "such as ./corral hunt --seeds 1-200 -- /tests/futexstress",
                      WRONG_USE)
    check_cores(values.cores, "qemu")
    boot_options.check_line(values.append)  # with a wrong one the default would be hunted through
    payload.resolve(program)  # a wrong program is said before anything is built
    packages.ensure(["build", "qemu"], yes=values.yes)
    build.build_system(verbose=values.verbose)
    hunt = Hunt(values.cores, tuple(program), values.append, values.status, values.patience)
    catches: list[Catch] = []
    progress = Progress(f"{len(values.seeds)} seeds, {values.cores} cores")
    try:
        for catch in explore(hunt, values.seeds, values.jobs):
            catches.append(catch)
            failed = sum(1 for each in catches if each.failure)
            progress.step(f"{len(catches) - failed} passed, {failed} failed")
            if catch.failure and values.first:
                break
        progress.done()
    finally:  # also after Ctrl-C: what was found is told
        print("\n".join(report(hunt, catches)))
        if values.json is not None:
            found = [asdict(catch) for catch in sorted(catches, key=lambda catch: catch.seed)]
            files.write(values.json, json.dumps(found, indent=1) + "\n", "--json")
    return 1 if any(catch.failure for catch in catches) else 0


def report(hunt: Hunt, catches: Sequence[Catch]) -> list[str]:
    failures = sorted((catch for catch in catches if catch.failure), key=lambda catch: catch.seed)
    outputs = {catch.output for catch in catches if catch.output}
    out = []
    for catch in failures[:SHOWN_FAILURES]:
        kept = paths.BUILD / "hunt" / f"seed-{catch.seed}.txt"
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(f"{hunt.again(catch.seed)}\n{catch.failure}\n{catch.last_words}\n", encoding="utf-8")
        out += [f"seed {catch.seed}: {catch.failure}", f"  Again: {hunt.again(catch.seed)}", f"  Its last words: {paths.shown(kept)}"]
        if catch.dump is not None:
            replay.keep(catch.dump, kept.with_suffix(".json"))
            out.append(f"  Again, and compared: ./corral run --replay {paths.shown(kept.with_suffix('.json'))}")
    if len(failures) > SHOWN_FAILURES:
        out.append(f"… and {len(failures) - SHOWN_FAILURES} more: {', '.join(str(c.seed) for c in failures[SHOWN_FAILURES:])}")
    out.append(f"{len(outputs)} different outputs.")
    out.append(f"{len(catches) - len(failures)} passed, {len(failures)} failed")
    return out
