"""Which tests to run: by a part of the name, without the slow ones, with those that take hours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

Test = TypeVar("Test", bound=Callable[..., object] | type)


def slow(test: Test) -> Test:
    """Marks a whole-system test (or a class of them) that `--quick` leaves out."""
    test.corral_slow = True  # type: ignore[union-attr]
    return test


def exhaustive(test: Test) -> Test:
    """Marks a test (or a class of them) that tries everything there is; only `--all` runs it, a sample of it stands beside."""
    test.corral_exhaustive = True  # type: ignore[union-attr]
    return test


@dataclass(frozen=True)
class Selection:
    """`text` must occur in "suite: name"; an empty one selects everything."""

    text: str = ""
    quick: bool = False
    everything: bool = False

    def left_out(self, test: object, method: object) -> str:
        """Why a test's marks leave it out; "": they do not."""
        def marked(mark: str) -> bool:
            return getattr(type(test), mark, False) or getattr(method, mark, False)

        if not self.everything and marked("corral_exhaustive"):
            return "exhaustive tests left out (they need --all)"
        return "slow tests left out (--quick)" if self.quick and marked("corral_slow") else ""

    def wants(self, suite: str, name: str) -> bool:
        return self.text.lower() in f"{suite}: {name}".lower()
