"""Programs from ordinary toolchains that check the system from inside: all of user/tests and fptest, on 1 to 8 cores.

Each passes on Linux as well (`ninja -C build/user check`; wallclocktest in a guest), so what fails here is ours. One guest for each number of
cores; after a program that hangs or ends its guest the next one gets a new one.
"""

import unittest

from lab import paths
from lab.testing.shared_guest import SharedGuest

LONG = True
SOURCES = paths.ROOT / "user" / "tests"
NAMES = sorted(source.stem for source in SOURCES.glob("*.c*"))


class Programs(SharedGuest):
    """The tests; the classes below say on how many cores."""

    def check(self, command: str) -> None:
        answer = self.machine.run(command)
        self.assertEqual(answer.status, 0, f"{command}:\n{answer.output[-3000:]}")

    def test_fptest(self) -> None:
        self.check("fptest")

    def test_there_are_programs(self) -> None:
        self.assertGreaterEqual(len(NAMES), 24)


def _declare(name: str) -> None:
    def test(self: Programs) -> None:
        self.check(f"/tests/{name}")

    setattr(Programs, f"test_{name}", test)


for _name in NAMES:
    _declare(_name)


class OneCore(Programs, unittest.TestCase):
    CORES = 1


class TwoCores(Programs, unittest.TestCase):
    CORES = 2


class FourCores(Programs, unittest.TestCase):
    CORES = 4


class EightCores(Programs, unittest.TestCase):
    CORES = 8


if __name__ == "__main__":
    unittest.main()
