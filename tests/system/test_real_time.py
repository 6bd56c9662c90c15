"""The real-time class between cores (docs/real-time.md): what the cores tell each other about it."""

import re
import unittest

from lab import guest, hunt

SEED = 1
UNDISTURBED = "quiet interleave.seed=0"


def sent(mailboxes: str) -> int:
    """Messages of all cores, by /proc/mailboxes."""
    return sum(int(row[1]) for row in re.finditer(r"^\d+ +(\d+) ", mailboxes, re.MULTILINE))


class Messages(unittest.TestCase):
    """Threads of one priority, more than cores, that yield: no core ever has room for those of another."""

    THREADS, ROUNDS, YIELDS = 100, 20, 2
    MOST_OF_A_YIELD = 4

    def test_cores_where_somebody_waits_do_not_tell_each_other_for_ever(self) -> None:
        with guest.corral(8, options=UNDISTURBED, seed=SEED) as machine:
            machine.prompt()
            before = sent(machine.run("cat /proc/mailboxes").output)
            answer = machine.run(f"threadload {self.THREADS} real-time 100 rounds {self.ROUNDS} locks 64")
            self.assertEqual(answer.status, 0, answer.output)
            messages = sent(machine.run("cat /proc/mailboxes").output) - before
        self.assertGreater(messages, 0)
        self.assertLess(messages, self.MOST_OF_A_YIELD * self.THREADS * self.ROUNDS * self.YIELDS)


class Highest(unittest.TestCase):
    """Where no host keeps a core from running: as many as there are cores, the highest, run at every attempt."""

    def test_they_run_whichever_core_each_began_on(self) -> None:
        for cores in (2, 4):
            with self.subTest(cores=cores):
                self.assertEqual(hunt.once(hunt.Hunt(cores, ("/tests/realtimetest", "2")), SEED).failure, "")


class Reservations(unittest.TestCase):
    def test_what_is_given_to_who_ends_is_not_lost(self) -> None:
        with guest.corral(4) as machine:
            machine.prompt()
            answer = machine.run("/probes/lastgifts 500")
        self.assertEqual((answer.status, answer.output.strip()), (0, "lastgifts: 7 halves given"))


if __name__ == "__main__":
    unittest.main()
