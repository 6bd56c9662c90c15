"""The bench of what a trace costs: what is run, understood and judged."""

import unittest

from lab.bench import load, tracing
from lab.bench.results import Results, Row


class TraceBench(unittest.TestCase):
    def plan(self, runs: int = 1, *, quick: bool = False) -> tracing.Plan:
        return tracing.Plan(("corral", "linux"), (load.BY_NAME["threads-pipe"],), runs, quick)

    def results(self, corral: float) -> Results:
        values = {("corral", "off"): 100.0, ("corral", "scheduler"): 100.5, ("corral", "all"): corral,
                  ("linux", "off"): 200.0, ("linux", "scheduler"): 220.0, ("linux", "all"): 300.0}
        return Results("trace", tuple(Row(system, "icount", 1, 32, f"threads-pipe, {level}", value) for (system, level), value in values.items()))

    def test_the_report_judges(self) -> None:
        text = "\n".join(tracing.report(self.results(101.5), self.plan()))
        self.assertRegex(text, r"threads-pipe +100.0 +\+0.5% +\+1.5% +200.0 +\+10.0% +\+50.0% +ok ")
        self.assertIn("At most 2% for all events: 1 of 1.", text)
        text = "\n".join(tracing.report(self.results(102.5), self.plan()))
        self.assertRegex(text, r"\+2.5% +200.0 .* MORE ")
        self.assertIn("0 of 1", text)

    def test_a_look_gives_no_verdict(self) -> None:
        """It has too few messages: the last digit of what hackbench tells would give it."""
        for corral in (101.5, 102.5):
            text = "\n".join(tracing.report(self.results(corral), self.plan(quick=True)))
            self.assertRegex(text, rf"\+{corral - 100:.1f}% +200.0 +\+10.0% +\+50.0% +- ")
            self.assertIn("A look, not a result, and no verdict.", text)
            self.assertNotRegex(text, r"\bok\b|MORE|of 1\.")

    def test_every_level_is_run_in_turn_and_as_often(self) -> None:
        for system in ("corral", "linux"):
            with self.subTest(system=system):
                text = tracing.script(self.plan(runs=2), system)
                marks = [line.partition(tracing.MARK)[2] for line in text.splitlines() if tracing.MARK in line]
                self.assertEqual(marks, [f"threads-pipe {level}" for level in tracing.LEVELS] * 2)

    def test_what_cannot_be_traced_ends_the_script(self) -> None:
        for system in ("corral", "linux"):
            self.assertTrue(tracing.script(self.plan(), system).startswith("set -e\n"))

    def test_parses_the_runs_of_each_level(self) -> None:
        text = ("@trace: threads-pipe off\nTime: 0.100\n@trace: threads-pipe all\nTime: 0.101\n"
                "@trace: threads-pipe off\nTime: 0.102\n@trace: threads-pipe all\nno luck\n")
        self.assertEqual(tracing.parse(text), {("threads-pipe", "off"): [100.0, 102.0], ("threads-pipe", "all"): [101.0]})


if __name__ == "__main__":
    unittest.main()
