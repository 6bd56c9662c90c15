"""Builds the CMake projects, with progress and with errors that help.

Compiler output is shown only when something fails or with `verbose`; the whole
log stays in the build directory.
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from lab import files, paths, stack_source
from lab.problem import Problem
from lab.progress import Progress

SHOWN_LINES = 40
STEP = re.compile(r"^\[(\d+/\d+)\] (.*)$")


@dataclass(frozen=True)
class Project:
    title: str
    source: Path
    build: Path
    targets: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()  # for CMake


KERNEL = Project("kernel", paths.KERNEL_SOURCE, paths.KERNEL_BUILD, ("corral.elf",))
CHECKED_KERNEL = Project("kernel that checks itself", paths.KERNEL_SOURCE, paths.CHECKED_KERNEL_BUILD, ("corral.elf",),
                         ("-DCORRAL_UBSAN=ON", "-DCORRAL_PLANTED=ON"))
TEST_KERNEL = Project("test kernel, which has policies that do wrong", paths.KERNEL_SOURCE, paths.KERNEL_BUILD,
                      ("corral-test.elf",))
TIDY = Project("list of sources for clang-tidy", paths.KERNEL_SOURCE, paths.TIDY_BUILD, ("generated_sources",),
               ("-DCORRAL_PRECOMPILE=OFF",))
USER = Project("programs", paths.USER_SOURCE, paths.USER_BUILD, ("initramfs",))
SIMULATOR = Project("simulator", paths.SIMULATOR_SOURCE, paths.SIMULATOR_BUILD, ("corral-sim",))
PLUGIN = Project("cache model", paths.PLUGIN_SOURCE, paths.PLUGIN_BUILD, ("cache-model",))
HOST_TESTS = Project("host tests", paths.HOST_TESTS_SOURCE, paths.HOST_TESTS_BUILD)


def build(project: Project, *, verbose: bool = False) -> None:
    """Configures the project when needed and builds it. A Problem when that fails."""
    _prepare(project)
    with files.exclusive(project.build):
        progress = Progress(f"Building the {project.title}")
        with open(project.build / "corral-build.log", "wb") as log:
            if not (project.build / "build.ninja").is_file():
                _configure(project, progress, log, verbose)
            worked = _step(
                ["ninja", "-C", str(project.build), *project.targets], project, progress, log, verbose
            )
        progress.done(quiet=not worked)


def configure(project: Project, *, verbose: bool = False) -> None:
    """Writes the project's list of compilations anew, and compiles nothing."""
    _prepare(project)
    with files.exclusive(project.build):
        progress = Progress(f"Writing the {project.title}")
        with open(project.build / "corral-build.log", "wb") as log:
            _configure(project, progress, log, verbose)
        progress.done(quiet=True)


def _prepare(project: Project) -> None:
    """Fetches what it is built from and does not contain."""
    if project.source == paths.KERNEL_SOURCE:
        stack_source.ensure()


def _configure(project: Project, progress: Progress, log: object, verbose: bool) -> None:
    if not (project.source / "CMakeLists.txt").is_file():
        raise Problem(
            f"{paths.shown(project.source)}/CMakeLists.txt is missing",
            "this checkout is not complete: git status, then git checkout what is missing",
        )
    progress.step("configuring")
    _step(
        ["cmake", "-G", "Ninja", "-S", str(project.source), "-B", str(project.build), *project.settings],
        project, progress, log, verbose,
    )


def build_system(*, verbose: bool = False) -> None:
    """Kernel and initramfs: what a boot needs."""
    build(KERNEL, verbose=verbose)
    build(USER, verbose=verbose)
    for product in (paths.KERNEL_ELF, paths.INITRAMFS):
        if not product.is_file():
            raise Problem(
                f"the build ended without {paths.shown(product)}",
                f"remove {paths.shown(product.parent)} and try again",
            )


def _step(command: list[str], project: Project, progress: Progress, log: object, verbose: bool) -> bool:
    """Runs one command; True when it said that it did something."""
    try:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
    except FileNotFoundError:
        raise Problem(f"{command[0]} is not installed", "./corral setup") from None
    assert child.stdout is not None
    lines: list[str] = []
    worked = False
    for raw in child.stdout:
        log.write(raw)  # type: ignore[attr-defined]
        line = raw.decode(errors="replace").rstrip()
        lines.append(line)
        if verbose:
            print(line, file=sys.stderr)
        elif found := STEP.match(line):
            worked = True
            progress.step(f"[{found[1]}] {found[2]}")
    if child.wait() != 0:
        progress.failed()
        if not verbose:
            print("\n".join(failure(lines)), file=sys.stderr)
        raise Problem(
            f"building the {project.title} failed",
            f"the errors are above, the whole log is {paths.shown(project.build / 'corral-build.log')}; "
            f"after a change of tools: rm -r {paths.shown(project.build)}",
        )
    return worked


def failure(lines: list[str]) -> list[str]:
    """The part of a build's output that tells why it failed: from ninja's FAILED on."""
    begin = next((i for i, line in enumerate(lines) if line.startswith("FAILED:")), None)
    if begin is None:
        return lines[-SHOWN_LINES:]
    return lines[begin : begin + SHOWN_LINES]
