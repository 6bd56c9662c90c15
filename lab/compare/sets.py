"""A set of results to compare: a file of `corral bench` or `corral sweep`, or the part of one that was measured with an option."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from lab import paths
from lab.bench import results
from lab.bench.results import NOISY, Results, Row
from lab.options import choose
from lab.problem import WRONG_USE, Problem
from lab.sweep import store


class Place(NamedTuple):
    """What must be the same on both sides."""

    workload: str
    system: str
    instrument: str
    cores: int
    threads: int
    options: str
    seed: int
    metric: str

    def __str__(self) -> str:
        parts = [self.workload, self.metric, self.system, self.instrument, f"{self.cores} cores"]
        parts += [f"{self.threads} threads"] if self.threads > 1 else []
        parts += [f"seed {self.seed}"] if self.seed else []
        return ", ".join([*parts, *([self.options] if self.options else [])])

    @property
    def noisy(self) -> bool:
        return self.instrument in NOISY


@dataclass(frozen=True)
class Set:
    name: str
    rows: dict[Place, Row]
    command: str
    host: dict[str, str]


def read(file: Path) -> list[Results]:
    """A Problem when it is no file of results, or another version's."""
    try:
        if store.is_store(file):
            return store.load(file)
        return [results.from_json(file.read_text(encoding="utf-8"), paths.shown(file))]
    except OSError as error:
        raise Problem(f"{file}: {error.strerror}", "name a file that ./corral bench or ./corral sweep wrote", WRONG_USE) from None
    except UnicodeDecodeError:
        raise Problem(f"{file}: these are no results of a measurement", "name a file that ./corral bench or ./corral sweep wrote",
                      WRONG_USE) from None


def load(word: str) -> Set:
    """`FILE`, or `FILE@OPTION=VALUE` for what was measured with that option, which then does not count as a difference."""
    file, at, chosen = (word, "", "") if Path(word).exists() else word.rpartition("@") if "@" in word else (word, "", "")
    found = read(Path(file))
    rows = {}
    seen: set[str] = set()
    for one in found:
        for row in one.rows:
            words = row.options.split()
            seen.update(words)
            if chosen and chosen not in words:
                continue
            left = " ".join(other for other in words if other != chosen)
            rows[Place(one.bench, row.system, row.instrument, row.cores, row.threads, left, row.seed, row.metric)] = row
    if chosen and not rows:
        choose(chosen, sorted(seen) or ["(none: nothing was measured with an option)"], f"option in {file}")
    if not rows:
        raise Problem(f"{file}: there is no figure in it", "./corral sweep goes on where it was left", WRONG_USE)
    first = found[0]
    return Set(word, rows, first.command, dict(first.host))


def natural(places: Sequence[Place]) -> list[Place]:
    """In the order in which a person would list them."""
    return sorted(places, key=lambda place: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", str(place))])
