"""Policies that do wrong (tests/hostile, in the test kernel alone): each is replaced, and all threads of a load finish.

Names come from the kernel itself, so a new hostile policy is tested as soon as it exists. docs/safety.md says what is contained.
"""

import itertools
import random
import re
import unittest

from lab import build, guest, paths
from lab.testing.selection import slow
from lab.testing.shared_guest import SharedGuest

SEED = 11
SAMPLE = 6
PIPES = "for i in 1 2 3 4; do (echo $i | cat | cat) & done; wait"
DRAWING = "mandelbrot 8 --mode array --size 20x10 --iterations 200"
LOAD = f"({PIPES}; {DRAWING}; {PIPES}; {DRAWING}) > /tmp/safety && grep -c checksum= /tmp/safety"
# Wrong in nothing that the engine corrects: everybody gets on all the same.
BAD_BUT_RIGHT = {"test.one", "test.favourite", "test.forever", "test.undying"}
NEVER_MADE = "test.unborn"
PATIENCE_MS = 200


class Hostile(SharedGuest, unittest.TestCase):
    CORES = 4
    RIGHT_HERE = BAD_BUT_RIGHT

    @classmethod
    def setUpClass(cls) -> None:
        build.build(build.TEST_KERNEL)

    @classmethod
    def boot(cls) -> guest.Guest:
        return guest.corral(cls.CORES, kernel=paths.TEST_KERNEL_ELF, options=f"quiet sched.patience={PATIENCE_MS}")

    def hostile(self, kind: str) -> list[str]:
        found = re.search(rf"^{kind} \S+:(.*)$", self.machine.run("cat /proc/sched").output, re.MULTILINE)
        self.assertIsNotNone(found)
        return [name for name in found[1].split() if name.startswith("test.")]

    def choose(self, kind: str, name: str) -> None:
        status = self.machine.run(f"echo {kind} {name} > /proc/sched").status
        self.assertEqual(status != 0, name == NEVER_MADE)

    def restore(self) -> None:
        self.choose("algorithm", "cfs")
        self.choose("placement", "least-loaded")

    def failures(self) -> int:
        return int(re.search(r"^failures (\d+)", self.machine.run("cat /proc/sched-dump").output, re.MULTILINE)[1])

    def gets_on(self) -> None:
        answer = self.machine.run(LOAD)
        self.assertEqual(answer.status, 0, answer.output)
        self.assertRegex(answer.output, r"(?m)^2$")

    def contained(self, kind: str, name: str) -> None:
        before = self.failures()
        self.choose(kind, name)
        self.gets_on()
        running = self.machine.run("cat /proc/sched").output
        if name in self.RIGHT_HERE:
            return
        if name == NEVER_MADE:
            self.assertIn("algorithm cfs:", running)
            return
        self.assertGreater(self.failures(), before)
        self.assertIn("placement safe:" if kind == "placement" else " safe ", running)

    def test_every_one_alone(self) -> None:
        everybody = [(kind, name) for kind in ("algorithm", "placement") for name in self.hostile(kind)]
        self.assertGreaterEqual(len(everybody), 20)
        for kind, name in everybody:
            with self.subTest(kind=kind, name=name):
                self.contained(kind, name)
                self.restore()

    def check_pairs(self, pairs: list[tuple[str, str]]) -> None:
        for algorithm, placement in pairs:
            with self.subTest(algorithm=algorithm, placement=placement):
                self.choose("placement", placement)
                self.choose("algorithm", algorithm)
                self.gets_on()
                self.restore()

    def pairs(self) -> list[tuple[str, str]]:
        return list(itertools.product(self.hostile("algorithm"), self.hostile("placement")))

    def test_a_sample_of_pairs(self) -> None:
        self.check_pairs(random.Random(SEED).sample(self.pairs(), SAMPLE))

    @slow
    def test_every_pair(self) -> None:
        self.check_pairs(self.pairs())

    def test_somebody_who_starves_is_noticed(self) -> None:
        """Loops compute on each core, and the policy never takes the core away from them."""
        loops = " ".join(['(while :; do :; done) & P="$P $!";'] * 2 * self.CORES)
        before = self.failures()
        # The one who counts waits beside them, and ends them.
        answer = self.machine.run(f"{loops} echo algorithm test.forever > /proc/sched; echo on | cat; kill $P; P=")
        self.assertIn("on\n", answer.output)
        self.assertGreater(self.failures(), before)
        self.assertIn("let somebody starve", answer.output)
        self.restore()

    def test_the_account_says_what_happened(self) -> None:
        with self.boot() as machine:
            machine.prompt()
            machine.run("echo algorithm test.wild > /proc/sched")
            machine.run(PIPES)
            text = machine.run("cat /proc/sched-dump").output
        self.assertRegex(text, r"(?m)^failures [1-9]\d* seed 0$")
        self.assertRegex(text, r"(?m)^failure at \d+ core [0-3] algorithm test.wild call pick: faulted$")
        self.assertRegex(text, r"(?m)^  waits [1-9]\d* weight 1024 real-time 0$")
        self.assertRegex(text, r"(?m)^  decided \d+ thread [1-9]\d* until \d+$")


class OneCore(Hostile):
    """Nobody else can look what the core does."""

    CORES = 1
    RIGHT_HERE = BAD_BUT_RIGHT | {"test.stranger"}  # there is no other core to answer somebody of


if __name__ == "__main__":
    unittest.main()
