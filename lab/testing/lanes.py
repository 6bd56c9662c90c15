"""Pieces of work side by side, each in a process of its own, whose results come to one tally.

A test that waits for its guest leaves a processor free; a piece in the next lane uses it. A process that ends without having
done its piece is a failure of that piece. Temporary files of a piece are in a directory of its own, which goes with it: a
process that was forked runs none of what Python does at its end.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from lab import emulators
from lab.problem import INTERRUPTED
from lab.testing.tally import Results, Tally

FORK = multiprocessing.get_context("fork")  # what was loaded before is there already
ENDING = {signal.SIGINT, signal.SIGTERM}


@dataclass(frozen=True)
class Piece:
    suite: str
    name: str
    work: Callable[[Results], None]


@dataclass(frozen=True)
class _Lane:
    number: int
    piece: Piece
    process: BaseProcess


class _Reports:
    """The tally's stand-in within a lane: each call becomes a message."""

    def __init__(self, to: Connection) -> None:
        self._to = to

    def running(self, suite: str, name: str) -> None:
        self._to.send(("running", suite, name))

    def ok(self, suite: str, name: str) -> None:
        self._to.send(("ok", suite, name))

    def fail(self, suite: str, name: str, reason: str) -> None:
        self._to.send(("fail", suite, name, reason))

    def skipped(self, suite: str, name: str, reason: str) -> None:
        self._to.send(("skipped", suite, name, reason))


def _do(piece: Piece, reports: Connection) -> None:
    try:
        with tempfile.TemporaryDirectory(prefix="corral-lane-", ignore_cleanup_errors=True) as held:
            tempfile.tempdir = held
            signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
            try:
                piece.work(_Reports(reports))
            finally:
                emulators.close()
    except KeyboardInterrupt:  # told by whoever started the lane, who does not ask for the status then
        sys.exit(INTERRUPTED)


def _start(number: int, piece: Piece) -> tuple[Connection, _Lane]:
    ours, theirs = FORK.Pipe(duplex=False)
    process = FORK.Process(target=_do, args=(piece, theirs))
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)  # until the lane can answer in its own way
    process.start()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
    theirs.close()  # the lane's is the only one: its end is the end of the messages
    return ours, _Lane(number, piece, process)


def _take(message: tuple[str, ...], lane: int, tally: Tally) -> None:
    kind, *words = message
    if kind == "running":
        tally.running(*words, lane=lane)
    else:
        getattr(tally, kind)(*words)


def _end(processes: Iterable[BaseProcess]) -> None:
    """Tells them until they have ended: Python hears a signal too late that comes just before it begins to wait."""
    while alive := [process for process in processes if process.is_alive()]:
        for process in alive:
            process.terminate()
        alive[0].join(1)
        processes = alive


def run(pieces: Sequence[Piece], lanes: int, tally: Tally) -> None:
    """All pieces, at most so many at a time, begun in this order."""
    waiting = deque(pieces)
    free = set(range(lanes))
    under_way: dict[Connection, _Lane] = {}
    try:
        while waiting or under_way:
            while waiting and free:
                reports, lane = _start(free.pop(), waiting.popleft())
                under_way[reports] = lane
            for reports in wait(list(under_way)):
                assert isinstance(reports, Connection)
                lane = under_way[reports]
                try:
                    _take(reports.recv(), lane.number, tally)
                except EOFError:
                    del under_way[reports]
                    reports.close()
                    lane.process.join()
                    tally.over(lane.number)
                    free.add(lane.number)
                    if lane.process.exitcode != 0:
                        tally.fail(lane.piece.suite, lane.piece.name, f"its process ended with status {lane.process.exitcode}")
    finally:
        _end(lane.process for lane in under_way.values())
