"""`corral run`: boot, connect the user's terminal, and return the program's status."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import tempfile
import threading
import time
import tty
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lab import bochs, command_line, debian, emulators, iso, paths, payload, qemu, terminal, verdict
from lab.machine import Boot, Machine
from lab.problem import GUEST_BROKE, TIMED_OUT, Problem
from lab.qmp import Qmp

POLL_SECONDS = 0.1
PANIC_GRACE_SECONDS = 3.0  # for the backtrace to reach the serial line


@dataclass(frozen=True)
class Request:
    machine: Machine
    emulator: str
    append: str
    program: tuple[str, ...]
    timeout: float | None
    by_image: bool
    by_uefi: bool = False
    debian: bool = False  # Debian's programs, dynamically linked ones too
    own_root: bool = False  # the program is one of the root that the guest mounts
    files: dict[str, bytes] | None = None  # further ones, in /host
    on_end: Callable[[str], None] | None = None  # gets what the debug console said, when the guest ended by itself


def kernel_line(request: Request, argv: list[str]) -> str:
    options = [request.append]
    if argv:
        options.insert(0, "quiet")  # the program's output is what was asked for
    if request.machine.seed is not None:
        options[-1] = command_line.with_seed(request.append, request.machine.seed)
    return command_line.compose(options, argv)


def run(request: Request) -> int:
    argv, files = list(request.program), {}
    if not request.own_root:
        argv, files = payload.resolve(request.program, dynamic=request.debian)
    base = debian.initramfs() if request.debian else paths.INITRAMFS
    files |= request.files or {}
    line = kernel_line(request, argv)
    with tempfile.TemporaryDirectory(prefix="corral-run-") as name:
        work = Path(name)
        initramfs = payload.initramfs(files, work, base)
        boot = Boot(paths.KERNEL_ELF, initramfs, line)
        if request.by_image or request.by_uefi or request.emulator == "bochs":
            entry = iso.Entry("multiboot2", paths.KERNEL_ELF, initramfs, line)
            boot = Boot(iso=iso.make(entry, work / "corral.iso", quiet=bool(argv) or request.emulator == "bochs"),
                        uefi=request.by_uefi)
        if sys.stdin.isatty() and not argv:
            print("Ctrl-A X leaves.", file=sys.stderr)
        with terminal.restored():
            if request.emulator == "bochs":
                return _in_bochs(request, boot, work)
            return _in_qemu(request, boot, work)


def _in_qemu(request: Request, boot: Boot, work: Path) -> int:
    interactive = sys.stdin.isatty()
    wiring = qemu.Wiring(
        serial="mon:stdio" if interactive else "stdio", debug_console=work / "e9", qmp=work / "qmp"
    )
    kvm = request.machine.seed is None and request.machine.plugin is None and qemu.usable_kvm()
    as_text = not sys.stdout.isatty()
    if request.machine.wait_for_debugger:
        print(f"Waiting for a debugger: ./corral debug in another terminal, or gdb's "
              f"`target remote :{qemu.GDB_PORT}`.", file=sys.stderr)
    child = subprocess.Popen(
        qemu.command(request.machine, boot, wiring, kvm=kvm),
        stdout=subprocess.PIPE if as_text else None,
    )
    pump = threading.Thread(target=_pump, args=(child,), daemon=True) if as_text else None
    if pump:
        pump.start()
    machine = None
    try:
        try:
            machine = Qmp(work / "qmp") if child.poll() is None else None
        except Problem:
            pass  # it ended before the door was open; its own message says why
        outcome = _wait(child, work / "e9", request)
    finally:
        _quit(child, machine)
        if pump:
            pump.join()
    if outcome == "ended" and child.returncode != 0:
        raise Problem("QEMU could not start, or broke off (its message is above)", "mend what it names", GUEST_BROKE)
    reason = machine.shutdown_reason() if machine else ""
    left = outcome == "ended" and reason.startswith("host-")
    return _conclude(request, "left" if left else outcome, work / "e9")


def _quit(child: subprocess.Popen[bytes], machine: Qmp | None) -> None:
    """Ends an emulator that still runs: asked nicely, for QEMU comments on signals."""
    if child.poll() is None and machine is not None:
        try:
            machine.command("quit")
            child.wait(10)
        except (Problem, OSError, subprocess.TimeoutExpired):
            pass
    if child.poll() is None:
        child.kill()
        child.wait()


def _pump(child: subprocess.Popen[bytes]) -> None:
    assert child.stdout is not None
    with terminal.output() as write:
        while data := os.read(child.stdout.fileno(), 65536):
            write(data)


def _wait(child: subprocess.Popen[bytes], debug_console: Path, request: Request) -> str:
    """Until the emulator ends, time is up, or a panic leaves nobody to talk to."""
    begin = time.monotonic()
    panic_seen: float | None = None
    while True:
        try:
            child.wait(POLL_SECONDS)
            return "ended"
        except subprocess.TimeoutExpired:
            pass
        now = time.monotonic()
        if request.timeout is not None and now - begin > request.timeout:
            return "timeout"
        if request.program and panic_seen is None and verdict.PANIC.search(emulators.said(debug_console)):
            panic_seen = now
        if panic_seen is not None and now - panic_seen > PANIC_GRACE_SECONDS:
            return "panic"


def _in_bochs(request: Request, boot: Boot, work: Path) -> int:
    assert boot.iso is not None
    master, slave = pty.openpty()
    tty.setraw(slave)
    session = bochs.Session(work)
    child = bochs.start(session, boot.iso, request.machine.cores, request.machine.memory_mib,
                        serial=f"mode=term, dev={os.ttyname(slave)}")
    deadline = time.monotonic() + request.timeout if request.timeout is not None else None
    try:
        outcome = terminal.relay(master, child, deadline)
    finally:
        emulators.stop(child)
        os.close(slave)
        os.close(master)
    return _conclude(request, outcome, session.debug_console)


def _conclude(request: Request, outcome: str, debug_console: Path) -> int:
    if outcome == "timeout":
        print(f"corral: stopped after {request.timeout:g} s (--timeout)", file=sys.stderr)
        return TIMED_OUT
    text = emulators.said(debug_console)
    said = verdict.of(text)
    if outcome == "left" and said.message and not verdict.PANIC.search(text):
        return 0  # the user left on purpose
    if said.message or said.remark:
        print(f"corral: {said.message or said.remark}", file=sys.stderr)
    if request.on_end is not None:
        request.on_end(text)
    return said.status
