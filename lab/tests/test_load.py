"""The bench of Debian's loads: what is understood, judged and repeated."""

import unittest

from lab import elf
from lab.bench import load
from lab.bench.results import Results, Row
from lab.linux import BUSYBOX
from lab.problem import Problem


class Loads(unittest.TestCase):
    def results(self) -> Results:
        values = {("corral", 1): 100.0, ("corral", 8): 20.0, ("linux", 1): 110.0, ("linux", 8): 15.0}
        return Results("load", tuple(Row(system, "bochs", cores, 32, "threads-pipe", value)
                                     for (system, cores), value in values.items()))

    def plan(self, names: str) -> load.Plan:
        return load.Plan("bochs", ("corral", "linux"), load.chosen(names, quick=False), (1, 8), 1)

    def test_the_report_judges(self) -> None:
        text = "\n".join(load.report(self.results(), self.plan("threads-pipe")))
        self.assertRegex(text, r"threads-pipe +100.0 +110.0 +0.909 +ok +1.00 +1.00")
        self.assertRegex(text, r"threads-pipe +20.0 +15.0 +1.333 +LONGER +5.00 +7.33")
        self.assertIn("1 of 2 compared", text)

    def test_parses_what_both_programs_say(self) -> None:
        text = ("@load: threads-pipe\nRunning in threaded mode\nTime: 0.123\n"
                "@load: mutex\nGeneral statistics:\n    total time:                          0.0456s\n@load: cpu\nno luck\n")
        self.assertEqual(load.parse(text), {"threads-pipe": 123.0, "mutex": 45.6})

    def test_unknown_loads_are_refused(self) -> None:
        with self.assertRaises(Problem):
            load.chosen("threads-pip", quick=False)

    def test_sizes_are_those_of_the_instrument(self) -> None:
        mutex = load.BY_NAME["mutex"]
        self.assertIn(f"--mutex-locks={mutex.few} run", mutex.arguments("bochs"))
        self.assertIn(f"--mutex-locks={mutex.many} run", mutex.arguments("icount"))

    def test_a_static_program_needs_no_library(self) -> None:
        self.assertEqual(elf.needed(BUSYBOX.read_bytes()), [])


if __name__ == "__main__":
    unittest.main()
