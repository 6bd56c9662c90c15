"""A process with 1 GiB of touched memory forks in a guest of 2 GiB: nothing is copied but what is written, and all comes back.

The rest of large pages is user/tests/largepages.cpp, which tests/system/test_guest_programs.py runs with the others.
"""

import re
import unittest

from lab import guest


class LargePages(unittest.TestCase):
    def setUp(self) -> None:
        self.machine = guest.corral(4, memory_mib=2048)
        self.addCleanup(self.machine.kill)
        self.machine.prompt()

    def number(self, name: str) -> int:
        return int(self.machine.run(f"grep {name} /proc/meminfo").output.split()[1])

    def test_fork_of_a_gigabyte(self) -> None:
        before = self.number("MemFree")
        answer = self.machine.run("/tests/largepages gigabyte")
        self.assertEqual(answer.status, 0, answer.output)
        found = re.findall(r"in large pages: (\d+)", answer.output)
        self.assertEqual(len(found), 1, answer.output)
        self.assertGreaterEqual(int(found[0]), 1 << 20)
        self.assertGreater(self.number("MemFree"), before - 8192)

    def test_large_pages_are_used_and_come_back(self) -> None:
        self.assertEqual(self.number("AnonHugePages"), 0)
        self.assertEqual(self.machine.run("/tests/largepages").status, 0)
        self.assertEqual(self.number("AnonHugePages"), 0)


if __name__ == "__main__":
    unittest.main()
