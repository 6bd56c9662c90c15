"""Every timeline with every placement, migration and grouping boots and passes the same suite: a sample, and with `--all` all.

And policies change ten thousand times under hackbench. Names come from the page that the build makes of the kernel.
"""

import itertools
import random
import unittest
import zlib

from lab import boot_options, debian, guest, soak
from lab.testing.selection import exhaustive

SEED = 11
SAMPLE = 6
KINDS = ("algorithm", "placement", "migration", "groups")
WAKES = ("home", "waker")  # half of them with either
# Never takes a core away: programs that wait in loops would wait for ever.
WITHOUT_PREEMPTION = ("fifo",)
SUITE = ("for i in 1 2 3 4; do (echo $i | cat | cat) & done; wait; "
         "mandelbrot 8 --mode array --size 20x10 --iterations 200 > /dev/null && /tests/pipetest > /dev/null && "
         "{more} && cat /proc/sched")
PREEMPTED = "/tests/forktest > /dev/null && /tests/futexqueues > /dev/null && /tests/futexstress > /dev/null"
CHANGES = 10_000
PATIENCE_SECONDS = 900.0


class Boots(unittest.TestCase):
    def combinations(self) -> list[tuple[str, ...]]:
        return list(itertools.product(*(boot_options.policies()[f"sched.{kind}"] for kind in KINDS)))

    def boot(self, combination: tuple[str, ...]) -> None:
        wakes = WAKES[zlib.crc32(" ".join(combination).encode()) % len(WAKES)]
        options = " ".join(f"sched.{kind}={name}" for kind, name in zip(KINDS, combination)) + f" sched.wakes={wakes}"
        suite = SUITE.format(more="true" if combination[0] in WITHOUT_PREEMPTION else PREEMPTED)
        with self.subTest(options=options), guest.corral(4, options=f"quiet {options}", program=["sh", "-c", suite]) as machine:
            self.assertEqual(machine.ended().status, 0, machine.said()[-2000:])
            said = machine.text.replace("\r", "")
            for kind, name in zip(KINDS, combination):
                self.assertRegex(said, rf"(?m)^{kind} {name}:")
            self.assertEqual(soak.violations(said), 0)

    def test_a_sample(self) -> None:
        everything = self.combinations()
        self.assertGreaterEqual(len(everything), 6 * 7 * 4 * 4)
        for combination in random.Random(SEED).sample(everything, SAMPLE):
            self.boot(combination)

    @exhaustive
    def test_all(self) -> None:
        for combination in self.combinations():
            self.boot(combination)


class Changes(unittest.TestCase):
    def test_ten_thousand_under_hackbench_lose_nobody(self) -> None:
        with guest.corral(4, initramfs=debian.initramfs(), options="quiet", memory_mib=debian.MEMORY_MIB,
                          patience=PATIENCE_SECONDS) as machine:
            machine.prompt()
            found = {kind: [name for name in boot_options.policies()[f"sched.{kind}"] if name not in WITHOUT_PREEMPTION] for kind in KINDS}
            chance = random.Random(SEED)
            turn = "; ".join(f"echo {kind} {chance.choice(found[kind])} > /proc/sched"
                             for kind in itertools.islice(itertools.cycle(("algorithm", "placement", "algorithm", "migration")), 40))
            answer = machine.run("(while [ ! -e /tmp/over ]; do hackbench -g 2 -f 10 -l 50 > /dev/null || exit 1; "
                                 f"hackbench -T -p -g 2 -f 10 -l 50 > /dev/null || exit 1; echo round; done) & n=0; "
                                 f"while [ $n -lt {CHANGES // 40} ]; do {turn}; n=$((n+1)); done; touch /tmp/over; wait $!")
            self.assertEqual(answer.status, 0, answer.output[-2000:])
            self.assertIn("round", answer.output, "hackbench ran all the time")
            self.assertEqual(soak.violations(machine.run("cat /proc/sched").output), 0)


if __name__ == "__main__":
    unittest.main()
