"""Progress on one line, where there is a terminal to redraw it.

Without a terminal only finished steps are printed, so that logs stay short.
"""

from __future__ import annotations

import shutil
import sys
import time
from types import TracebackType

BAR = 20  # characters


class Progress:
    """One named step: `step` redraws its line, `done` or `failed` ends it. In a `with` statement an exception is a failure."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._begin = time.monotonic()
        self._tty = sys.stderr.isatty()
        self._drawn = False
        self.step("")

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is not None:
            self.failed()

    def step(self, text: str) -> None:
        if self._tty:
            width = shutil.get_terminal_size().columns
            line = f"{self._title}  {text}"[: width - 1]
            sys.stderr.write(f"\r\x1b[K{line}")
            sys.stderr.flush()
            self._drawn = True

    def of(self, done: int, all_of_them: int, text: str = "") -> None:
        """How far it is, as a bar."""
        filled = BAR * done // max(1, all_of_them)
        self.step(f"[{'#' * filled}{'.' * (BAR - filled)}] {done}/{all_of_them}  {text}")

    def done(self, text: str = "", *, quiet: bool = False) -> None:
        """Ends the step; `quiet` leaves no line behind (nothing worth telling)."""
        self._clear()
        if not quiet:
            seconds = time.monotonic() - self._begin
            print(f"{self._title}  {text or 'done'}  ({seconds:.1f} s)", file=sys.stderr)

    def failed(self) -> None:
        self._clear()
        print(f"{self._title}  FAILED", file=sys.stderr)

    def _clear(self) -> None:
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._drawn = False
