"""The one form in which every measurement leaves this house.

A row is one point and what was measured there: `value`, the median of `runs`. Rows of one bench, with the command that
repeats it and the machine that it ran on, are `Results`: a JSON file, or a part of a sweep's (docs/sweeps.md).
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace

from lab.problem import WRONG_USE, Problem

VERSION = 2
SYSTEMS = ("corral", "linux")
# qemu: wall time; icount: QEMU, time counts instructions; seeded: QEMU with --seed, the same on several cores; model: that
# with a cache model.
INSTRUMENTS = ("qemu", "bochs", "icount", "seeded", "model", "simulator")
NOISY = ("qemu",)  # the others give the same figures again
BETTER = ("lower", "higher", "neither")  # neither: a change is only a change, such as of a number of decisions


@dataclass(frozen=True)
class Row:
    system: str
    instrument: str
    cores: int
    threads: int
    metric: str
    value: float
    options: str = ""  # of Corral's kernel
    seed: int = 0  # 0: none
    better: str = "lower"
    runs: tuple[float, ...] = ()  # in the order of time; empty: `value` is all there is

    def __post_init__(self) -> None:
        if self.system not in SYSTEMS or self.instrument not in INSTRUMENTS or self.better not in BETTER:
            raise ValueError(f"not a row of ours: {self}")
        numbers = all(isinstance(value, (int, float)) and math.isfinite(value) for value in (self.value, *self.runs))
        counts = all(isinstance(count, int) for count in (self.cores, self.threads, self.seed))
        if not (numbers and counts and isinstance(self.metric, str) and isinstance(self.options, str)):
            raise ValueError(f"not figures: {self}")

    @property
    def samples(self) -> tuple[float, ...]:
        return self.runs or (self.value,)

    @property
    def point(self) -> tuple[object, ...]:
        """What was measured and where: the same for all runs of it."""
        return (self.system, self.instrument, self.cores, self.threads, self.options, self.seed, self.metric)


@dataclass(frozen=True)
class Results:
    bench: str
    rows: tuple[Row, ...]
    command: str = ""  # that measures this again
    host: Mapping[str, str] = field(default_factory=dict)  # lab/bench/host.py

    def row(self, system: str, cores: int, threads: int, metric: str) -> Row | None:
        for row in self.rows:
            if (row.system, row.cores, row.threads, row.metric) == (system, cores, threads, metric):
                return row
        return None

    def value(self, system: str, cores: int, threads: int, metric: str) -> float | None:
        return value_of(self.row(system, cores, threads, metric))

    def points(self) -> list[tuple[int, int]]:
        """Every (cores, threads) that some system was measured at, in order."""
        return sorted({(row.cores, row.threads) for row in self.rows})

    def to_json(self) -> str:
        rows = [_short(row) for row in self.rows]
        return json.dumps({"version": VERSION, "bench": self.bench, "command": self.command, "host": dict(self.host),
                           "rows": rows}, indent=1) + "\n"


USUAL = {item.name: item.default for item in fields(Row)}


def _short(row: Row) -> dict[str, object]:
    """Without what is as usual."""
    return {name: value for name, value in asdict(row).items() if value != USUAL[name]}


def value_of(row: Row | None) -> float | None:
    return row.value if row else None


def check_version(found: object, where: str) -> None:
    if found != VERSION:
        raise Problem(f"{where}: results of version {found}, this is version {VERSION}",
                      "measure again, or read them with the Corral that wrote them", WRONG_USE)


def from_json(text: str, where: str = "results") -> Results:
    """A Problem when the text is none of ours, or another version's."""
    try:
        data = json.loads(text)
        if "bench" not in data or "rows" not in data:
            raise ValueError
        check_version(data.get("version", 1), where)
        rows = tuple(Row(**{**row, "runs": tuple(row.get("runs", ()))}) for row in data["rows"])
        if not (isinstance(data["bench"], str) and isinstance(data["command"], str)):
            raise ValueError
        return Results(data["bench"], rows, data["command"], dict(data["host"]))
    except (ValueError, TypeError, KeyError):
        raise Problem(f"{where}: these are no results of a measurement", "name a file that ./corral bench or ./corral sweep wrote",
                      WRONG_USE) from None


def medians(rows: Iterable[Row]) -> tuple[Row, ...]:
    """One row per point with all its runs, in the order of first appearance."""
    found: dict[tuple[object, ...], Row] = {}
    values: dict[tuple[object, ...], list[float]] = {}
    for row in rows:
        found.setdefault(row.point, row)
        values.setdefault(row.point, []).extend(row.samples)
    # To so many digits, and not decimals, as figures may be small: what the mean of two leaves behind the last one is no figure.
    return tuple(replace(row, value=float(f"{statistics.median(values[point]):.15g}"), runs=tuple(values[point]))
                 for point, row in found.items())


def over_seeds(results: Results) -> Results:
    """What was measured with several seeds as runs of one point."""
    return replace(results, rows=medians(replace(row, seed=0) for row in results.rows))


def spread(row: Row) -> float:
    """Half the distance from the lowest to the highest run, as a part of the median."""
    return (max(row.samples) - min(row.samples)) / 2 / abs(row.value) if row.value else 0.0
