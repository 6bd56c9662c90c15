"""Counts results, and prints them as they come.

Only `passed` passes: a skipped test and a suite without tests are failures, for
neither has shown anything.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from typing import Protocol


class Results(Protocol):
    """What a suite tells of its tests."""

    def running(self, suite: str, name: str) -> None: ...
    def ok(self, suite: str, name: str) -> None: ...
    def fail(self, suite: str, name: str, reason: str) -> None: ...
    def skipped(self, suite: str, name: str, reason: str) -> None: ...


@dataclass
class Tally:
    passed: int = 0
    failures: list[str] = field(default_factory=list)
    _tty: bool = field(default_factory=sys.stdout.isatty)
    _begin: float = field(default_factory=time.monotonic)
    _timed: list[tuple[float, str]] = field(default_factory=list)
    _under_way: dict[int, tuple[float, str]] = field(default_factory=dict)  # of each lane that does something

    def running(self, suite: str, name: str, lane: int = 0) -> None:
        """Begins a piece of work, a test or a run of many, which lasts until the lane's next one or until `over`."""
        self.over(lane)
        self._under_way[lane] = (time.monotonic(), f"{suite}: {name}")
        if self._tty:
            line = f"[{self.passed} passed, {len(self.failures)} failed] {suite}: {name}"
            sys.stdout.write(f"\r\x1b[K{line[:118]}")
            sys.stdout.flush()

    def over(self, lane: int = 0) -> None:
        if lane in self._under_way:
            begin, name = self._under_way.pop(lane)
            self._timed.append((time.monotonic() - begin, name))

    def slowest(self, count: int) -> list[str]:
        """The pieces of work that took longest, with their seconds."""
        return [f"{seconds:8.1f} s  {name}" for seconds, name in sorted(self._timed, reverse=True)[:count]]

    def ok(self, suite: str, name: str) -> None:
        self.passed += 1
        if not self._tty:
            self._print(f"ok      {suite}: {name}")

    def fail(self, suite: str, name: str, reason: str) -> None:
        self.failures.append(f"{suite}: {name}")
        self._print(f"FAILED  {suite}: {name}")
        for line in reason.rstrip().splitlines():
            self._print(f"        {line}")

    def skipped(self, suite: str, name: str, reason: str) -> None:
        self.fail(suite, name, f"skipped ({reason or 'no reason given'}): a skipped test has shown nothing")

    def note(self, text: str) -> None:
        self._print(text)

    def total(self) -> int:
        return self.passed + len(self.failures)

    def close(self, durations: int = 0) -> int:
        """The closing lines, with so many of the slowest tests; the exit status of the command."""
        self.over()
        if self._tty:
            sys.stdout.write("\r\x1b[K")
        if durations:
            self._print("Slowest:")
            for line in self.slowest(durations):
                self._print(line)
        if self.failures:
            self._print("Failed:")
            for name in self.failures:
                self._print(f"  {name}")
        self._print(f"Tested for {time.monotonic() - self._begin:.0f} s.")
        print(f"{self.passed} passed, {len(self.failures)} failed", flush=True)
        return 0 if self.passed and not self.failures else 1

    def _print(self, text: str) -> None:
        if self._tty:
            sys.stdout.write("\r\x1b[K")
        print(text, flush=True)
