"""Reads a grid file (TOML, docs/sweeps.md) into its points. Whatever is wrong in it is said before anything is measured."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lab import boot_options, paths
from lab.bench import main as benches
from lab.bench.results import BETTER, SYSTEMS
from lab.machine import check_cores
from lab.options import choose
from lab.problem import WRONG_USE, Problem
from lab.simulate import MOST_CORES, Policies
from lab.sweep.points import INSTRUMENTS, Point

PAGE = "docs/sweeps.md"
# What a grid says for all workloads, and a workload may say otherwise for itself.
AXES: dict[str, list[Any]] = {"systems": ["corral"], "instruments": [], "cores": [1], "seeds": [1], "repeats": [10]}
WORDS = {"systems": SYSTEMS, "instruments": tuple(INSTRUMENTS)}  # of which an axis may be
MOST_POINTS = 100_000
KINDS = {  # of workloads, by the name that each must have: what else it may have
    "bench": ("only", "threads", "quick"),
    "program": ("metrics", "better", "memory_mib"),
    "simulate": (),
}
BENCHES = {name: bench for name, bench in benches.BENCHES.items() if bench.at is not None}
ON_GUESTS = ("instructions", "bochs", "seeded", "wall")
SIMULATED = ("elapsed_ns", "wasted_ns", "decisions", "moves", "wake_worst_ns")


class Grid:
    """A file's points, in the order in which they are to be measured."""

    def __init__(self, text: str, where: str) -> None:
        self.text = text
        self._where = where
        try:
            self._data = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise self.wrong(str(error), "TOML is wanted") from None
        workloads = self._data.get("workloads")
        if not isinstance(workloads, list) or not workloads or not all(isinstance(one, dict) for one in workloads):
            raise self.wrong("there are no workloads", "add [[workloads]]")
        self._known("the grid", self._data, (*AXES, "options", "workloads"))
        named: dict[str, Sequence[Point]] = {}
        for workload in workloads:
            name, points = self._workload(workload)
            if name in named:
                raise self.wrong(f"two workloads are called {name}", 'give one another name: name = "…"')
            named[name] = points
        # Repeats in turn, so that what changes on the host meanwhile is spread over all points.
        self.points = sorted(itertools.chain.from_iterable(named.values()), key=lambda point: point.repeat)

    def wrong(self, what: str, mend: str) -> Problem:
        return Problem(f"{self._where}: {what}", f"{mend} ({PAGE})", WRONG_USE)

    def _known(self, what: str, table: Mapping[str, Any], names: Sequence[str]) -> None:
        for name in table:
            try:
                choose(name, names, "entry")
            except Problem as problem:
                raise self.wrong(f"{what}: {problem.what}", problem.mend) from None

    def _axis(self, what: str, workload: Mapping[str, Any], name: str) -> list[Any]:
        """What the workload or the grid says: a list, or one value for a list of one."""
        value = workload.get(name, self._data.get(name, AXES[name]))
        values = value if isinstance(value, list) else [value]
        good = all(type(one) is str for one in values) if name in WORDS else all(type(one) is int and 0 < one < 2**32 for one in values)
        if not good or (not values and name in self._data.keys() | workload.keys()) or (name == "repeats" and len(values) != 1):
            form = "a number from 1 on" if name == "repeats" else f"a list of {'words' if name in WORDS else 'numbers from 1 on'}"
            raise self.wrong(f"{what}: {name} = {value!r}", f"{form} is wanted")
        for word in values if name in WORDS else ():
            choose(word, WORDS[name], name.removesuffix("s"))
        return list(dict.fromkeys(values))

    def _workload(self, workload: Mapping[str, Any]) -> tuple[str, list[Point]]:
        kinds = [kind for kind in KINDS if isinstance(workload.get(kind), str)]
        if len(kinds) != 1:
            raise self.wrong(f"a workload is one of {', '.join(KINDS)}, and here is {kinds or 'none'}", 'such as bench = "operations"')
        kind = kinds[0]
        name = str(workload.get("name", workload[kind]))
        self._known(name, workload, (kind, "name", *KINDS[kind], *AXES, "options"))
        definition = {key: value for key, value in workload.items() if key in (kind, *KINDS[kind])}
        try:
            definition |= {"bench": _check_bench, "program": _check_program, "simulate": _check_simulation}[kind](definition)
            points = list(itertools.islice(self._points(name, kind, definition, workload), MOST_POINTS + 1))
            if len(points) > MOST_POINTS:
                raise Problem(f"it has more than {MOST_POINTS} points", "shorten its lists", WRONG_USE)
            return name, list(dict.fromkeys(points))
        except Problem as problem:
            if problem.what.startswith(self._where):
                raise
            raise self.wrong(f"{name}: {problem.what}", problem.mend) from None

    def _points(self, name: str, kind: str, definition: Mapping[str, Any], workload: Mapping[str, Any]) -> Iterator[Point]:
        bench = BENCHES[definition["bench"]].swept if kind == "bench" else ()
        possible = {"bench": bench, "program": ON_GUESTS, "simulate": ("simulator",)}[kind]
        systems, cores, seeds, (repeats,) = (self._axis(name, workload, axis) for axis in ("systems", "cores", "seeds", "repeats"))
        asked = self._axis(name, workload, "instruments")
        named = "seeds" in workload.keys() | self._data.keys()
        if kind == "simulate":
            asked = ["simulator"]
        text = json.dumps(definition, sort_keys=True)
        lines = self._options(workload, simulated=kind == "simulate")
        for instrument, system, count in itertools.product(asked or [possible[0]], systems, cores):
            choose(instrument, possible, "instrument")
            _check_machine(instrument, system, count)
            seeded = seeds if instrument in ("seeded", "simulator") or (instrument == "bochs" and named) else [0]
            turns = range(1, (repeats if instrument == "wall" else 1) + 1)
            for repeat in turns:  # one after the other: there may be more than memory has room for
                for options, seed in itertools.product(lines if system == "corral" else [""], seeded):
                    yield Point(name, text, system, INSTRUMENTS[instrument], count, options, seed, repeat)

    def _options(self, workload: Mapping[str, Any], *, simulated: bool) -> list[str]:
        """Words of the kernel's command line: every combination of a table, for each of the tables if there are several."""
        given = workload.get("options", self._data.get("options", {}))
        tables = given if isinstance(given, list) and given else [given]
        return list(dict.fromkeys(line for table in tables for line in self._combinations(table, simulated=simulated)))

    def _combinations(self, table: object, *, simulated: bool) -> Iterator[str]:
        if not isinstance(table, dict):
            raise self.wrong(f"options = {table!r}", "a table is wanted, such as [options], or several: [[options]]")
        choices = []
        for name, value in _flat(table):
            values = value if isinstance(value, list) else [value]
            words = [_option(name, one) for one in values]
            if not words:
                raise self.wrong(f"options: {name} = []", "give it a value, or leave it out")
            if simulated and name not in (f"sched.{field}" for field in Policies._fields):
                raise self.wrong(f"the simulator has no option {name}", "give that workload an [workloads.options] of its own")
            choices.append(words)
        yield from (" ".join(word for word in words if word) for words in itertools.product(*choices))


def _flat(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """TOML reads sched.algorithm as a table in a table."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def _option(name: str, value: object) -> str:
    """A word of the command line; "" for a switch that is off."""
    text = "" if isinstance(value, bool) else str(value)
    if re.search(r"\s", text):
        raise Problem(f"options: {name} = {text!r}: a blank would end it", "tunables follow a colon, with commas: rr:quantum=50", WRONG_USE)
    boot_options.check(name, text)
    if isinstance(value, bool):
        return name if value else ""
    return f"{name}={text}"


def _check_machine(instrument: str, system: str, cores: int) -> None:
    if instrument == "simulator":
        if cores > MOST_CORES or system != "corral":
            raise Problem(f"{cores} cores of {system} cannot be simulated", f"Corral's policies, on at most {MOST_CORES} cores", WRONG_USE)
        return
    check_cores(cores, "bochs" if instrument == "bochs" else "qemu")
    if instrument == "instructions" and cores != 1:
        raise Problem("the count of instructions is for one core", "give that workload cores = [1], or another instrument", WRONG_USE)
    if instrument == "seeded" and system != "corral":
        raise Problem("Linux on several cores does not repeat", 'give that workload systems = ["corral"]', WRONG_USE)


def _words(definition: Mapping[str, Any], name: str, kind: type) -> list[Any]:
    values = definition.get(name, [])
    if not isinstance(values, list) or not all(type(one) is kind for one in values) or (not values and name in definition):
        raise Problem(f"{name} = {values!r}", f"a list of {'words' if kind is str else 'numbers'} is wanted", WRONG_USE)
    return values


def _check_bench(definition: Mapping[str, Any]) -> Mapping[str, Any]:
    name = choose(definition["bench"], list(BENCHES), "bench for a grid")
    bench = BENCHES[name]
    only = _words(definition, "only", str)
    if only and not bench.parts:
        raise Problem(f"of bench {name} there is nothing to choose", "leave out `only`", WRONG_USE)
    for part in only:
        choose(part, list(bench.parts), f"part of bench {name}")
    if any(threads < 1 for threads in _words(definition, "threads", int)) or ("threads" in definition and not bench.has_threads):
        raise Problem(f"threads = {definition['threads']!r} for bench {name}", "numbers from 1 on, for bench mandelbrot", WRONG_USE)
    if type(definition.get("quick", False)) is not bool:
        raise Problem(f"quick = {definition['quick']!r}", "true or false", WRONG_USE)
    return {}


def _check_program(definition: Mapping[str, Any]) -> Mapping[str, Any]:
    metrics, better = definition.get("metrics"), definition.get("better", {})
    if not definition["program"].strip():
        raise Problem("program is empty", 'such as program = "mandelbrot 4 --mode array"', WRONG_USE)
    if not isinstance(metrics, dict) or not metrics:
        raise Problem("a program without metrics measures nothing", "such as metrics = { total_ms = 'total_ms=([0-9.]+)' }", WRONG_USE)
    for name, pattern in metrics.items():
        try:
            groups = re.compile(pattern).groups
        except (re.error, TypeError) as error:
            raise Problem(f"metrics.{name}: {error}", "a regular expression is wanted", WRONG_USE) from None
        if groups != 1:
            raise Problem(f"metrics.{name} has {groups} groups", "one pair of parentheses, round the number", WRONG_USE)
    for name, word in (better.items() if isinstance(better, dict) else [("better", better)]):
        choose(name, list(metrics), "metric")
        choose(word, BETTER, "direction")
    if type(definition.get("memory_mib", 512)) is not int or definition.get("memory_mib", 512) < 64:
        raise Problem(f"memory_mib = {definition['memory_mib']!r}", "a number from 64 on", WRONG_USE)
    return {}


def _check_simulation(definition: Mapping[str, Any]) -> Mapping[str, Any]:
    """With a digest of the file: another content is another workload."""
    file = paths.ROOT / definition["simulate"]
    if not file.is_file():
        raise Problem(f"{definition['simulate']}: there is no such workload", "name a file, from the root of the tree or absolute", WRONG_USE)
    return {"digest": hashlib.sha256(file.read_bytes()).hexdigest()[:16]}


def read(file: Path) -> Grid:
    try:
        return Grid(file.read_text(encoding="utf-8"), paths.shown(file))
    except (OSError, UnicodeDecodeError) as error:
        raise Problem(f"{file}: {getattr(error, 'strerror', None) or 'this is no text'}", f"name a grid file ({PAGE})", WRONG_USE) from None
