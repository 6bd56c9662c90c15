"""Scheduling policies in the kernel: any timeline with any placement runs the same programs.

Names come from the kernel itself, so a new policy is tested as soon as it exists.
"""

import itertools
import random
import re
import unittest

from lab import soak
from lab.testing.selection import slow
from lab.testing.shared_guest import SharedGuest

SEED = 4
SAMPLE = 6
PIPES = "for i in 1 2 3 4; do (echo $i | cat | cat) & done; wait"
DRAWING = "mandelbrot 8 --mode array --size 20x10 --iterations 200 > /dev/null"
PROGRAMS = f"{PIPES}; {DRAWING} && /tests/futexqueues"
# Never takes a core away: programs that wait in loops would wait for ever.
WITHOUT_PREEMPTION = ("fifo",)


class Combinations(SharedGuest, unittest.TestCase):
    def names(self, kind: str) -> list[str]:
        found = re.search(rf"^{kind} [\w-]+:(.*)$", self.machine.run("cat /proc/sched").output, re.MULTILINE)
        self.assertIsNotNone(found)
        return found[1].split()

    def tearDown(self) -> None:
        self.choose("cfs", "least-loaded")

    def choose(self, algorithm: str, placement: str) -> None:
        answer = self.machine.run(f"echo algorithm {algorithm} > /proc/sched && echo placement {placement} > /proc/sched")
        self.assertEqual(answer.status, 0, answer.output)

    def check(self, combinations: list[tuple[str, str]]) -> None:
        for algorithm, placement in combinations:
            with self.subTest(algorithm=algorithm, placement=placement):
                self.choose(algorithm, placement)
                answer = self.machine.run(f"{PIPES}; {DRAWING}" if algorithm in WITHOUT_PREEMPTION else PROGRAMS)
                self.assertEqual(answer.status, 0, answer.output)
                self.assertEqual(soak.violations(self.machine.run("cat /proc/sched").output), 0)

    def all(self) -> list[tuple[str, str]]:
        return list(itertools.product(self.names("algorithm"), self.names("placement")))

    def test_a_sample_of_combinations(self) -> None:
        everything = self.all()
        self.assertGreaterEqual(len(everything), 36)
        self.check(random.Random(SEED).sample(everything, SAMPLE))

    @slow
    def test_every_combination(self) -> None:
        self.check(self.all())

    def test_switches_under_load_lose_nobody(self) -> None:
        preemptive = [name for name in self.names("algorithm") if name not in WITHOUT_PREEMPTION]
        switches = " ".join(preemptive * 3)
        placements = " ".join(self.names("placement"))
        answer = self.machine.run(
            f"({PROGRAMS}; {PROGRAMS}) & for a in {switches}; do echo algorithm $a > /proc/sched; "
            f"for p in {placements}; do echo placement $p > /proc/sched; done; done; wait $!")
        self.assertEqual(answer.status, 0, answer.output)
        self.assertEqual(soak.violations(self.machine.run("cat /proc/sched").output), 0)

    def test_tunables_are_set_shown_and_refused(self) -> None:
        self.choose("mlfq:levels=3,boost=500000", "blend:cold=9")
        shown = self.machine.run("cat /proc/sched").output
        for line in ("mlfq.levels 3 :", "mlfq.boost 500000 µs:", "mlfq.quantum 100 % of a tick:", "blend.cold 9 :"):
            self.assertIn(line, shown)
        for wrong in ("algorithm mlfq:levels=99", "algorithm none", "placement blend:hot=1", "placement", "blend"):
            with self.subTest(text=wrong):
                self.assertNotEqual(self.machine.run(f"echo {wrong} > /proc/sched").status, 0)
        table = re.compile(r"^core .*", re.MULTILINE | re.DOTALL)
        self.assertEqual(table.sub("", self.machine.run("cat /proc/sched").output), table.sub("", shown), "nothing changed")


if __name__ == "__main__":
    unittest.main()
