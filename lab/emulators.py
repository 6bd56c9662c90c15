"""Emulators in the background, in process groups of their own, which never outlive the command that started them.

Python runs the exit hook after an exception too; `end_when_told` makes a termination signal one. A command that is killed
runs nothing: then the kernel kills the emulator, because it asked for that when it was started (prctl(2),
PR_SET_PDEATHSIG). That goes by the thread that starts it, so it is to be the main thread.
"""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from lab.problem import Problem

_running: set[subprocess.Popen[bytes]] = set()
_starting = threading.Lock()  # held from the look at _closed until what was started is in _running, and while _closed is set
_closed = False


def start(command: Sequence[str], **settings: object) -> subprocess.Popen[bytes]:
    with_parent = ["setpriv", "--pdeathsig", "KILL", "--", *command]
    with _starting:
        if _closed:
            raise Problem("the command is being ended: no emulator is started")
        try:
            child = subprocess.Popen(with_parent, start_new_session=True, **settings)  # type: ignore[call-overload]
        except FileNotFoundError:
            raise Problem(f"{with_parent[0]} cannot be found", "install Debian's util-linux, and look whether it is in PATH") from None
        _running.add(child)
    return child


def said(file: Path) -> str:
    """What has come into one of an emulator's files so far, whatever bytes those are."""
    return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""


def stop(child: subprocess.Popen[bytes]) -> None:
    """Ends what `start` began, its whole process group, and only that."""
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    _running.discard(child)


def end_when_told() -> None:
    """From now on SIGTERM and SIGHUP end this process as Ctrl-C does."""

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)


def close() -> None:
    """Ends all emulators, and lets none be started: threads that wait for theirs find it gone."""
    global _closed
    with _starting:
        _closed = True
    _stop_all()


@contextmanager
def lanes(count: int) -> Iterator[Executor]:
    """Threads for what runs emulators, so many at once. An error lets nothing else begin and waits for what has begun.

    Ctrl-C ends that too, and so does who leaves because he wants no more: no emulator is started by this process then.
    """
    with ThreadPoolExecutor(count) as pool:
        try:
            yield pool
        except BaseException as end:
            pool.shutdown(wait=False, cancel_futures=True)
            if not isinstance(end, Exception):
                close()
            raise


@atexit.register
def _stop_all() -> None:
    for child in list(_running):
        stop(child)
