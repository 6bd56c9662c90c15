"""What a choice of policies is worth beside Linux."""

import unittest
from dataclasses import replace

from lab.bench import choices
from lab.bench.results import Results, Row
from lab.report import findings


def row(system: str, cores: int, value: float, options: str = "", metric: str = "fork", better: str = "lower") -> Row:
    return Row(system, "bochs", cores, 1, metric, value, options, better=better)


SWEPT = Results("load", (row("linux", 1, 100), row("corral", 1, 110), row("corral", 1, 100, "sched.algorithm=rr"), row("corral", 1, 130, "sched.algorithm=fifo"),
                         row("linux", 4, 50), row("corral", 4, 60), row("corral", 4, 75, "sched.algorithm=rr")))  # fmt: skip


class Choices(unittest.TestCase):
    def test_the_best_of_all_is_found_and_held_against_linux(self) -> None:
        one, four = choices.figures(SWEPT)
        self.assertEqual((one.usual, one.best, one.options, one.linux), (110, 100, "sched.algorithm=rr", 100))
        self.assertAlmostEqual(one.behind, 0.10)
        self.assertEqual((four.best, four.options, four.behind), (60, "", 0.0))
        self.assertIn("in 1 of 2 figures; as it comes it needs 5.0% more", " ".join(choices.verdict(SWEPT)))
        self.assertIn("1.200", "\n".join(choices.report(SWEPT)))
        self.assertIn(choices.verdict(SWEPT)[0], findings.of(SWEPT))

    def test_seeds_are_runs_of_one_figure(self) -> None:
        def seeded(system: str, values: list[float], options: str = "") -> list[Row]:
            return [replace(row(system, 1, value, options), seed=seed) for seed, value in enumerate(values, start=1)]

        swept = Results("load", (*seeded("linux", [10, 11, 15, 20]), *seeded("corral", [30, 31, 32, 33]), *seeded("corral", [9, 12, 30, 40], "sched.algorithm=rr")))
        (figure,) = choices.figures(swept)
        self.assertEqual((figure.linux, figure.usual, figure.best, figure.verdict), (13, 31.5, 21, "chance"))
        self.assertIn("in 0 of 1 figures, and in 1 more only by chance", choices.verdict(swept)[0])
        self.assertEqual([figure.verdict for figure in choices.figures(replace(swept, rows=tuple(
            one for one in swept.rows if one.seed < 4)))], ["HIGHER"])  # too few to tell

    def test_without_a_choice_or_without_linux_nothing_is_said(self) -> None:
        for rows in ((row("linux", 1, 100), row("corral", 1, 110)), (row("corral", 1, 110), row("corral", 1, 100, "sched.algorithm=rr")),
                     (row("linux", 1, 100), row("corral", 1, 1, "a"), row("corral", 1, 2, "b")),
                     (row("linux", 1, 9, better="higher"), row("corral", 1, 9, better="higher"), row("corral", 1, 8, "a", better="higher"))):
            with self.subTest(rows=rows):
                self.assertEqual(choices.report(Results("load", rows)), [])


if __name__ == "__main__":
    unittest.main()
