"""Threads that talk to each other by pipes: they get through their words, and do not change places at each of them; timers of others
do not wait for them.
"""

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
NOBODY_OVERDUE = "sched.algorithm=cfs:overdue=10000"  # so that no thread preempts at once whom another one has woken
# Microseconds of instructions, one a nanosecond. The beginning of a turn, in which nobody preempts whom a thread has woken, is 1,000.
INTERVAL_US, EXPIRATIONS, LONGEST_US, PROMPT_US = 2103, 200, 5000, 100
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


class Timers(unittest.TestCase):
    """Who is woken by an interrupt talks to nobody here: he waits for no beginning of a turn."""

    def test_they_do_not_wait_for_the_turns_of_talkers(self) -> None:
        talk = load.call("hackbench -T -p -g 1 -f 2 -l 100000000")
        sleep = load.call(f"cyclictest -q -m -S --policy=other -i {INTERVAL_US} -l {EXPIRATIONS} -h {LONGEST_US}")
        files = load.programs(frozenset({"hackbench", "cyclictest"}))
        with guest.corral(1, options=f"{UNDISTURBED} {NOBODY_OVERDUE}", seed=SEED, files=files, memory_mib=load.MEMORY_MIB) as machine:
            machine.prompt()
            machine.run(f"{talk} > /dev/null 2>&1 &")
            answer = machine.run(sleep)
            machine.run("kill -9 $!")
        self.assertEqual(answer.status, 0, answer.output)
        prompt = sum(int(count) for late, count in re.findall(r"(?m)^(\d+)\s+(\d+)$", answer.output) if int(late) < PROMPT_US)
        self.assertGreater(prompt, 0.9 * EXPIRATIONS, answer.output)


if __name__ == "__main__":
    unittest.main()
