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
from collections.abc import Iterator
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


def text_only(data: bytes) -> bytes:
    """A serial line ends lines with CR LF; a file or a pipe wants LF."""
    return data.replace(b"\r\n", b"\n")


def relay(line: int, child: subprocess.Popen[bytes], deadline: float | None) -> str:
    """Joins the terminal and the guest's `line` until one side ends.

    Returns "ended", "left" (Ctrl-A X) or "timeout".
    """
    convert = (lambda data: data) if sys.stdout.isatty() else text_only
    inputs = [line, sys.stdin.fileno()]
    escaped = False
    with _raw():
        while True:
            if deadline is not None and time.monotonic() > deadline:
                return "timeout"
            ready, _, _ = select.select(inputs, [], [], POLL_SECONDS)
            if line in ready:
                sys.stdout.buffer.write(convert(os.read(line, 65536)))
                sys.stdout.flush()
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
