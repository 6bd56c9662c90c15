"""The bench of matrices: its table, and what it says against the study's figures."""

import unittest
from dataclasses import replace

from lab import boot_options, main
from lab.bench import matrix
from lab.bench.matrix_published import PUBLISHED, Figure
from lab.bench.results import Results, Row, from_json, medians
from lab.problem import Problem


def results_of(figures: dict[str, Figure]) -> Results:
    return Results(matrix.NAME, tuple(Row("corral", "model", case.cores, 0, metric, value, case.options, matrix.SEED)
                                      for case in matrix.CASES if case.figure in figures
                                      for metric, value in matrix.metrics(case.figure, figures[case.figure]).items()))


class Report(unittest.TestCase):
    def test_every_published_figure_has_a_case_and_every_change_its_two(self) -> None:
        names = [case.figure for case in matrix.CASES]
        self.assertEqual([name for name in names if name not in ("6c", "6d")], list(PUBLISHED))
        for before, after, _ in matrix.CHANGES:
            self.assertLess(names.index(before), names.index(after))

    def test_the_kernel_has_the_options_of_all_cases(self) -> None:
        """It would only warn of a wrong one; a plan refuses it."""
        for case in matrix.CASES:
            with self.subTest(figure=case.figure):
                line = matrix.Plan(quick=True).options_of(case)
                boot_options.check_line(line)
                self.assertEqual("sched.queues=global" in line.split(), case.figure in ("4a", "6c"))
        with self.assertRaisesRegex(Problem, "sched.queues"):
            matrix.Plan(quick=True, options="sched.queus=global")

    def test_what_the_figures_set_cannot_be_added(self) -> None:
        for word in ("sched.migration=pull", "counters=pmu", "interleave.seed=5", "sched.queues=global"):
            with self.subTest(word=word), self.assertRaisesRegex(Problem, "(?s)itself sets.*--figures"):
                matrix.Plan(quick=True, options=word)
        alone = matrix.Plan(quick=True, options="sched.queues=global", cases=matrix.chosen("5a"))  # whose cases leave it as it is
        self.assertTrue(alone.options_of(alone.cases[0]).endswith("sched.migration=push sched.queues=global"))

    def test_published_totals_are_those_of_the_study(self) -> None:
        """Its tables have totals too: a slip of the pen in one of both modes shows."""
        totals = {"3a": (467617788, 693267321, 264291472, 1539), "5a": (1543135939, 3146576481, 845516444, 7653514),
                  "6b": (1520575475, 2574353547, 843643737, 2283806), "8d": (819945002, 1522878029, 450320681, 2026635)}
        for name, expected in totals.items():
            figure = PUBLISHED[name]
            self.assertEqual(tuple(sum(getattr(figure, event).values()) for event in matrix.EVENTS), expected)

    def test_results_come_back_from_json(self) -> None:
        results = from_json(results_of(PUBLISHED).to_json())
        for case in matrix.chosen(",".join(PUBLISHED)):
            self.assertEqual(matrix.figure_of(results, case), PUBLISHED[case.figure])

    def test_changes_are_told_beside_the_published_ones(self) -> None:
        ours = PUBLISHED | {"5b": replace(PUBLISHED["5a"], refills={"user": 112360, "kernel": 0})}
        text = "\n".join(matrix.report(results_of(ours), matrix.Plan(quick=False)))
        self.assertRegex(text, r"6c to 6d +- +- +- +- +- +- +pinned")
        self.assertNotIn("6c", "\n".join(matrix.report(results_of(ours), matrix.Plan(quick=False, cases=matrix.chosen("8b,8a")))))
        self.assertRegex(text, r"5a to 5b +\+0 % +-99 % +\+0 % +-19 % +-59 % +-52 %")
        self.assertRegex(text, r"8a to 8b +-23 % +-68 % +-50 % +-23 % +-68 % +-50 %")
        self.assertNotIn("--quick", text)
        self.assertIn("--quick", "\n".join(matrix.report(results_of(ours), matrix.Plan(quick=True))))

    def test_each_run_gives_cores_other_turns(self) -> None:
        self.assertEqual(matrix.Plan(quick=False, runs=5).quanta, [2000, 2100, 2200, 2300, 2400])
        self.assertEqual(matrix.Plan(quick=False, quantum=1, runs=3).quanta, [1, 2, 3])
        for words, runs in (((), 3), (("--quick",), 1), (("--runs", "4"), 4)):
            _, values, _ = main.understand(["bench", "matrix", *words])
            self.assertEqual(matrix.plan_of(values, "model", ("corral",)).runs, runs)

    def test_several_runs_are_told_by_their_median_and_changes_by_their_range(self) -> None:
        rows: list[Row] = []
        for kernel in (70, 80, 20):
            ours = PUBLISHED | {"5a": replace(PUBLISHED["5a"], refills={"user": 0, "kernel": 100}),
                                "5b": replace(PUBLISHED["5a"], refills={"user": 0, "kernel": kernel})}
            rows += results_of(ours).rows
        text = "\n".join(matrix.report(Results(matrix.NAME, medians(rows)), matrix.Plan(quick=False, runs=3)))
        self.assertRegex(text, r"5a to 5b +\+0 % \(\+0 to \+0\) +-30 % \(-80 to -20\) +\+0 % \(\+0 to \+0\) +-19 % +-59 % +-52 %")
        self.assertIn("Median of 3 runs, in which a core's turn in the model is 2000, 2100, 2200 cycles.", text)

    def test_what_it_cannot_do_is_refused(self) -> None:
        for words in (["--system", "linux"], ["--cores", "2"], ["--runs", "0"], ["--instrument", "bochs"], ["--append", "sched.algorithm=none"],
                      ["--caches", "tomorrow"], ["--figures", "3a,9z"], ["--quantum", "0"]):
            with self.subTest(words=words), self.assertRaises(Problem):
                command, values, program = main.understand(["bench", "matrix", *words])
                command.execute(values, program)


if __name__ == "__main__":
    unittest.main()
