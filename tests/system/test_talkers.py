"""Threads that talk to each other by pipes: they get through their words, and do not change places at each of them."""

import re
import unittest

from lab import guest
from lab.bench import load

SEED = 1
UNDISTURBED = "quiet interleave.seed=0"
GROUPS, PAIRS, LOOPS = 3, 8, 500
MESSAGES = GROUPS * PAIRS * PAIRS * LOOPS
# Who changes places at every word: four for each three messages.
MOST = MESSAGES / 3
TIMES = 2  # how each run begins depends on what was before it


def switches(machine: guest.Guest) -> int:
    return int(re.search(r"^ctxt (\d+)", machine.run("cat /proc/stat").output, re.MULTILINE)[1])


class Readers(unittest.TestCase):
    """They need a little less time than their writers, so they are behind; the timeline lets only so many preempt at once for that."""

    def test_they_do_not_preempt_at_every_word(self) -> None:
        hackbench = load.call(f"hackbench -p -g {GROUPS} -f {PAIRS} -l {LOOPS}")
        with guest.corral(1, options=UNDISTURBED, seed=SEED, files=load.programs(frozenset({"hackbench"})), memory_mib=load.MEMORY_MIB) as machine:
            machine.prompt()
            for time in range(TIMES):
                before = switches(machine)
                answer = machine.run(hackbench)
                self.assertEqual(answer.status, 0, answer.output)
                self.assertRegex(answer.output, r"(?m)^Time: [0-9.]+$")
                with self.subTest(time=time):
                    self.assertLess(switches(machine) - before, MOST)


if __name__ == "__main__":
    unittest.main()
