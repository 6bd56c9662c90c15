"""Measures many points at once: on this machine's cores, or on the workers of a cluster that runs already (Dask).

Figures that repeat may be measured beside each other. Wall time is measured here, one point at a time, after all others:
neighbours would disturb it, and times of two machines do not compare.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import CancelledError, as_completed
from typing import Any

from lab import emulators
from lab.problem import Problem
from lab.sweep.measure import Outcome, outcome
from lab.sweep.points import Point

CONNECT_SECONDS = 20
FETCH_AGAIN_SECONDS = 0.1
Done = Generator[tuple[Point, Outcome], None, None]


def here(points: Sequence[Point], jobs: int, patience: float | None) -> Done:
    """In the order in which they end. To leave early ends what is under way."""
    with emulators.lanes(jobs) as lanes:
        waiting = {lanes.submit(outcome, point, patience): point for point in points}
        for done in as_completed(waiting):
            yield waiting[done], done.result()


def cluster(points: Sequence[Point], address: str, patience: float | None, wanted: Mapping[str, str]) -> Done:
    """The same on a cluster. What a worker was doing that is gone is done again by another one."""
    client = _connected(address)
    try:
        from distributed import as_completed as as_they_end

        waiting = {client.submit(outcome, point, patience, wanted, key=f"corral-{point.key}", pure=False): point for point in points}
        ending = as_they_end(list(waiting))
        for future in ending:
            if future.status == "error":  # such as KilledWorker: it ended several in turn
                point = waiting.pop(future)
                yield point, Outcome(point.key, (), f"no worker could measure it: {future.exception()!r}", 0.0)
            elif (result := _fetched(future)) is not None:
                yield waiting.pop(future), result
            elif client.status == "running" and future.status != "cancelled":
                time.sleep(FETCH_AGAIN_SECONDS)
                ending.add(future)
            else:
                raise _gone(address)
    finally:
        client.close()


def _fetched(future: Any) -> Outcome | None:
    """None: it was lost with a worker that had it, and is measured again, or the cluster is gone."""
    if future.status != "finished":
        return None
    try:
        result: Outcome = future.result()
    except (OSError, CancelledError, asyncio.CancelledError):
        return None
    return result


def _gone(address: str) -> Problem:
    return Problem(f"the cluster at {address} is gone", "start it anew, and give the same command again: it goes on")


def _connected(address: str) -> Any:
    try:
        from distributed import Client
    except ImportError:
        raise Problem("Dask's distributed is not installed", "./corral setup cluster") from None
    for name in ("distributed", "distributed.client", "asyncio"):  # what matters of what they say is said here
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    mend = "start it: dask-scheduler, and on each machine, in a folder with this commit: PYTHONPATH=. dask-worker ADDRESS"
    try:
        client = Client(address, timeout=CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        raise Problem(f"there is no cluster at {address}: {error}", mend) from None
    if not client.scheduler_info()["workers"]:
        client.close()
        raise Problem(f"the cluster at {address} has no workers", mend)
    return client


def measured(points: Sequence[Point], jobs: int, address: str | None, patience: float | None, wanted: Mapping[str, str]) -> Done:
    repeating = [point for point in points if not point.noisy]
    if repeating:
        yield from cluster(repeating, address, patience, wanted) if address else here(repeating, jobs, patience)
    for point in points:
        if point.noisy:
            yield from here([point], 1, patience)
