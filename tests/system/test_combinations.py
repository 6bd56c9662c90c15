"""Every timeline with every placement, migration and grouping boots and passes the same suite: a sample, and with `--all` all.

And policies change ten thousand times under hackbench. Names come from the page that the build makes of the kernel.
"""

import itertools
import random
import re
import unittest
import zlib

from lab import boot_options, debian, guest, soak
from lab.testing.selection import exhaustive

SEED = 11
SAMPLE = 6
KINDS = ("algorithm", "placement", "migration", "groups")
ARRANGEMENTS = ("queues", "wakes")  # options with a choice of words, which are no policies
WAKES = ("home", "waker")  # half of them with either
# Never takes a core away: programs that wait in loops would wait for ever.
WITHOUT_PREEMPTION = ("fifo",)
SUITE = ("for i in 1 2 3 4; do (echo $i | cat | cat) & done; wait; "
         "mandelbrot 8 --mode array --size 20x10 --iterations 200 > /dev/null && /tests/pipetest > /dev/null && "
         "{more} && cat /proc/sched")
PREEMPTED = "/tests/forktest > /dev/null && /tests/futexqueues > /dev/null && /tests/futexstress > /dev/null"
CHANGES = 10_000
PATIENCE_SECONDS = 900.0


def _names(kind: str) -> list[str]:
    if kind in ARRANGEMENTS:
        return boot_options.kinds()[f"sched.{kind}"].split("|")
    return list(boot_options.policies()[f"sched.{kind}"])


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
    """Of everything that can be chosen, first in, first out as well: those that wait in hackbench sleep."""

    KINDS = ("algorithm", "placement", "algorithm", "migration", "algorithm", "queues", "groups", "wakes")
    # A change that finds the last one of its kind under way is refused, and made again; who counts knows what was taken.
    CHANGE = ("made=0; change() { tries=0; until { echo \"$1 $2\" > /proc/sched; } 2> /dev/null; do tries=$((tries+1)); "
              "[ $tries -lt 20000 ] || return 1; [ $((tries%100)) -ne 0 ] || sleep 0.01; done; made=$((made+1)); }")
    IN_A_TURN = 40
    MADE = re.compile(r"^made (\d+)$", re.MULTILINE)
    COUNTED = re.compile(r"^changes of policies (\d+)$", re.MULTILINE)

    def turn(self) -> list[str]:
        """What is chosen again and again; `none` never when there are no groups already, which would be no change."""
        chance = random.Random(SEED)
        names = {kind: _names(kind) for kind in self.KINDS}
        for kind in names:
            chance.shuffle(names[kind])
            names[kind].sort(key="none".__eq__)
        each = {kind: itertools.cycle(names[kind]) for kind in names}
        return [f"{kind} {next(each[kind])}" for kind in itertools.islice(itertools.cycle(self.KINDS), self.IN_A_TURN)]

    def test_ten_thousand_under_hackbench_lose_nobody(self) -> None:
        turn = self.turn()
        self.assertEqual({choice for choice in turn if choice.startswith("algorithm")},
                         {f"algorithm {name}" for name in _names("algorithm")})
        with guest.corral(4, initramfs=debian.initramfs(), options="quiet", memory_mib=debian.MEMORY_MIB,
                          patience=PATIENCE_SECONDS) as machine:
            machine.prompt()
            before = int(self.COUNTED.findall(machine.run("cat /proc/sched").output)[0])
            self.assertEqual(machine.run(self.CHANGE).status, 0)
            changes = " && ".join(f"change {choice}" for choice in turn)
            answer = machine.run("(while [ ! -e /tmp/over ]; do hackbench -g 2 -f 10 -l 50 > /dev/null || exit 1; "
                                 f"hackbench -T -p -g 2 -f 10 -l 50 > /dev/null || exit 1; echo round; done) & n=0; "
                                 f"while [ $n -lt {CHANGES // self.IN_A_TURN} ]; do {changes} || break; n=$((n+1)); done; "
                                 "touch /tmp/over; echo made $made; wait $!")
            self.assertEqual(answer.status, 0, answer.output[-2000:])
            self.assertIn("round", answer.output, "hackbench ran all the time")
            self.assertEqual(self.MADE.findall(answer.output), [str(CHANGES)], answer.output[-2000:])
            state = machine.run("cat /proc/sched").output
            self.assertEqual(soak.violations(state), 0)
            self.assertEqual(int(self.COUNTED.findall(state)[0]) - before, CHANGES, "as the kernel counts them")
            last = [choice.split()[1] for choice in turn if choice.startswith("algorithm")][-1]
            self.assertRegex(state, rf"(?m)^algorithm {last}:")


if __name__ == "__main__":
    unittest.main()
