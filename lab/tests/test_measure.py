"""A point of a sweep: what counts as a figure."""

import unittest
from unittest import mock

from lab.problem import Problem
from lab.sweep import measure
from lab.sweep.points import Point

POINT = Point("w", '{"simulate": "x"}', "corral", "simulator", 1, "", 1, 1)


class Figures(unittest.TestCase):
    def test_numbers(self) -> None:
        self.assertEqual([measure.number("ms", text) for text in ("1.5", "-2", "1e3")], [1.5, -2.0, 1000.0])

    def test_what_is_no_number(self) -> None:
        """The file of results has no room for some of them."""
        for text in (".", "nan", "inf", "", None):
            with self.subTest(text=text), self.assertRaisesRegex(Problem, r"ms: the parentheses hold .*no number\s+Mend: put them round"):
                measure.number("ms", text)

    def test_without_figures_it_has_failed(self) -> None:
        with mock.patch.object(measure, "_measure", return_value=[]):
            self.assertEqual(measure.outcome(POINT).failure, "it gave no figures")


if __name__ == "__main__":
    unittest.main()
