"""What an experiment is: all that `./corral bench`, its help and a sweep need to know of it."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from lab.bench.results import SYSTEMS, Results, Row
from lab.options import Parser, numbers, positive

Plan = TypeVar("Plan")
RUNS = 3
# Options that several experiments have; each says which.
COMMON: dict[str, dict[str, Any]] = {
    "cores": {"type": numbers, "metavar": "LIST", "help": "such as 1,2,4 or 1-4"},
    "append": {"default": "", "metavar": "OPTIONS", "help": "more options for Corral's kernel, such as sched.algorithm=rr"},
    "runs": {"type": positive, "metavar": "N", "help": f"median of N runs (default {RUNS})"},
    "system": {"metavar": "NAME", "help": "only corral, or only linux"},
}


@dataclass(frozen=True)
class Place:
    """Where a sweep measures once."""

    system: str
    instrument: str  # of the results
    cores: int
    options: str  # of Corral's kernel
    quick: bool
    parts: str | None  # those of Bench.parts, such as "a,b"; None: the usual ones
    threads: tuple[int, ...] | None
    seed: int = 0  # systems.Job's


def no_options(_: Parser) -> None:
    """An experiment's own options when it has none."""


@dataclass(frozen=True)
class Bench(Generic[Plan]):
    """`plan` refuses what is wrong before anything is built; `measure` finds everything built."""

    name: str
    what: str  # in one line
    instruments: Mapping[str, str]  # the user's word: the results' word; the first is taken when none is named
    plan: Callable[[Namespace, str, tuple[str, ...]], Plan]  # of options, instrument (the results' word) and systems
    measure: Callable[[Plan], Results]
    report: Callable[[Results, Plan], list[str]]
    draw: Callable[[Results, list[Path]], None]
    declare: Callable[[Parser], None] = no_options  # its own options
    common: tuple[str, ...] = tuple(COMMON)
    systems: tuple[str, ...] = SYSTEMS
    # For sweeps: measures at one place, with at most so much patience (seconds). None: not in sweeps.
    at: Callable[[Place, float | None], list[Row]] | None = None
    at_instruments: tuple[str, ...] = ()  # the user's words for those that `at` knows; (): the same as `instruments`
    parts: Mapping[str, object] = field(default_factory=dict)  # what can be measured by itself
    has_threads: bool = False  # whether a place may say how many

    @property
    def swept(self) -> tuple[str, ...]:
        """Instruments of sweeps; the first is taken when none is named."""
        return self.at_instruments or tuple(self.instruments)


def runs_of(values: Namespace) -> int:
    return values.runs or (1 if values.quick else RUNS)


def declare(bench: Bench[Any], parser: Parser) -> None:
    parser.add_argument("--instrument", metavar="NAME", help=f"{', '.join(bench.instruments)}; default: the first")
    bench.declare(parser)
    for name in bench.common:
        parser.add_argument(f"--{name}", **COMMON[name])
    parser.add_argument("--quick", action="store_true", help="few points, one run each: a look, not a result")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there as well")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the plot there instead of in build/results")
