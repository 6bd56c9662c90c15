"""Core groups (docs/groups.md): threads of both classes keep to their cores with every timeline and placement."""

import itertools
import random
import re
import unittest

from lab import boot_options, emulators, guest, soak
from lab.bench import groups_run
from lab.bench.groups_point import CACHES, Point
from lab.testing.choosing import choose
from lab.testing.selection import slow
from lab.testing.shared_guest import SharedGuest

SEED = 5
SAMPLE = 4
# Never takes a core away: the test's threads wait for each other in loops.
WITHOUT_PREEMPTION = ("fifo",)
LOAD = "for i in 1 2 3 4 5 6; do (for j in 1 2 3 4; do echo $i | cat | cat; done) & done; wait"
SEEDS = range(1, 11)
SEED_PATIENCE = 300.0
JOBS = 2
SLOW_EFFORT = 200  # times 50 changes
SLOW_PATIENCE = 1800.0


class Groups(SharedGuest):
    def tearDown(self) -> None:
        self.run_well(choose("groups none", "algorithm cfs", "placement least-loaded"))

    def state(self) -> str:
        return self.machine.run("cat /proc/sched").output

    def run_well(self, command: str) -> None:
        answer = self.machine.run(command)
        self.assertEqual(answer.status, 0, f"{command}:\n{answer.output[-3000:]}")

    def test_a_sample_of_timelines_and_placements(self) -> None:
        everything = [pair for pair in itertools.product(*(boot_options.policies()[f"sched.{kind}"] for kind in ("algorithm", "placement")))
                      if pair[0] not in WITHOUT_PREEMPTION]
        for algorithm, placement in random.Random(SEED).sample(everything, SAMPLE):
            with self.subTest(algorithm=algorithm, placement=placement):
                self.run_well(choose(f"algorithm {algorithm}", f"placement {placement}"))
                self.run_well("/tests/groupstest")
                self.assertEqual(soak.violations(self.state()), 0)

    def test_changes_under_load_lose_nobody(self) -> None:
        self.run_well(f"({LOAD}) > /dev/null & /tests/groupstest && wait $!")
        self.assertEqual(soak.violations(self.state()), 0)


class FourCores(Groups, unittest.TestCase):
    CORES = 4


class EightCores(Groups, unittest.TestCase):
    CORES = 8


class Bench(unittest.TestCase):
    """`./corral bench groups` with few threads on few cores."""

    CORES, THREADS = 4, 24

    def measured(self, *points: Point) -> list[dict[str, float]]:
        return [figures for _, figures in groups_run.once(groups_run.Runs("corral", self.CORES, points, 1, "interleave.seed=0"))]

    def test_the_classes_are_told_apart_and_a_row_of_points_repeats(self) -> None:
        points = (Point(threads=self.THREADS, share=25, method="run-queue-entry", layout="alternate"),
                  Point(threads=self.THREADS, share=25, ratio="1:3"))
        found = self.measured(*points)
        for one in found:
            self.assertEqual(one["all_ms"], max(one["normal_ms"], one["real-time_ms"]))
            for of in groups_run.CLASSES:
                self.assertLess(0, one[f"{of}_mean_ms"])
                self.assertLessEqual(one[f"{of}_mean_ms"], one[f"{of}_ms"])
        self.assertNotEqual(found[0], found[1])
        self.assertEqual(found, self.measured(*points))

    def test_its_program_refuses_what_it_does_not_know(self) -> None:
        with guest.corral(2) as machine:
            machine.prompt()
            for words in ("", "0", "20001", "5 locks", "5 locks 0", "5 policy idle", "5 real-time 101", "5 what 3"):
                answer = machine.run(f"threadload {words}")
                self.assertEqual(answer.status, 2, words)
                self.assertIn("usage: threadload", answer.output)

    def test_caches_of_few_neighbours_fetch_more_from_beyond(self) -> None:
        [one], [pairs] = (self.measured(Point(threads=self.THREADS, share=0, caches=caches)) for caches in list(CACHES)[:2])
        self.assertGreater(pairs["l2_refills"], one["l2_refills"])


class ManyChanges(unittest.TestCase):
    @slow
    def test_ten_thousand_lose_nobody(self) -> None:
        with guest.corral(4, program=["/tests/groupstest", str(SLOW_EFFORT)], patience=SLOW_PATIENCE) as machine:
            self.assertEqual(machine.ended().status, 0, machine.said()[-2000:])


class Seeded(unittest.TestCase):
    """The groups change between the choice of a thread's core and its arrival there: rarely, but with many of these seeds."""

    def violations(self, seed: int) -> int:
        program = ["sh", "-c", "/tests/groupstest && cat /proc/sched"]
        with guest.corral(8, options="quiet", program=program, seed=seed, patience=SEED_PATIENCE) as machine:
            self.assertEqual(machine.ended().status, 0, machine.said()[-2000:])
            return soak.violations(machine.said())

    def test_nobody_is_where_it_may_not_be(self) -> None:
        with emulators.lanes(JOBS) as lanes:
            self.assertEqual(list(lanes.map(self.violations, SEEDS)), [0] * len(SEEDS))


class AtBoot(unittest.TestCase):
    def test_cores_of_real_time_threads_ask_for_no_others(self) -> None:
        """Those would be looked for, in vain, at each switch of the other cores."""
        with guest.corral(4, options="quiet sched.groups=run-queue-entry:ratio=1:1", program=["sh", "-c", f"{LOAD}; cat /proc/sched"]) as machine:
            self.assertEqual(machine.ended().status, 0, machine.said()[-2000:])
        asked = dict(re.findall(r"migrations of core (\d+): pushed \d+ asked (\d+)", machine.text))
        self.assertEqual({core: asked[core] for core in "01"}, {"0": "0", "1": "0"}, machine.text[-2000:])
        self.assertEqual(set(asked), set("0123"))

    def test_groups_may_be_chosen_or_refused(self) -> None:
        for text, cores, found in (("affinity-mask:ratio=3:1", 4, "groups real-time cores 0-2"),
                                   ("affinity-mask:ratio=1:9", 4, "groups none:"),
                                   ("run-queue-entry", 1, "groups none:")):
            with self.subTest(text=text, cores=cores), \
                    guest.corral(cores, options=f"quiet sched.groups={text}", program=["cat", "/proc/sched"]) as machine:
                self.assertEqual(machine.ended().status, 0)
                self.assertIn(found, machine.said())


if __name__ == "__main__":
    unittest.main()
