"""What machine to emulate and what to boot on it: the words all emulators share."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from lab.problem import WRONG_USE, Problem

MAX_CORES_QEMU = 255
MAX_CORES_BOCHS = 15


@dataclass(frozen=True)
class Folder:
    """A folder of the host that the guest mounts by its tag (9P)."""

    tag: str
    path: Path


@dataclass(frozen=True)
class Machine:
    """The emulated PC. `seed` asks for a run that repeats instruction by instruction, `count_instructions` for one
    whose clocks count instructions, one a nanosecond (one core only: Linux starves a core otherwise).

    With `max_cores` above `cores` the firmware also lists processors that are not there.
    """

    cores: int = 4
    max_cores: int | None = None
    memory_mib: int = 512
    seed: int | None = None
    wait_for_debugger: bool = False
    count_instructions: bool = False
    folders: tuple[Folder, ...] = ()
    disks: tuple[Path, ...] = ()  # files with the disks' bytes
    plugin: str | None = None  # what QEMU loads, with its words (lab/cache_model.py); it works with TCG only
    more: tuple[str, ...] = ()  # further words for QEMU, as they are


@dataclass(frozen=True)
class Boot:
    """Kernel, initramfs and command line; `iso` instead boots that image by the firmware: BIOS, or with `uefi` UEFI.

    `stick` shows the image as a disk (a USB stick's copy), not as a disc.
    """

    kernel: Path | None = None
    initramfs: Path | None = None
    command_line: str = ""
    iso: Path | None = None
    uefi: bool = False
    stick: bool = False


def told_cores(cores: int) -> str:
    """`1 core` or `4 cores`."""
    return f"{cores} core{'s' if cores > 1 else ''}"


def memory_mib(text: str) -> int:
    """`512M` or `2G` in MiB."""
    found = re.fullmatch(r"(\d+)([MG]?)", text.upper())
    if not found or int(found[1]) == 0:
        raise Problem(f"--memory {text}: this is no amount of memory", "for example --memory 512M or --memory 2G",
                      WRONG_USE)
    amount = int(found[1]) * (1024 if found[2] == "G" else 1)
    if amount < 32:
        raise Problem(f"--memory {text}: too little to boot anything", "give at least 64M", WRONG_USE)
    return amount


def check_cores(cores: int, emulator: str) -> None:
    limit = MAX_CORES_BOCHS if emulator == "bochs" else MAX_CORES_QEMU
    if not 1 <= cores <= limit:
        raise Problem(f"--cores {cores}: {emulator} emulates 1 to {limit} cores", f"give --cores 1 to {limit}",
                      WRONG_USE)
