"""Hybrid images: boot by BIOS or by UEFI, from a disc or from a USB stick, by GRUB.

Reproducible byte for byte, because Bochs repeats a run only from an identical
image: grub-mkimage and xorriso are called directly with one fixed time (grub-
mkrescue stamps the present). The boot sector `boot_hybrid.img` makes the same
file start from a disk, as grub-mkrescue does it. UEFI wants a FAT file system
with EFI/BOOT/BOOTX64.EFI in it: for a disc one that El Torito names, for a disk
a partition; both are the same bytes, appended to the image.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from lab import command_line
from lab.problem import Problem

EPOCH = 1704067200  # 2024-01-01: the date that deterministic machines start at
GRUB = Path("/usr/lib/grub/i386-pc")
GRUB_UEFI = Path("/usr/lib/grub/x86_64-efi")
LABEL = "CORRAL"
FAT_KIB = 2880
MODULES = (
    "iso9660", "part_msdos", "normal", "configfile", "echo", "test",
    "search", "search_label", "serial", "terminal", "multiboot2", "linux", "boot",
)
BIOS_MODULES = ("biosdisk", *MODULES)
UEFI_MODULES = ("efi_gop", *MODULES)
SYSTEM_AREA_BYTES = 32768


@dataclass(frozen=True)
class Entry:
    """What the image boots: `protocol` is GRUB's command, multiboot2 or linux."""

    protocol: str
    kernel: Path
    initramfs: Path | None
    line: str


def grub_cfg(entry: Entry, *, quiet: bool) -> str:
    """Serial and screen both show the loader, unless `quiet` (the port is slow in Bochs)."""
    lines = ["set timeout=0", "set default=0"]
    if not quiet:
        lines += ["serial --unit=0 --speed=115200", "terminal_input serial console", "terminal_output serial console"]
    module = {"multiboot2": "module2", "linux": "initrd"}[entry.protocol]
    kernel_words = command_line.for_grub(entry.line)
    lines += ["menuentry 'Corral' {" if entry.protocol == "multiboot2" else "menuentry 'Linux' {"]
    lines += [f"  {entry.protocol} /boot/kernel {kernel_words}".rstrip()]
    if entry.protocol == "multiboot2":
        # The command has just set this to what the kernel's header would like. A BIOS has a text mode, so no picture need be
        # asked for: not every video BIOS survives that (Bochs' does not).
        lines += ['  if [ "$grub_platform" = pc ]; then set gfxpayload=text; fi']
    if entry.initramfs is not None:
        lines += [f"  {module} /boot/initramfs.cpio"]
    return "\n".join([*lines, "  boot", "}", ""])


def make(entry: Entry, image: Path, *, quiet: bool = False) -> Path:
    """Writes the image and returns its path."""
    for grub, package in ((GRUB, "grub-pc-bin"), (GRUB_UEFI, "grub-efi-amd64-bin")):
        if not grub.is_dir():
            raise Problem(f"{grub} is missing", f"./corral setup, or apt-get install {package}")
    image.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="corral-iso-") as name:
        work = Path(name)
        tree = work / "tree"
        (tree / "boot" / "grub").mkdir(parents=True)
        shutil.copyfile(entry.kernel, tree / "boot" / "kernel")
        if entry.initramfs is not None:
            shutil.copyfile(entry.initramfs, tree / "boot" / "initramfs.cpio")
        (tree / "boot" / "grub" / "grub.cfg").write_text(grub_cfg(entry, quiet=quiet), encoding="utf-8")
        _loader(work, tree / "boot" / "grub" / "eltorito.img")
        fat = _uefi_file_system(work)
        _settle(tree)
        fresh = work / "image.iso"
        _run([
            "xorriso", "-as", "mkisofs", "-quiet", "-r", "-V", LABEL,
            "-b", "boot/grub/eltorito.img", "-no-emul-boot", "-boot-load-size", "4",
            "-boot-info-table", "--grub2-boot-info",
            "--grub2-mbr", str(GRUB / "boot_hybrid.img"),
            "-append_partition", "2", "0xef", str(fat),
            "-eltorito-alt-boot", "-e", "--interval:appended_partition_2:all::", "-no-emul-boot",
            "-o", str(fresh), str(tree),
        ])  # fmt: skip
        shutil.move(fresh, image)
    return image


def _loader(work: Path, target: Path) -> None:
    """GRUB with its modules inside; an early script finds the image by its label."""
    early = _early_script(work)
    core = work / "core.img"
    _run(["grub-mkimage", "-O", "i386-pc", "-c", str(early), "-p", "/boot/grub", "-o", str(core), *BIOS_MODULES])
    target.write_bytes((GRUB / "cdboot.img").read_bytes() + core.read_bytes())


def _early_script(work: Path) -> Path:
    early = work / "early.cfg"
    early.write_text(f"search --no-floppy --label --set=root {LABEL}\nset prefix=($root)/boot/grub\n",
                     encoding="ascii")
    return early


def _uefi_file_system(work: Path) -> Path:
    """A FAT file system with the loader where UEFI looks on removable media (UEFI 2.10, 3.5.1.1)."""
    loader = work / "BOOTX64.EFI"
    _run(["grub-mkimage", "-O", "x86_64-efi", "-c", str(_early_script(work)), "-p", "/boot/grub", "-o", str(loader),
          *UEFI_MODULES])
    os.utime(loader, (EPOCH, EPOCH))
    fat = work / "efi.img"
    with open(fat, "wb") as file:
        file.truncate(FAT_KIB * 1024)
    _run(["mformat", "-i", str(fat), "-f", str(FAT_KIB), "-N", "434f5252", "-v", LABEL, "::"])
    _run(["mmd", "-i", str(fat), "::/EFI", "::/EFI/BOOT"])
    _run(["mcopy", "-m", "-i", str(fat), str(loader), "::/EFI/BOOT/BOOTX64.EFI"])
    return fat


def _settle(tree: Path) -> None:
    """Times and permissions that do not depend on who builds, and when."""
    for path in sorted(tree.rglob("*"), reverse=True):
        path.chmod(0o755 if path.is_dir() else 0o644)
        os.utime(path, (EPOCH, EPOCH))
    tree.chmod(0o755)
    os.utime(tree, (EPOCH, EPOCH))


def _run(command: list[str]) -> None:
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(EPOCH), "LC_ALL": "C", "TZ": "UTC"}
    try:
        ended = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        raise Problem(f"{command[0]} is not installed", "./corral setup") from None
    if ended.returncode != 0:
        raise Problem(f"{command[0]} failed: {ended.stderr.strip()[-600:]}", "./corral setup brings the tools needed")
