"""What is kept of a run, one line of JSON each in a file that grows, and the sums over such a file."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from lab.problem import Problem


@dataclass
class Record:
    """One run. `commit`: of the tree that was built, with a + when it was changed. `failure`: "" when all went well.

    `tasks`: how many programs of each load ended as they should, `counted`: what they say that they did. Memory: after the
    first round and after the last one; KiB, and numbers of what is counted.
    """

    load: str
    cores: int
    seed: int
    mode: str = "parallel"  # or "deterministic"
    date: str = ""
    commit: str = ""
    again: str = ""  # the command that repeats it
    rounds: int = 0
    minutes: float = 0.0
    virtual_minutes: float = 0.0  # by the guest's clock
    tasks: dict[str, int] = field(default_factory=dict)
    counted: dict[str, int] = field(default_factory=dict)
    changes: int = 0  # of policies
    lost_pages: int = 0
    memory: list[dict[str, int]] = field(default_factory=list)
    failure: str = ""


def append(file: Path, records: Iterable[Record]) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as out:
            out.writelines(json.dumps(asdict(record)) + "\n" for record in records)
    except OSError as error:
        raise Problem(f"{file} cannot be written: {error.strerror}", "give --record another place") from None


def read(file: Path) -> list[Record]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
        return [Record(**json.loads(line)) for line in lines if line.strip()]
    except OSError as error:
        raise Problem(f"{file} cannot be read: {error.strerror}", "name a file that --record has written") from None
    except (ValueError, TypeError) as error:
        raise Problem(f"{file}: a line is no record of a soak: {error}", "name a file that --record has written") from None


def _changed(record: Record, name: str) -> str:
    if len(record.memory) < 2:
        return "-"
    return f"{record.memory[-1][name] - record.memory[0][name]:+}"


def table(records: Sequence[Record]) -> str:
    lines = ["load        cores  seed        mode           rounds  minutes  virtual  changes  lost pages  objects  heap KiB  result"]
    for one in records:
        lines.append(f"{one.load:<10}  {one.cores:5}  {one.seed:<10}  {one.mode:<13}  {one.rounds:6}  {one.minutes:7.1f}  "
                     f"{one.virtual_minutes:7.1f}  {one.changes:7}  {one.lost_pages:10}  {_changed(one, 'objects'):>7}  "
                     f"{_changed(one, 'Slab'):>8}  {'FAILED' if one.failure else 'ok'}")
    return "\n".join(lines)


def _sum(counts: Iterable[dict[str, int]]) -> str:
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return ", ".join(f"{count} {name}" for name, count in total.items()) or "nothing"


def total(records: Sequence[Record]) -> str:
    """Sums by mode and number of cores, and of everything."""
    lines = ["mode           cores   runs  failed  rounds    hours  virtual hours"]
    groups = sorted({(one.mode, one.cores) for one in records})
    chosen = [(mode, str(cores), [one for one in records if (one.mode, one.cores) == (mode, cores)]) for mode, cores in groups]
    for mode, cores, some in [*chosen, ("all", "", list(records))]:
        lines.append(f"{mode:<13}  {cores:>5}  {len(some):5}  {sum(1 for one in some if one.failure):6}  "
                     f"{sum(one.rounds for one in some):6}  {sum(one.minutes for one in some) / 60:7.2f}  "
                     f"{sum(one.virtual_minutes for one in some) / 60:13.2f}")
    lines += [f"ended as they should: {_sum(one.tasks for one in records)}", f"they did: {_sum(one.counted for one in records)}",
              f"policies were changed {sum(one.changes for one in records)} times"]
    lines += [f"{one.date} {one.again}: {one.failure.splitlines()[0]}" for one in records if one.failure]
    return "\n".join(lines)
