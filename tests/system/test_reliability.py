"""A sample of what `corral boots` does at length: boots that must all succeed."""

import unittest

from lab import boots
from lab.testing.selection import slow

PATIENCE_SECONDS = 300.0


class EveryTime(unittest.TestCase):
    def test_boots_in_a_row(self) -> None:
        for cores in (2, 4, 8):
            for number in range(5):
                with self.subTest(cores=cores, boot=number):
                    self.assertEqual(boots.once(cores, PATIENCE_SECONDS), "")

    @slow
    def test_a_sample_of_seeds(self) -> None:
        for cores in (1, 2, 4):
            for seed in range(1, 5):
                with self.subTest(cores=cores, seed=seed):
                    self.assertEqual(boots.once_seeded(cores, seed, PATIENCE_SECONDS), "")
