"""The one form in which every measurement leaves this house.

`{"bench": name, "rows": [{"system", "instrument", "cores", "threads", "metric",
"value"}, …]}`: a row is one point, its value the median of the runs.
"""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

SYSTEMS = ("corral", "linux")
INSTRUMENTS = ("qemu", "bochs", "icount")


@dataclass(frozen=True)
class Row:
    system: str
    instrument: str
    cores: int
    threads: int
    metric: str
    value: float

    def __post_init__(self) -> None:
        if self.system not in SYSTEMS or self.instrument not in INSTRUMENTS:
            raise ValueError(f"not a row of ours: {self}")


@dataclass(frozen=True)
class Results:
    bench: str
    rows: tuple[Row, ...]

    def value(self, system: str, cores: int, threads: int, metric: str) -> float | None:
        for row in self.rows:
            if (row.system, row.cores, row.threads, row.metric) == (system, cores, threads, metric):
                return row.value
        return None

    def points(self) -> list[tuple[int, int]]:
        """Every (cores, threads) that some system was measured at, in order."""
        return sorted({(row.cores, row.threads) for row in self.rows})

    def to_json(self) -> str:
        return json.dumps({"bench": self.bench, "rows": [asdict(row) for row in self.rows]}, indent=1) + "\n"

    def write(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(self.to_json(), encoding="utf-8")


def from_json(text: str) -> Results:
    data = json.loads(text)
    return Results(data["bench"], tuple(Row(**row) for row in data["rows"]))


def medians(rows: Iterable[Row]) -> tuple[Row, ...]:
    """One row per point: the median of its runs, in the order of first appearance."""
    values: dict[tuple[str, str, int, int, str], list[float]] = defaultdict(list)
    for row in rows:
        values[(row.system, row.instrument, row.cores, row.threads, row.metric)].append(row.value)
    return tuple(Row(*key, round(statistics.median(runs), 3)) for key, runs in values.items())
