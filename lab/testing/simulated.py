"""For tests of the simulator: runs of workloads that a test describes."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lab import simulate
from lab.problem import Problem
from lab.simulate import Policies

MS = 1_000_000  # ns


def run(workload: str | Mapping[str, object], cores: int = 0, seed: int = 1, **policies: str) -> dict[str, Any]:
    """Of a description, or its text."""
    with tempfile.TemporaryDirectory(prefix="corral-simulator-") as name:
        file = Path(name) / "workload.json"
        file.write_text(workload if isinstance(workload, str) else json.dumps(workload), encoding="utf-8")
        return dict(simulate.simulate(file, cores, Policies(**policies), seed))


def names(**wrong: str) -> list[str]:
    """All policies there are, as the refusal of a wrong one lists them."""
    try:
        run({"tasks": {"t": {"run": 1}}}, **wrong)
    except Problem as problem:
        found = re.search(r"there are (.*)", str(problem))
        assert found is not None, problem
        return re.split(", | and ", found.group(1))
    raise AssertionError(f"{wrong} was taken")


def task(report: Mapping[str, Any], name: str) -> dict[str, Any]:
    return next(found for found in report["tasks"] if found["task"] == name)


def cores(text: str) -> set[int]:
    """Of a list such as 0-3,7."""
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found
