"""The cache model that QEMU loads (lab/plugin/, docs/cache-model.md): how it is asked for, and tables of what it counted."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab import paths
from lab.bench import table
from lab.problem import WRONG_USE, Problem

PRESETS = ("pi", "today")
EVENTS = ("instructions", "cycles", "accesses", "refills", "l2_refills", "snoops")
MODES = ("user", "kernel")
NEEDS_SEED = ("quantum=", "clock=stalls", "clock=parallel")
SHOWN_THREADS = 20
END = "end"  # the label of the report that is written when QEMU ends

Sums = dict[str, int]  # by the event's name


def plugin(parameters: str, report: Path, *, seeded: bool) -> str:
    """The words after QEMU's `-plugin`. `parameters` are the user's, by commas; the plugin itself says what is wrong with them."""
    words = [word for word in parameters.split(",") if word]
    for word in words:
        if word.startswith("out="):
            raise Problem(f"--model: {word} is for the plugin alone", "--model-report FILE keeps the report", WRONG_USE)
        if word.startswith(NEEDS_SEED) and word != "quantum=0" and not seeded:
            raise Problem(f"--model: {word} needs a machine whose cores take turns", "give --seed N as well", WRONG_USE)
    words = [f"preset={word}" if word in PRESETS else word for word in words]
    return ",".join([_escaped(paths.PLUGIN), *words, f"out={_escaped(report)}"])


def _escaped(path: Path) -> str:
    """QEMU separates words by commas and doubles those that are meant."""
    return str(path).replace(",", ",,")


@dataclass(frozen=True)
class Report:
    label: str
    l1: Sums
    l2: Sums
    l2_cores: int  # that share one
    cores: list[dict[str, Any]]  # "core": its number; "user" and "kernel": Sums
    threads: list[dict[str, Any]]  # the same with "thread" and "name"; thread 0: while no thread was known to run

    def total(self, mode: str, event: str) -> int:
        return sum(core[mode][event] for core in self.cores)

    def thread(self, name: str) -> dict[str, Sums]:
        """All threads of this name together."""
        return _together(each for each in self.threads if each["name"] == name)


def read(file: Path) -> list[Report]:
    """In the order in which they were written; the last one is of the end."""
    if not file.is_file():
        return []
    reports = []
    for line in file.read_text(encoding="ascii").splitlines():
        told = json.loads(line)
        reports.append(Report(told["label"], told["l1"], told["l2"], told["l2_cores"], told["cores"], told["threads"]))
    return reports


def _together(rows: Iterable[dict[str, Any]]) -> dict[str, Sums]:
    all_rows = list(rows)
    return {mode: {event: sum(row[mode][event] for row in all_rows) for event in EVENTS} for mode in MODES}


def _size(cache: Sums) -> str:
    size = cache["size"]
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"


def _rows(who: str, sums: dict[str, Any]) -> list[list[str]]:
    return [[who if mode == "user" else "", mode, *(str(sums[mode][event]) for event in EVENTS)] for mode in MODES]


def lines(report: Report) -> list[str]:
    """For people."""
    title = "at the end" if report.label == END else f"at mark {report.label}"
    sharers = f" by {report.l2_cores} cores each" if report.l2_cores < len(report.cores) else ""
    out = [f"cache model, {title}: L1 {_size(report.l1)}, {report.l1['ways']} ways, of each core; "
           f"L2 {_size(report.l2)}, {report.l2['ways']} ways, shared{sharers}; lines of {report.l1['line']} bytes"]
    body = [row for core in report.cores for row in _rows(f"core {core['core']}", core)]
    body += _rows("all cores", _together(report.cores))
    threads = sorted((each for each in report.threads if each["thread"] != 0),
                     key=lambda each: -sum(each[mode]["cycles"] for mode in MODES))
    for each in threads[:SHOWN_THREADS]:
        body += _rows(f"{each['thread']} {each['name']}", each)
    if len(threads) > SHOWN_THREADS:
        rest = threads[SHOWN_THREADS:]
        body += _rows(f"{len(rest)} more threads", _together(rest))
    out += table.lines(["", "mode", *(event.replace("_", " ") for event in EVENTS)], body)
    if not any(report.total(mode, "instructions") for mode in MODES):
        out.append("Nothing was counted: with roi=on a program has to mark its region (user/region.h).")
    return out
