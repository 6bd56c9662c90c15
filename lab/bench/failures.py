"""A measurement that fails half-way or is interrupted: a guest's failure is a Problem that says where, and what was measured before it is not lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from lab.bench.results import Row
from lab.guest import GuestFailure
from lab.problem import GUEST_BROKE, INTERRUPTED, Problem


class Unfinished(Problem):
    """What ended the measurement; `rows` were measured before."""

    def __init__(self, problem: Problem, rows: Sequence[Row]) -> None:
        super().__init__(problem.what, problem.mend, problem.status)
        self.rows = tuple(rows)


@contextmanager
def keeping(rows: Sequence[Row]) -> Iterator[None]:
    """Round what adds to `rows`: a Problem in it, and Ctrl-C, becomes an Unfinished."""
    try:
        yield
    except Problem as problem:
        raise Unfinished(problem, rows) from problem
    except KeyboardInterrupt:
        raise Unfinished(Problem("interrupted", status=INTERRUPTED), rows) from None


@contextmanager
def of_guest(where: str) -> Iterator[None]:
    """Round what a guest does. Its failure tells what it said last."""
    try:
        yield
    except GuestFailure as failure:
        raise Problem(f"{where}: {failure}", "measure it again; a Corral that hangs or panics is a defect: please report it", GUEST_BROKE) from failure
