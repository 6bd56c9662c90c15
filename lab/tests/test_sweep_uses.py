"""`corral sweep` itself: what it asks for before it measures."""

import unittest

from lab import packages
from lab.bench import beside
from lab.sweep import grid
from lab.sweep.main import uses

LOAD = '[[workloads]]\nbench = "load"\nonly = ["mutex"]\n'
SIMULATION = '[[workloads]]\nsimulate = "sim/workloads/mixed.json"\n'
BESIDE = "systems = ['corral', 'linux']\n"


def asked(text: str) -> set[str]:
    return uses(grid.Grid(text, "grid.toml").points)


class Uses(unittest.TestCase):
    def test_what_is_judged_by_ranks_in_the_end_needs_statistics_from_the_beginning(self) -> None:
        """Else it is only missed when all has been measured."""
        self.assertGreaterEqual(grid.AXES["repeats"][0], beside.FEWEST)
        for text in (f"{BESIDE}instruments = 'wall'\n{LOAD}", f"{BESIDE}instruments = 'bochs'\nseeds = [1, 2, 3, 4]\n{LOAD}"):
            with self.subTest(text=text):
                self.assertIn("statistics", asked(text))

    def test_nothing_is_judged_by_ranks_without_linux_or_of_one_boot(self) -> None:
        for text in (f"instruments = 'wall'\n{LOAD}", f"{BESIDE}instruments = 'bochs'\n{LOAD}", f"seeds = [1, 2, 3, 4]\n{SIMULATION}"):
            with self.subTest(text=text):
                self.assertNotIn("statistics", asked(text))

    def test_the_others(self) -> None:
        self.assertEqual(asked(SIMULATION), {"simulator"})
        self.assertEqual(asked(f"instruments = 'bochs'\n{LOAD}"), {"build", "bochs", "image"})
        self.assertEqual(asked(f"{BESIDE}instruments = 'instructions'\n{LOAD}{SIMULATION}systems = 'corral'\n"), {"build", "qemu", "linux", "simulator"})
        self.assertLess(asked(f"{BESIDE}instruments = 'wall'\n{LOAD}"), packages.USES)


if __name__ == "__main__":
    unittest.main()
