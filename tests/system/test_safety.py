"""Policies that do wrong (tests/hostile, in the test kernel alone): each is replaced, and all threads of a load finish.

Names come from the kernel itself, so a new hostile policy is tested as soon as it exists. docs/safety.md says what is contained.
"""

import itertools
import random
import re
import unittest

from lab import build, guest, paths
from lab.testing.choosing import choose
from lab.testing.selection import exhaustive, slow
from lab.testing.shared_guest import SharedGuest

LONG = True
SEED = 11
SAMPLE = 6
PIPES = "for i in 1 2 3 4; do (echo $i | cat | cat) & done; wait"
# Threads have to give way, cores become idle, and others have something to spare.
TURNS = f"for j in 1 2 3 4 5 6 7; do (for k in $(seq 300); do :; done) & done; {PIPES} > /dev/null"
DRAWING = "mandelbrot 8 --mode array --size 20x10 --iterations 200"
LOAD = f"({PIPES}; {DRAWING}; {PIPES}; {DRAWING}) > /tmp/safety && grep -c checksum= /tmp/safety"
USUAL = {"algorithm": "cfs", "placement": "least-loaded", "migration": "pull", "groups": "none"}  # what is in force otherwise
# Wrong in nothing that the engine corrects: everybody gets on all the same.
BAD_BUT_RIGHT = {("placement", "test.one"), ("placement", "test.mismeasures"), ("algorithm", "test.favourite"), ("algorithm", "test.forever"),
                 ("algorithm", "test.undying"), ("migration", "test.soon"), ("migration", "test.beggar")}
NEVER_MADE = "test.unborn"
SHUTTLE = "test.shuttle"  # is noticed when it has gone on for a while
TAIL = "test.tail-"  # these timelines are asked for it when another core pulls
PATIENCE_MS = 200


def boot(cores: int, options: str = f"quiet sched.patience={PATIENCE_MS}") -> guest.Guest:
    return guest.corral(cores, kernel=paths.TEST_KERNEL_ELF, options=options, invariants_hold=False)  # one is that nobody starves


def safe(kind: str) -> str:
    """What /proc/sched says when a policy of that kind was replaced."""
    return " safe " if kind == "algorithm" else f"{kind} safe:"


def loops(cores: int) -> str:
    """Commands that start what computes for ever, two for each core, and note who that is in $P."""
    return " ".join(['(while :; do :; done) & P="$P $!";'] * 2 * cores)


def until_replaced(kind: str, work: str) -> str:
    """Commands that do some work again and again, till the policy of that kind was replaced, or for long."""
    return f"for i in $(seq 600); do {work}; grep -q '{safe(kind)}' /proc/sched && break; done"


def to_and_fro(cores: int) -> str:
    """Commands under which threads have to give way for ever, and a push never helps, till somebody notices."""
    return f"{loops(cores)} {until_replaced('migration', 'sleep 0.1')}; kill $P; P="


class PolicyGuest(SharedGuest, unittest.TestCase):
    CORES = 4

    @classmethod
    def setUpClass(cls) -> None:
        build.build(build.TEST_KERNEL)

    @classmethod
    def boot(cls) -> guest.Guest:
        return boot(cls.CORES)

    def names(self, kind: str, *, hostile: bool) -> list[str]:
        found = re.search(rf"^{kind} \S+:(.*)$", self.said("cat /proc/sched"), re.MULTILINE)
        self.assertIsNotNone(found)
        return [name for name in found[1].split() if name.startswith("test.") == hostile]

    def choose(self, kind: str, name: str) -> None:
        status = self.machine.run(choose(f"{kind} {name}")).status
        self.assertEqual(status != 0, name == NEVER_MADE)

    def provoke(self, kind: str, name: str) -> None:
        """What has to happen for the policy to do wrong, where that is more than a load."""
        if name == SHUTTLE:
            self.machine.run(to_and_fro(self.CORES))
        elif kind == "migration" or name.startswith(TAIL):
            self.machine.run(until_replaced(kind, TURNS))

    def failures(self) -> int:
        return int(re.search(r"^failures (\d+)", self.machine.run("cat /proc/sched-dump").output, re.MULTILINE)[1])

    def gets_on(self) -> None:
        answer = self.machine.run(LOAD)
        self.assertEqual(answer.status, 0, answer.output)
        self.assertRegex(answer.output, r"(?m)^2$")


class Hostile(PolicyGuest):
    KINDS = tuple(USUAL)

    def restore(self) -> None:
        for kind in self.KINDS:
            self.choose(kind, USUAL[kind])

    def right_here(self, kind: str, name: str) -> bool:
        """Nothing that it does is noticed, on this machine."""
        return (kind, name) in BAD_BUT_RIGHT

    def contained(self, kind: str, name: str) -> None:
        before = self.failures()
        self.choose(kind, name)
        if not self.right_here(kind, name) and name != NEVER_MADE:
            self.provoke(kind, name)
        self.gets_on()
        running = self.machine.run("cat /proc/sched").output
        if self.right_here(kind, name):
            return
        if name == NEVER_MADE:
            self.assertIn(f"{kind} {USUAL[kind]}:", running)
            return
        self.assertGreater(self.failures(), before)
        self.assertIn(safe(kind), running)

    def test_every_one_alone(self) -> None:
        everybody = [(kind, name) for kind in self.KINDS for name in self.names(kind, hostile=True)]
        self.assertGreaterEqual(len(everybody), 20)
        for kind, name in everybody:
            with self.subTest(kind=kind, name=name):
                self.contained(kind, name)
                self.restore()

    def check_sets(self, sets: list[tuple[str, ...]]) -> None:
        for names in sets:
            with self.subTest(policies=names):
                for kind, name in zip(self.KINDS, names, strict=False):
                    self.choose(kind, name)
                self.gets_on()
                self.restore()

    def sets(self, *kinds: str) -> list[tuple[str, ...]]:
        return list(itertools.product(*(self.names(kind, hostile=True) for kind in kinds)))

    def test_a_sample_of_all_kinds_together(self) -> None:
        self.check_sets(random.Random(SEED).sample(self.sets(*self.KINDS), SAMPLE))

    @slow
    def test_a_sample_of_pairs(self) -> None:
        pairs = self.sets("algorithm", "placement")
        self.check_sets(random.Random(SEED).sample(pairs, len(pairs) // 4))

    @exhaustive
    def test_every_pair(self) -> None:
        self.check_sets(self.sets("algorithm", "placement"))

    def test_a_placement_that_cannot_say_why_is_noticed_when_it_is_asked(self) -> None:
        """Which it is while placements are traced, if there is a choice."""
        before = self.failures()
        self.choose("placement", "test.mismeasures")
        self.machine.run("echo place > /proc/trace")
        self.gets_on()
        self.machine.run("echo off > /proc/trace")
        running = self.machine.run("cat /proc/sched").output
        self.restore()
        if self.CORES == 1:
            self.assertEqual(self.failures(), before)
            return
        self.assertEqual(self.failures(), before + 1)
        self.assertIn("placement safe:", running)
        self.assertRegex(self.machine.run("cat /proc/sched-dump").output, r"placement test.mismeasures call score: did not come to an end")

    def test_somebody_who_starves_is_noticed(self) -> None:
        """Loops compute on each core, and the policy never takes the core away from them."""
        before = self.failures()
        # The one who counts waits beside them, and ends them.
        answer = self.machine.run(f"{loops(self.CORES)} {choose('algorithm test.forever')}; echo on | cat; kill $P; P=")
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
    """Nobody else can look what the core does; and nobody can move."""

    CORES = 1
    KINDS = ("algorithm", "placement", "migration")  # one core cannot be split into two groups

    def right_here(self, kind: str, name: str) -> bool:
        # There is no other core to answer somebody of, or to give somebody to.
        nothing_to_do = name == "test.stranger" or name.startswith(TAIL) or (kind == "migration" and name != NEVER_MADE)
        return nothing_to_do or super().right_here(kind, name)


class BesideRightOnes(PolicyGuest):
    """Policies that do wrong beside all the right ones of the other kinds: those go on."""

    COMPANIES = 3  # for each, when all are tried

    @classmethod
    def boot(cls) -> guest.Guest:
        # With the usual patience: what an endless call takes counts as time of a timeline that is right (docs/safety.md).
        return boot(cls.CORES, "quiet")

    def everybody(self) -> list[tuple[str, str]]:
        return [(kind, name) for kind in USUAL for name in self.names(kind, hostile=True)
                if (kind, name) not in BAD_BUT_RIGHT and name != NEVER_MADE]

    def company(self, kind: str, name: str, chance: random.Random) -> dict[str, str]:
        """Right policies of the other kinds. Who is never asked does nothing wrong: a migration where nobody has to give way, the
        end of a timeline where nobody pulls."""
        unfit = {"algorithm": ["fifo"]} if kind == "migration" else {"migration": ["none", "push"]} if name.startswith(TAIL) else {}
        return {other: chance.choice([right for right in self.names(other, hostile=False) if right not in unfit.get(other, [])])
                for other in USUAL if other not in (kind, "groups")}

    def replaced_alone(self, kind: str, name: str, company: dict[str, str]) -> None:
        before = self.failures()
        for other, right in company.items():
            self.choose(other, right)
        self.choose(kind, name)
        self.provoke(kind, name)
        self.gets_on()
        running = self.said("cat /proc/sched")
        self.choose(kind, USUAL[kind])
        self.assertGreater(self.failures(), before)
        self.assertIn(safe(kind), running)
        for other, right in company.items():
            self.assertIn(f"{other} {right}:", running)
            self.assertNotIn(safe(other), running)

    def check(self, everybody: list[tuple[str, str]], companies: int) -> None:
        chance = random.Random(SEED)
        for kind, name in everybody:
            for _ in range(companies):
                company = self.company(kind, name, chance)
                with self.subTest(kind=kind, name=name, **{f"beside_{other}": right for other, right in company.items()}):
                    self.replaced_alone(kind, name, company)

    def test_a_sample_of_them(self) -> None:
        everybody = self.everybody()
        chance = random.Random(SEED)
        for kind in USUAL:
            self.check(chance.sample([one for one in everybody if one[0] == kind], SAMPLE // 2), 1)

    @slow
    def test_every_one_in_a_company(self) -> None:
        self.check(self.everybody(), 1)

    @exhaustive
    def test_every_one_in_several_companies(self) -> None:
        self.check(self.everybody(), self.COMPANIES)


class Account(unittest.TestCase):
    def test_it_names_a_migration(self) -> None:
        build.build(build.TEST_KERNEL)
        with boot(4) as machine:
            machine.prompt()
            machine.run(f"echo migration test.shuttle > /proc/sched; {to_and_fro(4)}")
            text = machine.run("cat /proc/sched-dump").output
        self.assertRegex(text, r"(?m)^failure at \d+ core [0-3] migration test.shuttle call push: sent threads to and fro$")
        self.assertRegex(text, r"(?m)^  thread [1-9]\d*$")
        for core in range(4):  # what it saw
            self.assertRegex(text, rf"(?m)^  core {core} threads \d+$")
        self.assertRegex(text, r"(?m)^  decided \d+ thread [1-9]\d* until \d+$")


if __name__ == "__main__":
    unittest.main()
