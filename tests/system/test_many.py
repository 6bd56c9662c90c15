"""10,000 threads at once in 512 MiB, 1,000 processes, 100,000 threads in turn: user/tests/manytest.cpp with effort 20.

No page is missing afterwards: caches of cores and slabs may have grown, but by less than one page in a hundred threads.
"""

import unittest

from lab import guest
from lab.testing.selection import slow


class Many(unittest.TestCase):
    ALLOWED_KIB = 4096

    def free_kib(self, machine: guest.Guest) -> int:
        return int(machine.run("grep MemFree /proc/meminfo").output.split()[1])

    @slow
    def test_ten_thousand_threads(self) -> None:
        with guest.corral(4, memory_mib=512) as machine:
            machine.prompt()
            self.assertEqual(machine.run("/tests/manytest").status, 0)
            before = self.free_kib(machine)
            answer = machine.run("/tests/manytest 20")
            self.assertEqual(answer.status, 0, answer.output)
            self.assertIn("checks ok", answer.output)
            self.assertGreater(self.free_kib(machine), before - self.ALLOWED_KIB)


if __name__ == "__main__":
    unittest.main()
