"""Many threads that wait for one futex: who waits there makes neither waiting nor waking dearer for the others.

With a seed on one core time is a number of instructions, the same on every host.
"""

import re
import unittest

from lab import guest

SEED = 1
UNDISTURBED = "quiet interleave.seed=0"


class Waiters(unittest.TestCase):
    FEW, MANY = 100, 400
    MOST = 1.12  # times as dear for each; if all who wait were looked at each time, 1.26 times, and 1.4 times of the real-time class

    def cost(self, threads: int, share: int) -> float:
        """Of each thread, all of which compete for one mutex; microseconds of virtual time."""
        program = f"threadload {threads} real-time {share} locks 1 shared 0 own 0 rounds 10"
        said, end = guest.run_program(program.split(), cores=1, seed=SEED, options=UNDISTURBED)
        self.assertEqual(end.status, 0, said)
        found = re.search(r"all threads=\d+ made_us=\d+ done_us=(\d+)", said)
        assert found, said
        return int(found[1]) / threads

    def test_four_times_as_many_cost_four_times_as_much(self) -> None:
        for share, name in ((0, "normal"), (50, "both"), (100, "real-time")):
            with self.subTest(threads=name):
                self.assertLess(self.cost(self.MANY, share) / self.cost(self.FEW, share), self.MOST)


if __name__ == "__main__":
    unittest.main()
