"""`corral debug`: gdb with the kernel's symbols and helper commands.

Joins a guest that already waits (`corral run --gdb` in another terminal, which
then keeps the serial line); otherwise starts one of its own, whose serial line
goes to a file because gdb has the terminal.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from lab import command_line, emulators, paths, payload, qemu
from lab.machine import Boot, Machine

HELPERS = paths.ROOT / "lab" / "gdb" / "corral_gdb.py"
LOOK = ("corral-cores", "corral-queues", "corral-threads", "thread apply all backtrace 12")
LOOK_SECONDS = 120.0  # a busy host, and thousands of threads
SERIAL = paths.BUILD / "debug" / "serial.txt"


def somebody_waits(port: int = qemu.GDB_PORT) -> bool:
    """Whether a local socket listens; only looked up, for a connection would stop the guest."""
    listening = "0A"  # the kernel's TCP_LISTEN
    for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]:
        _, local, _, state, *_ = line.split()
        if state == listening and int(local.partition(":")[2], 16) == port:
            return True
    return False


def gdb_command(target: str, *commands: str) -> list[str]:
    settings = ("set pagination off", "set confirm off", f"source {HELPERS}", f"target remote {target}")
    return ["gdb", "-q", str(paths.KERNEL_ELF), *(word for command in (*settings, *commands) for word in ("-ex", command))]


def seen(target: str, patience: float = LOOK_SECONDS) -> str:
    """Cores, queues, threads and what each core executes, in a guest that goes on afterwards; or why that cannot be seen.

    `target`: the socket of a guest that was started with one for debuggers.
    """
    command = [*gdb_command(target, *LOOK), "-batch"]
    try:
        ended = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               errors="replace", timeout=patience, check=False)
    except subprocess.TimeoutExpired as late:
        said = late.stdout or b""
        return f"gdb had not seen all after {patience:.0f} s\n{said.decode(errors='replace') if isinstance(said, bytes) else said}"
    return ended.stdout


def debug(machine: Machine, append: str, program: list[str]) -> int:
    if somebody_waits():
        return subprocess.run(gdb_command(f":{qemu.GDB_PORT}", "info threads"), check=False).returncode
    argv, files = payload.resolve(program)
    directory = SERIAL.parent
    directory.mkdir(parents=True, exist_ok=True)
    initramfs = payload.initramfs(files, directory)
    boot = Boot(paths.KERNEL_ELF, initramfs, command_line.compose([append], argv))
    wiring = qemu.Wiring(serial=f"file:{SERIAL}", debug_console=directory / "e9.txt")
    guest = emulators.start(qemu.command(machine, boot, wiring), stdin=subprocess.DEVNULL)
    print(f"The guest's serial line goes to {paths.shown(SERIAL)} (tail -f shows it).")
    try:
        _await_door(guest)
        return subprocess.run(gdb_command(f":{qemu.GDB_PORT}", "info threads"), check=False).returncode
    finally:
        emulators.stop(guest)


def _await_door(guest: subprocess.Popen[bytes]) -> None:
    """gdb tries once only, so wait until QEMU listens (or has ended, which gdb will say)."""
    for _ in range(600):
        if guest.poll() is not None or somebody_waits():
            return
        try:
            guest.wait(0.1)
        except subprocess.TimeoutExpired:
            pass
