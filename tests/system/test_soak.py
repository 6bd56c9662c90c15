"""A sample of what `corral soak` does at length: nothing is lost, neither a wake-up nor a page (lab/soak.py)."""

import unittest

from lab import soak
from lab.testing.shared_guest import SharedGuest


class Sample(SharedGuest, unittest.TestCase):
    def soak(self, name: str) -> soak.Record:
        record = soak.Record(name, self.CORES)
        soak.soak(soak.LOADS[name], self.machine, record, minutes=0.05, round_seconds=1)
        self.assertEqual(record.failure, "")
        return record

    def test_no_wake_up_is_lost(self) -> None:
        self.assertGreater(self.soak("wake-ups").counted["pairs"], 0)

    def test_no_page_is_used_after_it_was_unmapped(self) -> None:
        self.assertGreater(self.soak("unmaps").counted["unmaps"], 0)

    def test_nothing_is_left_of_processes_and_threads(self) -> None:
        counted = self.soak("lifecycles").counted
        self.assertGreater(counted["processes"], 0)
        self.assertGreater(counted["threads"], 0)


if __name__ == "__main__":
    unittest.main()
