"""From the kernel's first instruction to the prompt, and the memory in use there.

The clock starts when the emulator is about to execute the kernel's entry point
(a breakpoint), so that firmware and loader count for neither system, and stops
when the shell's prompt has arrived. Memory is what the kernel itself tells.
"""

from __future__ import annotations

import functools
import re
import time
from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path

from lab import command_line, elf, guest, linux, paths
from lab.bench import failures, hangs, plot, systems, table
from lab.bench.bench import Bench, runs_of
from lab.bench.results import Results, Row, medians
from lab.gdbstub import GdbStub
from lab.machine import Boot, Machine
from lab.problem import Problem
from lab.progress import Progress

NAME = "boot"
# Documentation/arch/x86/boot.rst: a bzImage's 32-bit entry is where it is loaded.
LINUX_ENTRY = 0x100000
METRICS = {
    "boot_ms": "kernel entry to prompt, ms of wall time",
    "used_kib": "MemTotal - MemFree, KiB",
    "unfree_kib": "all of the machine's memory - MemFree, KiB",
}


@dataclass(frozen=True)
class Plan:
    systems: tuple[str, ...]
    cores: tuple[int, ...]
    runs: int


def _boot(system: str, work: Path) -> tuple[Boot, int]:
    """What to boot into a shell, and the address of its first instruction."""
    if system == "linux":
        initramfs = linux.initramfs(work / "linux-shell.cpio", {})
        return Boot(linux.kernel(), initramfs, " ".join(linux.options("qemu"))), LINUX_ENTRY
    return Boot(paths.KERNEL_ELF, paths.INITRAMFS, command_line.compose(["quiet"])), elf.pvh_entry(paths.KERNEL_ELF)


def meminfo(text: str) -> dict[str, int]:
    """KiB by name."""
    return {name: int(value) for name, value in re.findall(r"^(\w+):\s+(\d+) kB", text, re.MULTILINE)}


def once(system: str, cores: int) -> dict[str, float]:
    boot, entry = _boot(system, paths.BUILD / "bench")
    with guest.Guest(Machine(cores, memory_mib=systems.MEMORY_MIB, wait_for_debugger=True), boot, gdb=True) as machine:
        stub = GdbStub(machine.gdb_socket)
        stub.run_to(entry)
        begin = time.monotonic()
        stub.detach()
        machine.prompt()
        elapsed = time.monotonic() - begin
        memory = meminfo(machine.run("cat /proc/meminfo").output)
    if "MemTotal" not in memory or "MemFree" not in memory:
        raise Problem(f"{system}'s /proc/meminfo names no MemTotal and MemFree: {memory}")
    return {
        "boot_ms": 1000.0 * elapsed,
        "used_kib": memory["MemTotal"] - memory["MemFree"],
        "unfree_kib": systems.MEMORY_MIB * 1024 - memory["MemFree"],
    }


def measure(plan: Plan) -> Results:
    rows: list[Row] = []
    turns = [(cores, run) for cores in plan.cores for run in range(plan.runs)]
    with failures.keeping(rows), Progress("Measuring boots on qemu") as progress:
        for number, (cores, run) in enumerate(turns):
            for system in plan.systems if run % 2 == 0 else plan.systems[::-1]:
                progress.of(number, len(turns), f"{system}, {cores} cores")
                boot = functools.partial(once, system, cores)
                with failures.of_guest(f"{system} with {cores} cores"):
                    measured = hangs.survived(boot) if system == "linux" else boot()
                rows += [Row(system, "qemu", cores, 0, metric, value) for metric, value in measured.items()]
        progress.done(f"{len(rows) // len(METRICS)} boots")
    return Results(NAME, medians(rows))


def report(results: Results, plan: Plan) -> list[str]:
    out = [f"Boot to the shell's prompt, {systems.MEMORY_MIB} MiB, median of {plan.runs}; qemu (wall time, noisy)."]
    for metric, meaning in METRICS.items():
        body = []
        for cores, _ in results.points():
            corral, other = (results.value(system, cores, 0, metric) for system in ("corral", "linux"))
            body.append([str(cores), table.number(corral, 0), table.number(other, 0),
                         table.number(table.ratio(corral, other), 3)])
        out += ["", meaning, "", *table.lines(["cores", "Corral", "Linux", "ratio"], body)]
    return out


def draw(results: Results, files: list[Path]) -> None:
    """Bars by core count: time to the prompt, and memory in use there."""
    figure, panels = plot.figure(9, 4)
    cores = sorted({at for at, _ in results.points()})
    for axes, metric, scale, label in zip(panels, ("boot_ms", "used_kib"), (1.0, 1024.0),
                                          ("kernel entry to prompt, ms", "memory in use at the prompt, MiB")):
        for offset, system in ((-0.2, "corral"), (0.2, "linux")):
            values = [(results.value(system, at, 0, metric) or 0.0) / scale for at in cores]
            axes.bar([index + offset for index in range(len(cores))], values, 0.4, color=plot.COLOURS[system], label=system)
        axes.set_xticks(range(len(cores)), [str(at) for at in cores])
        axes.set_xlabel("cores")
        axes.set_ylabel(label)
        axes.legend(fontsize="small")
    plot.save(figure, files)


def plan_of(values: Namespace, _: str, chosen: tuple[str, ...]) -> Plan:
    return Plan(chosen, tuple(values.cores or ((4,) if values.quick else (1, 2, 4))), runs_of(values))


BENCH = Bench(NAME, "kernel entry to prompt, and the memory in use there", {"wall": "qemu"}, plan_of, measure, report, draw,
              common=("cores", "runs", "system"))
