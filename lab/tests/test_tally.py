"""What `corral test` counts and tells of its tests."""

import contextlib
import io
import time
import unittest

from lab.testing.tally import Tally


class Durations(unittest.TestCase):
    def test_the_slowest_come_first(self) -> None:
        tally = Tally()
        for name, seconds in (("quick", 0.0), ("slow", 0.05), ("middling", 0.02)):
            tally.running("lab", name)
            time.sleep(seconds)
        tally.over()
        time.sleep(0.1)  # between suites: nobody's
        told = io.StringIO()
        with contextlib.redirect_stdout(told):
            tally.ok("lab", "slow")
            self.assertEqual(tally.close(2), 0)
        names = [line.split()[-1] for line in told.getvalue().splitlines() if " s  lab: " in line]
        self.assertEqual(names, ["slow", "middling"])
        self.assertEqual(len(tally.slowest(9)), 3)


if __name__ == "__main__":
    unittest.main()
