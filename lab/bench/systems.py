"""Runs one and the same shell script on Corral or on Linux, on any instrument.

Every experiment goes through here: the script and the files it needs stand in
/host of both guests, the machine is the same, and only the kernel differs.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from lab import bochs, command_line, emulators, guest, iso, linux, paths, payload
from lab.bench import failures, hangs
from lab.bench.results import Row
from lab.machine import Boot, Machine
from lab.problem import Problem
from lab.progress import Progress

SCRIPT = "script.sh"
END = "script: end"
MEMORY_MIB = 512
BOCHS_LIMIT_SECONDS = 3600.0
QEMU_LIMIT_SECONDS = 1800.0
PHASE_SECONDS = 0.00113  # no part of a tick of 1, 4 or 10 ms: so each seed begins at another place in it
LINUX_BEGINS_SECONDS = 120.0  # from the emulator's start to the script; usually 3, and 8 on a busy host
# The serial line is slow, and power-off does not wait for it.
CLOSING = f"\necho '{END}'\nsleep 1\n"


@dataclass(frozen=True)
class Job:
    """A script with the programs it calls (name in /host: contents)."""

    script: str
    files: dict[str, bytes]
    options: str = ""  # more for Corral's kernel
    seed: int = 0  # of the instrument `seeded`; elsewhere the script begins so many PHASE_SECONDS later


def program(name: str) -> bytes:
    """One of our own programs, as it stands in Corral's initramfs."""
    path = paths.PROGRAMS / name
    if not path.is_file():
        raise Problem(f"{paths.shown(path)} is missing", f"remove {paths.shown(paths.USER_BUILD)} and try again")
    return path.read_bytes()


def parts(system: str, instrument: str, job: Job, work: Path) -> iso.Entry:
    """Kernel, initramfs and command line of this system."""
    seeded = instrument == "seeded"
    files = {**job.files, SCRIPT: ((opening(job.seed) if not seeded else "") + job.script + CLOSING).encode()}
    if system == "linux":
        initramfs = linux.initramfs(work / "linux.cpio", files)
        return iso.Entry("linux", linux.kernel(), initramfs, " ".join(linux.options(instrument)))
    initramfs = payload.initramfs(files, work)
    seed = [f"interleave.seed={job.seed}"] if seeded else []
    line = command_line.compose(["quiet", *job.options.split(), *seed], ["/bin/sh", f"/host/{SCRIPT}"])
    return iso.Entry("multiboot2", paths.KERNEL_ELF, initramfs, line)


def opening(seed: int) -> str:
    return f"sleep {seed * PHASE_SECONDS:.5f}\n" if seed else ""


def run(system: str, instrument: str, cores: int, job: Job, *, memory_mib: int = MEMORY_MIB, patience: float | None = None) -> str:
    """Boots, lets the script run to its end, and returns all that was printed but linux.BEGIN.

    `instrument`: qemu (wall time), icount (QEMU, time counts instructions), seeded (QEMU, deterministic on any number of
    cores; Corral only) or bochs. `patience`: seconds after which it has failed.
    """
    with tempfile.TemporaryDirectory(prefix="corral-bench-") as name:
        work = Path(name)
        made = parts(system, instrument, job, work)
        if instrument == "bochs":
            image = iso.make(made, work / "bench.iso", quiet=True)
            session = bochs.Session(work / "session")
            text = bochs.run(session, image, cores, memory_mib, timeout=patience or BOCHS_LIMIT_SECONDS)
        else:
            boot = Boot(made.kernel, made.initramfs, made.line)
            emulated = Machine(cores, memory_mib=memory_mib, seed=job.seed if instrument == "seeded" else None, count_instructions=instrument == "icount")
            limit = patience or QEMU_LIMIT_SECONDS
            with failures.of_guest(f"{system} on {instrument} with {cores} cores"):
                if system == "linux" and instrument == "qemu":
                    text = hangs.survived(lambda: _in_qemu(emulated, boot, limit, LINUX_BEGINS_SECONDS))
                else:
                    text = _in_qemu(emulated, boot, limit)
    if END not in text:
        raise Problem(f"{system} on {instrument} with {cores} cores did not finish its script:\n{text[-3000:]}")
    return text.replace("\r\n", "\n").replace(f"{linux.BEGIN}\n", "", 1)


def _in_qemu(emulated: Machine, boot: Boot, patience: float, begins_within: float | None = None) -> str:
    with guest.Guest(emulated, boot, patience=patience) as machine:
        if begins_within is not None:
            machine.expect(linux.BEGIN, within=begins_within)
        machine.ended()
        return machine.text


class Turn(NamedTuple):
    """A boot that is to be measured."""

    cores: int
    system: str
    seed: int = 0  # Job's


def boots(instrument: str, cores: Sequence[int], systems: Sequence[str], runs: int) -> list[Turn]:
    """The systems in turn and in changing order. In virtual time each run has a seed of its own, or it would be the one before again."""
    return [Turn(count, system, turn if instrument == "bochs" else 0) for count in cores for turn in range(1 if instrument == "icount" else runs)
            for system in (systems if turn % 2 == 0 else systems[::-1])]  # fmt: skip


def each(what: str, instrument: str, todo: Sequence[Turn], once: Callable[[Turn], list[Row]]) -> list[Row]:
    """What was measured in each boot of `todo`, in its order, shown as it goes on. In virtual time one boot for each core of the host at once.

    Where one of them fails, or at Ctrl-C, failures.Unfinished with what the others gave.
    """
    rows: list[Row] = []
    begun: dict[Future[list[Row]], Turn] = {}
    with failures.keeping(rows), Progress(f"Measuring {what}") as progress:
        try:
            with emulators.lanes((os.cpu_count() or 1) if instrument == "bochs" else 1) as lanes:
                begun.update({lanes.submit(once, turn): turn for turn in todo})
                progress.of(0, len(todo), "")
                for done, ended in enumerate(as_completed(begun), start=1):
                    ended.result()
                    progress.of(done, len(todo), f"{begun[ended].system}, {begun[ended].cores} cores")
        finally:
            rows += _measured(begun)
        progress.done(f"{len(rows)} results")
    return rows


def _measured(ended: Iterable[Future[list[Row]]]) -> Iterator[Row]:
    for one in ended:
        if not one.cancelled() and one.exception() is None:
            yield from one.result()
