"""Where things are. Every other module asks here instead of joining strings."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"

KERNEL_SOURCE = ROOT / "kernel"
KERNEL_BUILD = BUILD / "kernel"
KERNEL_ELF = KERNEL_BUILD / "corral.elf"
TEST_KERNEL_ELF = KERNEL_BUILD / "corral-test.elf"
CHECKED_KERNEL_BUILD = BUILD / "kernel-checked"
CHECKED_KERNEL_ELF = CHECKED_KERNEL_BUILD / "corral.elf"
TIDY_BUILD = BUILD / "tidy"
STACK_SOURCE = BUILD / "lwip" / "source"

USER_SOURCE = ROOT / "user"
USER_BUILD = BUILD / "user"
INITRAMFS = USER_BUILD / "initramfs.cpio"
PROGRAMS = USER_BUILD / "programs"

SIMULATOR_SOURCE = ROOT / "sim"
SIMULATOR_BUILD = BUILD / "sim"
SIMULATOR = SIMULATOR_BUILD / "corral-sim"

PLUGIN_SOURCE = ROOT / "lab" / "plugin"
PLUGIN_BUILD = BUILD / "plugin"
PLUGIN = PLUGIN_BUILD / "cache-model.so"

HOST_TESTS_SOURCE = ROOT / "tests" / "host"
HOST_TESTS_BUILD = BUILD / "tests-host"
SYSTEM_TESTS = ROOT / "tests" / "system"
SIMULATOR_TESTS = ROOT / "tests" / "simulator"
LAB_TESTS = ROOT / "lab" / "tests"

DEBIAN = BUILD / "debian"
LINUX = BUILD / "linux"
RESULTS = BUILD / "results"
IMAGE = BUILD / "corral.iso"


def shown(path: Path) -> str:
    """The path as a person would type it: relative when it is inside the tree."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
