"""The Debian packages that Corral's commands use, and how they get installed.

The table is the only place that names packages. Each serves some *uses*; every
sub-command states its uses, and only what those need is asked for.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from lab.problem import Problem


@dataclass(frozen=True)
class Package:
    name: str
    purpose: str
    uses: frozenset[str]


def _package(name: str, purpose: str, *uses: str) -> Package:
    return Package(name, purpose, frozenset(uses))


TABLE: tuple[Package, ...] = (
    _package("clang-19", "compiles the kernel", "build", "host-tests", "simulator", "model"),
    _package("lld-19", "links the kernel", "build", "host-tests", "simulator", "model"),
    _package("llvm-19", "looks into the linked kernel (llvm-objdump, llvm-nm)", "build"),
    _package("cmake", "describes the builds", "build", "host-tests", "simulator", "model"),
    _package("ninja-build", "carries out the builds", "build", "host-tests", "simulator", "model"),
    _package("gcc", "compiles static C programs for the guest, and checkers of models", "build", "models"),
    _package("g++", "compiles static C++ programs for the guest; the C++ library", "build", "simulator", "model"),
    _package("libc6-dev", "static C library for the guest's programs", "build", "host-tests", "simulator", "model"),
    _package("musl-tools", "a second C library for the guest's programs", "build"),
    _package("e2fsprogs", "makes and checks ext2 file systems, for the tests", "host-tests", "qemu"),
    _package("busybox-static", "shell and tools of the guest", "build", "linux"),
    _package("qemu-system-x86", "the emulated PC", "qemu"),
    _package("python3-pyte", "a terminal for full-screen programs, for the tests", "qemu"),
    _package("ovmf", "the emulated PC's UEFI firmware", "uefi"),
    _package("bochs", "the second emulated PC, with virtual time", "bochs"),
    _package("bochsbios", "its firmware", "bochs"),
    _package("vgabios", "its graphics firmware", "bochs"),
    _package("grub-pc-bin", "the boot loader of images", "image"),
    _package("grub-efi-amd64-bin", "the boot loader of images under UEFI", "image"),
    _package("mtools", "writes the small file system that UEFI starts from", "image"),
    _package("grub-common", "grub-mkimage, and the font of the screen under UEFI", "image", "build"),
    _package("xorriso", "writes images", "image"),
    _package("libgtest-dev", "GoogleTest, for the host's unit tests", "host-tests"),
    _package("libclang-rt-19-dev", "sanitizers, for the host's unit tests", "host-tests"),
    _package("relacy-dev", "checks lock-free code, for the host's unit tests", "host-tests"),
    _package("nlohmann-json3-dev", "reads and writes JSON, for the simulator", "simulator"),
    _package("clang-format-19", "checks the form of the sources", "style"),
    _package("pyflakes3", "checks our Python for mistakes", "style"),
    _package("mypy", "checks that our Python names and calls what there is", "style"),
    _package("clang-tidy-19", "checks the sources for names and for mistakes", "style"),
    _package("golang-1.19-go", "compiles Go's own tests for the guest", "go"),
    _package("golang-1.19-src", "Go's own tests", "go"),
    _package("tzdata", "time zones, for Go's own tests", "go"),
    _package("debootstrap", "installs a whole Debian into a folder, for `./corral test --all`", "whole-debian"),
    _package("spin", "checks the models of the protocols", "models"),
    _package("gdb", "the debugger", "debug"),
    _package("python3-matplotlib", "draws plots", "plot"),
    _package("python3-scipy", "tests whether figures that vary differ", "statistics", "report"),
    _package("python3-plotly", "draws charts that a browser lets one look into", "report"),
    _package("chromium", "a browser, for the tests of reports", "browser"),
    _package("chromium-driver", "drives it", "browser"),
    _package("python3-selenium", "drives it from Python", "browser"),
    _package("python3-distributed", "hands a sweep's points to the workers of a Dask cluster", "cluster"),
)

# By use, what is started where no package manager tells what is installed.
PROGRAMS = {"qemu": "qemu-system-x86_64", "bochs": "bochs", "build": "ninja", "simulator": "ninja"}
USES = frozenset(use for package in TABLE for use in package.uses)


def needed(uses: Iterable[str]) -> list[Package]:
    wanted = set(uses)
    unknown = wanted - USES
    if unknown:
        raise ValueError(f"no package serves {sorted(unknown)}")
    return [package for package in TABLE if package.uses & wanted]


def installed(names: Iterable[str]) -> set[str]:
    """Which of these packages dpkg knows as fully installed."""
    answer = subprocess.run(
        ["dpkg-query", "-W", "-f=${db:Status-Status} ${Package}\n", *names],
        capture_output=True,
        text=True,
        check=False,  # unknown names make it exit 1 and still list the others
    )
    lines = (line.split(" ", 1) for line in answer.stdout.splitlines())
    return {name for status, name in lines if status == "installed"}


def missing(uses: Iterable[str]) -> list[Package]:
    wanted = needed(uses)
    there = installed(package.name for package in wanted)
    return [package for package in wanted if package.name not in there]


def ensure(uses: Iterable[str], *, yes: bool, ask: Callable[[str], str] = input) -> bool:
    """Installs what `uses` still lack, after asking. True when something was installed."""
    if shutil.which("dpkg-query") is None or shutil.which("apt-get") is None:
        names = " ".join(package.name for package in needed(uses))
        print(
            "corral: this is no Debian system, so packages are not checked. "
            f"What Debian calls these is expected: {names}",
            file=sys.stderr,
        )
        check_programs(uses)
        return False
    lacking = missing(uses)
    if not lacking:
        check_programs(uses)  # installed, but perhaps not where programs are looked for
        return False
    print("These Debian packages are missing:", file=sys.stderr)
    for package in lacking:
        print(f"  {package.name:<22} {package.purpose}", file=sys.stderr)
    if not (yes or os.environ.get("CI") == "true"):
        _ask(ask, lacking)
    _install([package.name for package in lacking])
    return True


def check_programs(uses: Iterable[str]) -> None:
    """A Problem when an emulator that these uses start is not there: it would only be missed when all else is done."""
    absent = [name for use, name in PROGRAMS.items() if use in set(uses) and shutil.which(name) is None]
    if absent:
        raise Problem(f"{' and '.join(absent)} cannot be found", "install what provides it, and look whether it is in PATH")


def _ask(ask: Callable[[str], str], lacking: list[Package]) -> None:
    by_hand = "apt-get install " + " ".join(package.name for package in lacking)
    mend = f"give --yes, or install them yourself: {by_hand}"
    if not sys.stdin.isatty():
        raise Problem("there is no terminal to ask at whether to install them", mend)
    if ask("Install them now? [Y/n] ").strip().lower() not in ("", "y", "yes"):
        raise Problem("nothing was installed", mend)


def _privileged() -> list[str]:
    """What to put before a command that only root may do."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") is None:
        raise Problem("packages are missing, you are not root, and there is no sudo",
                      "as root: ./corral setup --yes")
    return ["sudo"]


def update_lists() -> None:
    """Fetches the package lists, which a fresh machine lacks and an old one has outdated."""
    _apt([*_privileged(), "apt-get", "-q", "update"], "are you online, and is /etc/apt/sources.list right?")


def _install(names: list[str]) -> None:
    update_lists()
    _apt(
        [*_privileged(), "env", "DEBIAN_FRONTEND=noninteractive",
         "apt-get", "-q", "-y", "install", "--no-install-recommends", *names],
        "read apt's message above; Corral is made for Debian 12",
    )  # fmt: skip


def _apt(command: list[str], mend: str) -> None:
    # apt's own output goes to standard error: standard output is the program's.
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False)
    if ended.returncode != 0:
        raise Problem(f"`{' '.join(command)}` failed", mend)
