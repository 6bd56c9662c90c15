"""QEMU's command line for a Corral machine.

No hardware virtualisation is expected: TCG emulates every core in a host thread
of its own. With a seed all cores take turns in one thread and time counts
instructions, so that the run repeats (`-icount` refuses several threads): 8 ns
each (2^shift), as waiting by the clock costs fewer instructions the longer they are.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from lab.machine import Boot, Folder, Machine
from lab.problem import Problem

PROGRAM = "qemu-system-x86_64"
OVMF = Path("/usr/share/OVMF")
GDB_PORT = 1234
# QEMU counts every repetition of a string instruction. Without ERMS kernels copy eight bytes with each, which is the
# fairer count: with it Linux would be charged 4,096 instructions for clearing a page.
COUNTING_PROCESSOR = "max,-erms,-fsrm"


@dataclass(frozen=True)
class Wiring:
    """Where the guest's ports lead on the host.

    serial: a QEMU character device; "mon:stdio" also gives the monitor, and
    Ctrl-A X leaves. debug_console: file that gets every byte written to 0xE9.
    qmp: socket for machine control, gdb: QEMU's word for the debugger's door.
    """

    serial: str = "mon:stdio"
    debug_console: Path | None = None
    qmp: Path | None = None
    gdb: str | None = None
    display: str = "none"


def has_virtualisation(cpuinfo: str) -> bool:
    """Whether the host's processor offers it (Intel: vmx, AMD: svm)."""
    return re.search(r"^flags\s*:.*\b(vmx|svm)\b", cpuinfo, re.MULTILINE) is not None


def usable_kvm() -> bool:
    try:
        with open("/dev/kvm", "r+b"):
            return has_virtualisation(Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace"))
    except OSError:
        return False


def _repeatable(shift: int, seed: int, processor: str) -> list[str]:
    return [
        "-accel", "tcg,thread=single",
        "-icount", f"shift={shift},sleep=off",
        "-rtc", "base=2024-01-01,clock=vm",
        "-seed", str(seed),
        "-cpu", processor,
    ]  # fmt: skip


def acceleration(machine: Machine, *, kvm: bool) -> list[str]:
    if machine.count_instructions:
        return _repeatable(0, 1, COUNTING_PROCESSOR)
    if machine.seed is not None:
        return _repeatable(3, machine.seed, "max")
    if kvm:
        return ["-accel", "kvm", "-cpu", "host"]
    return ["-accel", "tcg,thread=multi", "-cpu", "max"]


def _escaped(path: Path) -> str:
    """QEMU separates options by commas and doubles those that are meant."""
    return str(path).replace(",", ",,")


def uefi_firmware() -> list[str]:
    """OVMF's code and an empty store of its variables; what it writes there is forgotten."""
    code, variables = (OVMF / name for name in ("OVMF_CODE_4M.fd", "OVMF_VARS_4M.fd"))
    if not code.is_file():
        raise Problem(f"{code} is missing", "./corral setup uefi, or apt-get install ovmf")
    return [
        "-drive", f"if=pflash,format=raw,unit=0,readonly=on,file={code}",
        "-drive", f"if=pflash,format=raw,unit=1,snapshot=on,file={variables}",
    ]


def shared_folder(number: int, folder: Folder) -> list[str]:
    """Root may give the guest's owners and device files to the host's folder; others keep what they may."""
    security = "passthrough" if os.geteuid() == 0 else "none"
    return [
        "-fsdev", f"local,id=folder{number},path={_escaped(folder.path)},security_model={security},multidevs=remap",
        "-device", f"virtio-9p-pci,fsdev=folder{number},mount_tag={folder.tag}",
    ]  # fmt: skip


def check_folders() -> None:
    """This QEMU can share folders (a build may lack it)."""
    listed = subprocess.run([PROGRAM, "-device", "help"], capture_output=True, text=True, check=False).stdout
    if '"virtio-9p-pci"' not in listed:
        raise Problem("this QEMU cannot share a folder with the guest: it was built without virtio-9p",
                      "install Debian's qemu-system-x86 (./corral setup), or leave out --root and --share")


def command(machine: Machine, boot: Boot, wiring: Wiring, *, kvm: bool = False) -> list[str]:
    line = [
        PROGRAM, "-nodefaults", "-machine", "q35",
        *acceleration(machine, kvm=kvm),
        "-smp", f"{machine.cores},maxcpus={machine.max_cores or machine.cores}",
        "-m", f"{machine.memory_mib}M",
        "-vga", "std",
        "-display", wiring.display,
        "-serial", wiring.serial,
        "-no-reboot",
    ]
    if not wiring.serial.startswith("mon:"):
        line += ["-monitor", "none"]
    for number, disk in enumerate(machine.disks):
        line += ["-drive", f"file={_escaped(disk)},if=none,id=disk{number},format=raw",
                 "-device", f"virtio-blk-pci,drive=disk{number}"]  # fmt: skip
    if machine.plugin is not None:
        line += ["-plugin", machine.plugin]
    line += machine.more
    for number, folder in enumerate(machine.folders):
        line += shared_folder(number, folder)
    if boot.uefi:
        line += uefi_firmware()
    if boot.iso is not None and boot.stick:
        line += ["-drive", f"if=ide,format=raw,snapshot=on,file={_escaped(boot.iso)}"]
    elif boot.iso is not None:
        line += ["-cdrom", str(boot.iso), "-boot", "d"]
    if boot.kernel is not None:
        line += ["-kernel", str(boot.kernel), "-append", boot.command_line]
    if boot.initramfs is not None:
        line += ["-initrd", str(boot.initramfs)]
    if wiring.debug_console is not None:
        line += [
            "-chardev", f"file,id=debugconsole,path={_escaped(wiring.debug_console)}",
            "-device", "isa-debugcon,iobase=0xe9,chardev=debugconsole",
        ]
    if wiring.qmp is not None:
        line += ["-qmp", f"unix:{_escaped(wiring.qmp)},server=on,wait=off"]
    if machine.wait_for_debugger:
        line += ["-S", "-gdb", wiring.gdb or f"tcp:127.0.0.1:{GDB_PORT}"]
    elif wiring.gdb is not None:
        line += ["-gdb", wiring.gdb]
    return line
