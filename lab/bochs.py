"""Bochs: a second, independent PC whose time is virtual.

All cores advance in lock step, one instruction each per tick, so that times
show true parallel speed-up whatever the host is doing, and an identical image
gives an identical run. Caches and memory contention cost nothing there.

Debian's build carries the debugger: it is started with a script that says
"continue". It ends with status 1 even after an orderly power-off, so its exit
status is not looked at.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lab import emulators, verdict
from lab.problem import GUEST_BROKE, TIMED_OUT, Problem

BIOS = "/usr/share/bochs/BIOS-bochs-latest"
VGA_BIOS = "/usr/share/bochs/VGABIOS-lgpl-latest"
MHZ = 100
EPOCH = 1_000_000_000
POLL_SECONDS = 0.05
PANIC_GRACE_SECONDS = 2.0


@dataclass(frozen=True)
class Session:
    """One run's files, all in one directory of its own."""

    directory: Path

    @property
    def configuration(self) -> Path:
        return self.directory / "bochsrc"

    @property
    def serial(self) -> Path:
        return self.directory / "serial.txt"

    @property
    def debug_console(self) -> Path:
        """Bochs' standard output, into which port 0xE9 goes as well."""
        return self.directory / "bochs-output.txt"

    @property
    def log(self) -> Path:
        return self.directory / "bochs-log.txt"


def configuration(session: Session, image: Path, cores: int, memory_mib: int, serial: str | None = None) -> str:
    """The bochsrc. `serial` is Bochs' word for the port; a file when not given.

    Sandy Bridge has no RDRAND (Bochs would seed it from the host's clock), and
    the rfb display is the one that needs no terminal and no window.
    """
    port = serial or f"mode=file, dev={session.serial}"
    return "\n".join([
        'display_library: rfb, options="timeout=0"',
        f"cpu: count={cores}:1:1, ips={MHZ * 1_000_000}, quantum=16, model=corei7_sandy_bridge_2600k, "
        "reset_on_triple_fault=0",
        f"clock: sync=none, time0={EPOCH}",
        f"megs: {memory_mib}",
        f"romimage: file={BIOS}, options=fastboot",
        f"vgaromimage: file={VGA_BIOS}",
        f"ata0-master: type=cdrom, path={image}, status=inserted",
        "boot: cdrom",
        f"com1: enabled=1, {port}",
        "port_e9_hack: enabled=1",
        "speaker: enabled=0",
        "sound: driver=dummy",  # the ALSA driver crashes on a host without sound
        "panic: action=fatal",
        "error: action=report",
        "info: action=ignore",
        "debug: action=ignore",
        f"log: {session.log}",
        "",
    ])  # fmt: skip


def start(session: Session, image: Path, cores: int, memory_mib: int, serial: str | None = None) -> subprocess.Popen[bytes]:
    """Starts Bochs in the background, in a process group of its own."""
    if shutil.which("bochs") is None or not Path(BIOS).exists() or not Path(VGA_BIOS).exists():
        raise Problem("Bochs or its firmware is not installed", "./corral setup bochs")
    session.directory.mkdir(parents=True, exist_ok=True)
    for stale in (session.serial, session.debug_console, session.log):
        stale.unlink(missing_ok=True)
    session.configuration.write_text(configuration(session, image, cores, memory_mib, serial), encoding="utf-8")
    script = session.directory / "debugger-script"
    script.write_text("c\n", encoding="ascii")
    with open(session.debug_console, "wb") as output:
        return emulators.start(
            ["setarch", "x86_64", "-R", "bochs", "-q", "-f", str(session.configuration), "-rc", str(script)],
            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            env={**os.environ, "TERM": "dumb"},
        )  # fmt: skip


def run(
    session: Session, image: Path, cores: int, memory_mib: int, *, timeout: float,
    watch: Callable[[bytes], None] = lambda data: None,
) -> str:  # fmt: skip
    """Runs to the guest's power-off; `watch` sees new serial output. The whole serial text. A panic of ours ends it with a Problem."""
    child = start(session, image, cores, memory_mib)
    deadline = time.monotonic() + timeout
    seen = 0
    panicked: float | None = None  # when it was seen: its account takes a while
    try:
        while True:
            ended = child.poll() is not None
            if session.serial.exists():
                with open(session.serial, "rb") as serial:
                    serial.seek(seen)
                    fresh = serial.read()
                seen += len(fresh)
                if fresh:
                    watch(fresh)
            if ended:
                return session.serial.read_text(encoding="utf-8", errors="replace") if session.serial.exists() else ""
            if panicked is None and verdict.PANIC.search(session.debug_console.read_text(encoding="utf-8", errors="replace")):
                panicked = time.monotonic()
            if panicked is not None and time.monotonic() > panicked + PANIC_GRACE_SECONDS:
                account = session.serial.read_text(encoding="utf-8", errors="replace") if session.serial.exists() else ""
                raise Problem(f"the kernel panicked in Bochs:\n{account[-3000:]}", status=GUEST_BROKE)
            if time.monotonic() > deadline:
                raise Problem(f"Bochs did not end within {timeout:g} s", "give a longer --timeout", TIMED_OUT)
            time.sleep(POLL_SECONDS)
    finally:
        emulators.stop(child)
