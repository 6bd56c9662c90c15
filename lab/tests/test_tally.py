"""What `corral test` counts and tells of its tests."""

import contextlib
import io
import unittest
from unittest import mock

from lab.testing import tally as tally_module
from lab.testing.tally import Tally


class Durations(unittest.TestCase):
    def test_the_slowest_come_first(self) -> None:
        now = 100.0
        told = io.StringIO()
        with mock.patch.object(tally_module.time, "monotonic", lambda: now), contextlib.redirect_stdout(told):
            tally = Tally()
            for name, seconds in (("quick", 1.0), ("slow", 50.0), ("middling", 20.0)):
                tally.running("lab", name)
                now += seconds
            tally.over()
            now += 1000.0  # between suites: nobody's
            tally.ok("lab", "slow")
            self.assertEqual(tally.close(2), 0)
        names = [line.split()[-1] for line in told.getvalue().splitlines() if " s  lab: " in line]
        self.assertEqual(names, ["slow", "middling"])
        self.assertEqual(tally.slowest(9)[2], "     1.0 s  lab: quick")


if __name__ == "__main__":
    unittest.main()
