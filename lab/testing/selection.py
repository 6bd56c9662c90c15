"""Which tests to run: by a part of the name, and without the slow ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

Test = TypeVar("Test", bound=Callable[..., object] | type)


def slow(test: Test) -> Test:
    """Marks a whole-system test (or a class of them) that `--quick` leaves out."""
    test.corral_slow = True  # type: ignore[union-attr]
    return test


@dataclass(frozen=True)
class Selection:
    """`text` must occur in "suite: name"; an empty one selects everything."""

    text: str = ""
    quick: bool = False

    def wants(self, suite: str, name: str) -> bool:
        return self.text.lower() in f"{suite}: {name}".lower()
