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
import random
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
DISPLAY_SECONDS = 10.0
MOST_STARTS = 20
NO_DISPLAY = "RFB could not bind any port"


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
    """Starts Bochs in the background, in a process group of its own; returns when it runs, or has ended.

    Its display is the first free TCP port of some. Two that reach for the same one at the same moment leave one of them without,
    which ends before the guest has begun: that one is started again.
    """
    if shutil.which("bochs") is None or not Path(BIOS).exists() or not Path(VGA_BIOS).exists():
        raise Problem("Bochs or its firmware is not installed", "./corral setup bochs")
    session.directory.mkdir(parents=True, exist_ok=True)
    session.configuration.write_text(configuration(session, image, cores, memory_mib, serial), encoding="utf-8")
    for _ in range(MOST_STARTS):
        child = _start_once(session)
        deadline = time.monotonic() + DISPLAY_SECONDS
        while child.poll() is None and not _listens(child.pid) and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
        if child.poll() is None or NO_DISPLAY not in emulators.said(session.debug_console):
            return child
        emulators.stop(child)
        time.sleep(random.uniform(0, 4 * POLL_SECONDS))
    raise Problem("Bochs found none of the TCP ports 5900 to 5949 free, of which it needs one", "end what uses them: ss -ltp")


def _start_once(session: Session) -> subprocess.Popen[bytes]:
    for stale in (session.serial, session.debug_console, session.log):
        stale.unlink(missing_ok=True)
    script = session.directory / "debugger-script"
    script.write_text("c\n", encoding="ascii")
    with open(session.debug_console, "wb") as output:
        return emulators.start(
            ["setarch", "x86_64", "-R", "bochs", "-q", "-f", str(session.configuration), "-rc", str(script)],
            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            env={**os.environ, "TERM": "dumb"},
        )  # fmt: skip


def _listens(process: int) -> bool:
    """Whether one of its sockets waits for TCP connections (proc(5): state 0A, the inode in column 10)."""
    lines = Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]
    waiting = {f"socket:[{line.split()[9]}]" for line in lines if line.split()[3] == "0A"}
    try:
        return any(os.readlink(entry.path) in waiting for entry in os.scandir(f"/proc/{process}/fd"))
    except OSError:  # it has ended, or closed that descriptor just now
        return False


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
                if seen == 0:
                    raise Problem(f"Bochs ended before the guest had said anything:\n{emulators.said(session.debug_console)[-1500:]}", status=GUEST_BROKE)
                return emulators.said(session.serial)
            if panicked is None and verdict.PANIC.search(emulators.said(session.debug_console)):
                panicked = time.monotonic()
            if panicked is not None and time.monotonic() > panicked + PANIC_GRACE_SECONDS:
                raise Problem(f"the kernel panicked in Bochs:\n{emulators.said(session.serial)[-3000:]}", status=GUEST_BROKE)
            if time.monotonic() > deadline:
                raise Problem(f"Bochs did not end within {timeout:g} s", "give a longer --timeout", TIMED_OUT)
            time.sleep(POLL_SECONDS)
    finally:
        emulators.stop(child)
