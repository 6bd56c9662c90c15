"""Measures one point: in this process, in whatever thread, on this machine or on a worker of a cluster.

A point that fails is an outcome like any other: what was said last is kept, and the others go on.
"""

from __future__ import annotations

import math
import re
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, replace

from lab import paths, payload, simulate
from lab.bench import systems
from lab.bench.bench import Place
from lab.bench.main import BENCHES
from lab.bench.results import Row
from lab.problem import Problem
from lab.sweep import origin
from lab.sweep.points import Point

STATUS = re.compile(r"^@status: (\d+)$", re.MULTILINE)
TOLD = 3000  # characters of what a point that failed said last


@dataclass(frozen=True)
class Outcome:
    """`failure`: why there are no rows; "": there are."""

    key: str
    rows: tuple[Row, ...]
    failure: str
    seconds: float


def outcome(point: Point, patience: float | None = None, wanted: Mapping[str, str] | None = None) -> Outcome:
    """`wanted`: the origin of the sweep's figures (lab/sweep/origin.py); another one here is a failure."""
    begin = time.monotonic()
    rows: tuple[Row, ...] = ()
    failure = ""
    try:
        if wanted is not None and (other := origin.different(wanted, origin.digests([point]).items())):
            raise Problem(f"{paths.ROOT} has another {other} than the sweep", "check out and build the same commit on each worker, with the same packages")
        rows = tuple(_marked(point, row) for row in _measure(point, patience))
        if not rows:
            raise Problem("it gave no figures")
    except (Problem, AssertionError) as error:
        failure = str(error)
    except Exception:  # of whatever kind: it is this point's, and the sweep goes on
        failure = traceback.format_exc()
    return Outcome(point.key, rows, failure[-TOLD:], round(time.monotonic() - begin, 3))


def _marked(point: Point, row: Row) -> Row:
    return replace(row, instrument=point.instrument, options=point.options, seed=point.seed)


def _measure(point: Point, patience: float | None) -> list[Row]:
    defined = point.defined
    if "simulate" in defined:
        return _simulated(point)
    if "program" in defined:
        return _program(point, patience)
    place = Place(point.system, point.instrument, point.cores, point.options, defined.get("quick", False),
                  ",".join(defined["only"]) if "only" in defined else None, tuple(defined["threads"]) if "threads" in defined else None, point.seed)
    measure = BENCHES[defined["bench"]].at
    assert measure is not None, "the grid takes only such benches"
    return measure(place, patience)


def _simulated(point: Point) -> list[Row]:
    words = dict(word.removeprefix("sched.").split("=", 1) for word in point.options.split())
    report = simulate.simulate(paths.ROOT / point.defined["simulate"], point.cores, simulate.Policies(**words), point.seed)
    if report["violations"]:
        raise Problem(f"{report['violations']} decisions were against the rules")
    tasks: list[dict[str, int]] = report["tasks"]  # type: ignore[assignment]
    figures = {"elapsed_ns": report["elapsed_ns"], "wasted_ns": report["wasted_ns"], "decisions": report["decisions"],
               "moves": sum(task["moves"] for task in tasks), "wake_worst_ns": max(task["wake_worst_ns"] for task in tasks)}
    threads = int(report["threads"])  # type: ignore[call-overload]
    return [Row("corral", "simulator", point.cores, threads, name, float(value),  # type: ignore[arg-type]
                better="lower" if name.endswith("_ns") else "neither") for name, value in figures.items()]


def _program(point: Point, patience: float | None) -> list[Row]:
    """A command line of the guest's shell. Its first word may be a program of ours or of the host, which is brought along."""
    defined = point.defined
    first, blank, rest = defined["program"].partition(" ")
    own = paths.PROGRAMS / first
    (argument, *_), files = payload.resolve([str(own) if "/" not in first and own.is_file() else first])
    script = f"( {argument}{blank}{rest} ) > /tmp/output 2>&1\necho \"@status: $?\"\ncat /tmp/output"
    job = systems.Job(f"mkdir -p /tmp; export PATH=/host:$PATH\n{script}", files, point.options, point.seed)
    text = systems.run(point.system, point.instrument, point.cores, job, memory_mib=defined.get("memory_mib", systems.MEMORY_MIB),
                       patience=patience)
    status = STATUS.search(text)
    if status is None or status[1] != "0":
        raise Problem(f"the program ended with status {status[1] if status else 'unknown'}:\n{text[-TOLD:]}")
    rows = []
    for name, pattern in defined["metrics"].items():
        found = re.search(pattern, text[status.end():], re.MULTILINE)
        if found is None:
            raise Problem(f"the program's output has no {name} ({pattern}):\n{text[-TOLD:]}")
        rows.append(Row(point.system, point.instrument, point.cores, 0, name, number(name, found[1]),
                        better=defined.get("better", {}).get(name, "lower")))
    return rows


def number(name: str, text: str | None) -> float:
    """What a metric's parentheses have found, as a figure; a Problem when it is none."""
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise Problem(f"{name}: the parentheses hold {text!r}, which is no number", f"put them round the number: {name} = '{name}=([0-9.]+)'")
    return value
