"""What a choice of policies is worth beside Linux."""

import random
import statistics
import unittest
from collections.abc import Sequence
from dataclasses import replace

from lab.bench import choices
from lab.bench.results import Results, Row
from lab.report import findings, page


def row(system: str, cores: int, value: float, options: str = "", metric: str = "fork", better: str = "lower") -> Row:
    return Row(system, "bochs", cores, 1, metric, value, options, better=better)


def seeded(system: str, values: Sequence[float], options: str = "") -> list[Row]:
    return [replace(row(system, 1, value, options), seed=seed) for seed, value in enumerate(values, start=1)]


SWEPT = Results("load", (row("linux", 1, 100), row("corral", 1, 110), row("corral", 1, 100, "sched.algorithm=rr"), row("corral", 1, 130, "sched.algorithm=fifo"),
                         row("linux", 4, 50), row("corral", 4, 60), row("corral", 4, 75, "sched.algorithm=rr")))  # fmt: skip


class Choices(unittest.TestCase):
    def test_the_best_of_all_is_found_and_held_against_linux(self) -> None:
        one, four = choices.figures(SWEPT)
        self.assertEqual((one.usual, one.best, one.options, one.linux), (110, 100, "sched.algorithm=rr", 100))
        self.assertAlmostEqual(one.behind, 0.10)
        self.assertEqual((four.best, four.options, four.behind), (60, "", 0.0))
        self.assertIn("(chosen and judged by the same boots, which favours them) Corral needs no longer than Linux, within 1%, in 1 of 2 figures; as it comes it needs 5.0% more", " ".join(choices.verdict(SWEPT)))
        self.assertIn("1.200", "\n".join(choices.report(SWEPT)))
        self.assertIn(choices.verdict(SWEPT)[0], findings.of(SWEPT))

    def test_seeds_are_runs_of_one_figure(self) -> None:
        swept = Results("load", (*seeded("linux", [10, 11, 15, 20]), *seeded("corral", [30, 31, 32, 33]), *seeded("corral", [9, 12, 30, 40], "sched.algorithm=rr")))
        (figure,) = choices.figures(swept)
        self.assertEqual((figure.linux, figure.usual, figure.best, figure.verdict), (13, 31.5, 21, "chance"))
        self.assertIn("in 0 of 1 figures, and in 1 more only by chance", choices.verdict(swept)[0])
        self.assertEqual([figure.verdict for figure in choices.figures(replace(swept, rows=tuple(
            one for one in swept.rows if one.seed < 4)))], ["HIGHER"])  # too few to tell

    def test_with_boots_enough_some_choose_and_the_others_tell(self) -> None:
        lucky, steady = [50, 90, 51, 91, 52, 92, 53, 93], [80, 70, 81, 71, 82, 72, 83, 73]  # odd ones first
        rows = (*seeded("linux", [100] * 8), *seeded("corral", steady), *seeded("corral", lucky, "sched.algorithm=rr"))
        (figure,) = choices.figures(Results("load", rows))
        self.assertEqual((figure.options, figure.best, figure.usual, figure.linux, figure.halved), ("sched.algorithm=rr", 91.5, 71.5, 100, True))
        self.assertIn("(chosen by odd seeds or repeats and judged by even ones)", choices.verdict(Results("load", rows))[0])
        self.assertIn(choices.verdict(Results("load", rows))[0], page.of_results("a", Results("load", rows), "a.sqlite").paragraphs)
        # Repeats have no seed, and stand in the order of time.
        walls = tuple(replace(row(system, 1, statistics.median(values), options), runs=tuple(values), instrument="qemu")
                      for system, values, options in (("linux", [100] * 8, ""), ("corral", steady, ""), ("corral", lucky, "sched.algorithm=rr")))
        self.assertEqual([one.best for one in choices.figures(Results("load", walls))], [91.5])
        (fewer,) = choices.figures(Results("load", tuple(one for one in rows if one.seed < 8)))
        self.assertEqual((fewer.halved, fewer.best), (False, 53))
        both = Results("load", (*rows, *SWEPT.rows[-3:]))
        self.assertIn("(in 1 figures chosen by odd seeds or repeats and judged by even ones, in the others chosen and judged by the same boots",
                      choices.verdict(both)[0])

    def test_of_many_choices_that_make_no_difference_none_looks_better_than_it_is(self) -> None:
        """All boots of both systems vary alike. What chose must not judge: then the best of 18 is below Linux."""
        generator = random.Random(1)
        ratios: dict[int, list[float]] = {7: [], 10: []}
        for boots, found in ratios.items():
            for _ in range(60):
                rows = [one for system, options in (("linux", ""), ("corral", ""), *(("corral", f"o={number}") for number in range(17)))
                        for one in seeded(system, [generator.lognormvariate(0, 0.3) for _ in range(boots)], options)]
                found += [figure.best / figure.linux for figure in choices.figures(Results("load", tuple(rows)))]
        self.assertLess(statistics.median(ratios[7]), 0.85)
        self.assertAlmostEqual(statistics.median(ratios[10]), 1.0, delta=0.08)

    def test_without_a_choice_or_without_linux_nothing_is_said(self) -> None:
        for rows in ((row("linux", 1, 100), row("corral", 1, 110)), (row("corral", 1, 110), row("corral", 1, 100, "sched.algorithm=rr")),
                     (row("linux", 1, 100), row("corral", 1, 1, "a"), row("corral", 1, 2, "b")),
                     (row("linux", 1, 9, better="higher"), row("corral", 1, 9, better="higher"), row("corral", 1, 8, "a", better="higher"))):
            with self.subTest(rows=rows):
                self.assertEqual(choices.report(Results("load", rows)), [])


if __name__ == "__main__":
    unittest.main()
