"""Keeps the user's terminal usable, and stands in for QEMU's console with Bochs.

QEMU talks to the terminal itself. Bochs only knows a serial device, so a
pseudo-terminal is put between, with the same way out: Ctrl-A X.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager

ESCAPE = 0x01  # Ctrl-A, as in QEMU
POLL_SECONDS = 0.1


@contextmanager
def restored() -> Iterator[None]:
    """Whatever an emulator did to the terminal is undone afterwards."""
    if not sys.stdin.isatty():
        yield
        return
    before = termios.tcgetattr(sys.stdin)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


@contextmanager
def _raw() -> Iterator[None]:
    with restored():
        if sys.stdin.isatty():
            tty.setraw(sys.stdin)
        yield


class LineEnds:
    """A serial line ends lines with CR LF; a file or a pipe wants LF. The same wherever what is read is cut into pieces."""

    def __init__(self) -> None:
        self._held = b""  # a CR with which a piece ended: what follows it decides

    def text(self, data: bytes) -> bytes:
        """Of the next piece; b"" is the end of all."""
        joined = self._held + data
        self._held = b"\r" if data and joined.endswith(b"\r") else b""
        return joined.removesuffix(self._held).replace(b"\r\n", b"\n")


@contextmanager
def output() -> Iterator[Callable[[bytes], None]]:
    """By this a guest's serial line goes to the standard output: to a terminal as it is, elsewhere as text."""
    line_ends = LineEnds()

    def write(data: bytes) -> None:
        try:
            sys.stdout.buffer.write(data if sys.stdout.isatty() else line_ends.text(data))
            sys.stdout.flush()
        except BrokenPipeError:
            sys.stdout = open(os.devnull, "w", encoding="ascii")  # the reader has gone; the guest goes on

    try:
        yield write
    finally:
        write(b"")


def relay(line: int, child: subprocess.Popen[bytes], deadline: float | None) -> str:
    """Joins the terminal and the guest's `line` until one side ends.

    Returns "ended", "left" (Ctrl-A X) or "timeout".
    """
    inputs = [line, sys.stdin.fileno()]
    escaped = False
    with _raw(), output() as write:
        while True:
            if deadline is not None and time.monotonic() > deadline:
                return "timeout"
            ready, _, _ = select.select(inputs, [], [], POLL_SECONDS)
            if line in ready:
                write(os.read(line, 65536))
                continue
            if child.poll() is not None:
                return "ended"
            if sys.stdin.fileno() in ready:
                typed = os.read(sys.stdin.fileno(), 4096)
                if not typed:
                    inputs.remove(sys.stdin.fileno())
                    continue
                passed, escaped, leave = scan(typed, escaped)
                os.write(line, passed)
                if leave:
                    return "left"


def scan(typed: bytes, escaped: bool) -> tuple[bytes, bool, bool]:
    """What goes on to the guest, whether Ctrl-A is pending, and whether X followed it."""
    passed = bytearray()
    for byte in typed:
        if escaped:
            escaped = False
            if byte in b"xX":
                return bytes(passed), False, True
            if byte == ESCAPE:
                passed.append(byte)
        elif byte == ESCAPE:
            escaped = True
        else:
            passed.append(byte)
    return bytes(passed), escaped, False
