"""Scheduling policies in the kernel: any timeline with any placement and any migration runs the same programs.

Names come from the page that the build makes of the kernel, so a new policy is tested as soon as it exists.
"""

import itertools
import random
import re
import time
import unittest

from lab import boot_options, soak
from lab.testing.choosing import choose
from lab.testing.selection import slow
from lab.testing.shared_guest import SharedGuest

SEED = 4
SAMPLE = 6
PIPES = "for i in 1 2 3 4; do (echo $i | cat | cat) & done; wait"
DRAWING = "mandelbrot 8 --mode array --size 20x10 --iterations 200 > /dev/null"
PROGRAMS = f"{PIPES}; {DRAWING} && /tests/futexqueues"
# Never takes a core away: programs that wait in loops would wait for ever.
WITHOUT_PREEMPTION = ("fifo",)
STANDARD = ("cfs", "least-loaded", "pull")
SPREAD = re.compile(r"^crowd: cores (\d+) used (\d+) moved (\d+)$", re.MULTILINE)
COUNTS = re.compile(r"^migrations of core \d+: (.*)$", re.MULTILINE)


class Policies(SharedGuest):
    def names(self, kind: str) -> tuple[str, ...]:
        return boot_options.policies()[f"sched.{kind}"]

    def preemptive(self) -> list[str]:
        return [name for name in self.names("algorithm") if name not in WITHOUT_PREEMPTION]


class Combinations(Policies, unittest.TestCase):
    def tearDown(self) -> None:
        self.choose(*STANDARD)

    def choose(self, algorithm: str, placement: str, migration: str) -> None:
        answer = self.machine.run(choose(f"algorithm {algorithm}", f"placement {placement}", f"migration {migration}"))
        self.assertEqual(answer.status, 0, answer.output)

    def check(self, combinations: list[tuple[str, str, str]]) -> None:
        for combination in combinations:
            with self.subTest(combination=combination):
                algorithm = combination[0]
                self.choose(*combination)
                answer = self.machine.run(f"{PIPES}; {DRAWING}" if algorithm in WITHOUT_PREEMPTION else PROGRAMS)
                self.assertEqual(answer.status, 0, answer.output)
                self.assertEqual(soak.violations(self.machine.run("cat /proc/sched").output), 0)

    def all(self) -> list[tuple[str, str, str]]:
        return list(itertools.product(self.names("algorithm"), self.names("placement"), self.names("migration")))

    def test_a_sample_of_combinations(self) -> None:
        everything = self.all()
        self.assertGreaterEqual(len(everything), 144)
        self.check(random.Random(SEED).sample(everything, SAMPLE))

    @slow
    def test_every_pair(self) -> None:
        """Each timeline with each placement; and each of them with each migration, since there are more of them."""
        migrations = self.names("migration")
        self.check([(algorithm, placement, migrations[(row + column) % len(migrations)])
                    for row, algorithm in enumerate(self.names("algorithm"))
                    for column, placement in enumerate(self.names("placement"))])

    def test_switches_under_load_lose_nobody(self) -> None:
        switches = " ".join(self.preemptive() * 3)
        placements, migrations = (" ".join(self.names(kind)) for kind in ("placement", "migration"))
        answer = self.machine.run(
            f"({PROGRAMS}; {PROGRAMS}) & for a in {switches}; do {choose('algorithm $a')} || exit 1; "
            f"for p in {placements}; do echo placement $p > /proc/sched; "
            f"for m in {migrations}; do echo migration $m > /proc/sched; done; done; done; wait $!")
        self.assertEqual(answer.status, 0, answer.output)
        self.assertEqual(soak.violations(self.machine.run("cat /proc/sched").output), 0)

    def test_tunables_are_set_shown_and_refused(self) -> None:
        self.choose("mlfq:levels=3,boost=500000", "blend:cold=9", "pull:interval=70")
        shown = self.machine.run("cat /proc/sched").output
        for line in ("mlfq.levels 3 :", "mlfq.boost 500000 µs:", "mlfq.quantum 100 % of a tick:", "blend.cold 9 :",
                     "pull.interval 70 µs:", "pull.hot 0 µs:"):
            self.assertIn(line, shown)
        for wrong in ("algorithm mlfq:levels=99", "algorithm none", "placement blend:hot=1", "placement", "blend",
                      "migration", "migration pull:heat=1", "migration cfs", "push"):
            with self.subTest(text=wrong):
                self.assertNotEqual(self.machine.run(f"echo {wrong} > /proc/sched").status, 0)
        table = re.compile(r"^core .*", re.MULTILINE | re.DOTALL)
        self.assertEqual(table.sub("", self.machine.run("cat /proc/sched").output), table.sub("", shown), "nothing changed")


class Migrations(Policies):
    """An imbalance made on purpose (user/probes/crowd.cpp): threads that never sleep, all on the first core."""

    def counts(self) -> dict[str, int]:
        """What all cores did, by the names in /proc/sched."""
        sums: dict[str, int] = {}
        for row in COUNTS.findall(self.machine.run("cat /proc/sched").output):
            words = row.split()
            for name, count in zip(words[::2], words[1::2]):
                sums[name] = sums.get(name, 0) + int(count)
        return sums

    def crowd(self, algorithm: str, migration: str, how: str) -> tuple[int, int, dict[str, int]]:
        """On how many cores the crowd was seen, how many of it moved, and what the cores did for that."""
        chosen = self.machine.run(choose(f"algorithm {algorithm}", f"migration {migration}"))
        self.assertEqual(chosen.status, 0, chosen.output)
        before = self.counts()
        answer = self.machine.run(f"/probes/crowd {how}")
        self.assertEqual(answer.status, 0, answer.output)
        now = self.counts()
        self.assertEqual(soak.violations(self.machine.run("cat /proc/sched").output), 0)
        found = SPREAD.search(answer.output)
        self.assertIsNotNone(found, answer.output)
        self.assertEqual(int(found[1]), self.CORES)
        return int(found[2]), int(found[3]), {name: now[name] - before[name] for name in now}

    def test_without_migration_nobody_moves(self) -> None:
        for algorithm in self.preemptive():
            with self.subTest(algorithm=algorithm):
                used, moved, counts = self.crowd(algorithm, "none", "preempted 3")
                self.assertEqual((used, moved), (1, 0))
                self.assertEqual(set(counts.values()), {0}, counts)

    def test_push_spreads_a_crowd(self) -> None:
        for algorithm in self.preemptive():
            with self.subTest(algorithm=algorithm):
                used, moved, counts = self.crowd(algorithm, "push", "spread")
                self.assertEqual(used, self.CORES)
                self.assertGreaterEqual(counts.pop("pushed"), moved)
                self.assertGreaterEqual(moved, self.CORES - 1)
                self.assertEqual(set(counts.values()), {0}, counts)

    def test_pull_spreads_a_crowd(self) -> None:
        for algorithm in self.names("algorithm"):
            for migration in ("pull", "pull:hot=3000,interval=2000", "both"):
                with self.subTest(algorithm=algorithm, migration=migration):
                    used, moved, counts = self.crowd(algorithm, migration, "spread")
                    self.assertEqual(used, self.CORES)
                    self.assertGreaterEqual(moved, self.CORES - 1)
                    self.assertGreaterEqual(counts["given"] + counts["offered"] + counts["pushed"], moved)
                    if migration != "both":
                        self.assertEqual(counts["pushed"], 0)

    def timer_interrupts(self) -> list[int]:
        """By core."""
        return [int(row.split()[7]) for row in self.machine.run("cat /proc/mailboxes").output.splitlines()
                if re.match(r"\d+ ", row)]

    def test_idle_cores_sleep_while_nobody_may_leave(self) -> None:
        before, begin = self.timer_interrupts(), time.monotonic()
        used, moved, counts = self.crowd("cfs", "pull:interval=0", "bound 5")
        self.assertEqual((used, moved), (1, 0))
        self.assertLess(counts["given"] + counts["offered"], 5, "a program of the shell at most")
        ticks = [now - then for now, then in zip(self.timer_interrupts(), before)]
        self.assertGreater(max(ticks), 5 * self.CORES, "each of the crowd lost its core five times")
        if self.CORES > 1:
            rounds = 2 * (time.monotonic() - begin)  # of the checker, while a core runs anything now and then
            self.assertLess(min(ticks), 5 + rounds, "the others have nothing to do, and do not ask again and again")


class OneCore(Migrations, unittest.TestCase):
    CORES = 1


class TwoCores(Migrations, unittest.TestCase):
    CORES = 2


class FourCores(Migrations, unittest.TestCase):
    CORES = 4


class EightCores(Migrations, unittest.TestCase):
    CORES = 8


if __name__ == "__main__":
    unittest.main()
