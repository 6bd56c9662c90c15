"""Programs of ours that measure themselves, for sweeps: one after the other in one boot, of Corral or of Linux, on any instrument.

Such a program prints one line, `NAME: figure=number …`. It is static and asks nothing that only Corral has, so that the identical
file runs on both systems.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lab.bench import systems
from lab.bench.bench import Place
from lab.bench.results import Row, medians
from lab.problem import Problem

MARK = "@timed: "  # begins with what no name in the shell has


@dataclass(frozen=True)
class Run:
    """Runs of one name are repeats: their medians are the figures."""

    name: str
    threads: int
    command: str  # begins with the program's name

    @property
    def program(self) -> str:
        return self.command.split()[0]


def said(program: str, text: str) -> list[dict[str, str]]:
    """The program's lines, each by its words."""
    lines = re.findall(rf"^{re.escape(program)}: (.*)$", text, re.MULTILINE)
    return [dict(word.split("=", 1) for word in line.split() if "=" in word) for line in lines]


def script(runs: Sequence[Run]) -> str:
    """Runs everything, prints at the end: the serial line would disturb what follows it."""
    lines = ["results="]
    for number, run in enumerate(runs):
        lines += [f'results="$results{MARK}{number}', f'$(/host/{run.command} 2>&1)', '"']
    return "\n".join([*lines, 'echo "$results"'])


def rows(place: Place, runs: Sequence[Run], figures: Mapping[str, str], text: str) -> list[Row]:
    """What the script printed, as rows NAME.FIGURE. `figures`: those that count, each with the direction that is better."""
    parts = dict(part.split("\n", 1) for part in text.split(MARK)[1:])
    measured = []
    for number, run in enumerate(runs):
        part = parts.get(str(number), "")
        told = said(run.program, part)
        if len(told) != 1 or not figures.keys() <= told[0].keys():
            raise Problem(f"{place.system} with {place.cores} cores: `{run.command}` did not end well:\n{part[-2000:]}")
        measured += [Row(place.system, place.instrument, place.cores, run.threads, f"{run.name}.{figure}", float(told[0][figure]),
                         place.options, better=better) for figure, better in figures.items()]
    return list(medians(measured))


def at(place: Place, runs: Sequence[Run], figures: Mapping[str, str], patience: float | None) -> list[Row]:
    files = {run.program: systems.program(run.program) for run in runs}
    text = systems.run(place.system, place.instrument, place.cores, systems.Job(script(runs), files, place.options, place.seed), patience=patience)
    return rows(place, runs, figures, text)
