"""What a person sees who sits at a guest's serial line: the screen that full-screen programs draw there."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from lab import guest

PATIENCE_SECONDS = 120.0
MOMENT_SECONDS = 3.0


class Terminal:
    """A terminal of `columns` × `rows`, by pyte (python3-pyte); told to the guest's programs by `stty`."""

    def __init__(self, columns: int, rows: int) -> None:
        import pyte  # not part of Python: installed with the emulator

        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self.set_size = f"stty rows {rows} cols {columns}"

    @property
    def text(self) -> str:
        return "\n".join(self._screen.display)

    @contextmanager
    def watching(self, machine: guest.Guest) -> Iterator[None]:
        machine.listener = self._stream.feed
        try:
            yield
        finally:
            machine.listener = None

    def wait(self, machine: guest.Guest, condition: Callable[[str], bool]) -> None:
        """Until the screen is so. Only while watching."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not condition(self.text):
            if time.monotonic() > deadline or not machine.alive():
                machine.failed = True
                raise guest.GuestFailure(f"waited in vain; the screen shows\n{self.text}")
            machine.run_for(0.2)

    def suspend(self, machine: guest.Guest) -> None:
        """Ctrl-Z, until there is a prompt: curses ignores it while it draws (`doupdate`), on Linux too."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            machine.send("\x1a")
            moment = time.monotonic() + MOMENT_SECONDS
            while time.monotonic() < moment and not re.search(guest.PROMPT, machine.text[-1000:]):
                machine.run_for(0.1)
            if re.search(guest.PROMPT, machine.text[-1000:]):
                break
        machine.prompt()
