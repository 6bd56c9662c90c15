"""One point of a grid: what is measured, where, and how. All that a grid says of it is in its key; what else decides its figures
must be the same in a whole file of results (lab/sweep/origin.py)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from lab.bench.results import NOISY

# The words of a grid: the words of results.
INSTRUMENTS = {"instructions": "icount", "bochs": "bochs", "seeded": "seeded", "wall": "qemu", "simulator": "simulator"}


@dataclass(frozen=True)
class Point:
    workload: str  # its name in the grid
    definition: str  # the workload itself, as JSON
    system: str
    instrument: str  # of the results
    cores: int
    options: str  # of Corral's kernel
    seed: int  # 0: none
    repeat: int  # from 1 on; more than one only where figures are noisy

    @property
    def key(self) -> str:
        """The same for the same measurement, in any grid."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:20]

    @property
    def noisy(self) -> bool:
        return self.instrument in NOISY

    @property
    def defined(self) -> Mapping[str, Any]:
        read: Mapping[str, Any] = json.loads(self.definition)
        return read

    def __str__(self) -> str:
        parts = [self.workload, self.system, self.instrument, f"{self.cores} cores", self.options]
        parts += [f"seed {self.seed}"] if self.seed else []
        parts += [f"repeat {self.repeat}"] if self.noisy else []
        return ", ".join(part for part in parts if part)
