"""Memory, files and processes run out: the right error or one ended process, never the machine."""

import unittest

from lab.testing.shared_guest import SharedGuest


class Exhaustion(SharedGuest, unittest.TestCase):
    """In one guest: what one test uses up, the next one has again."""

    CORES = 4
    MEMORY_MIB = 64

    def free_kib(self) -> int:
        return int(self.machine.run("grep MemFree /proc/meminfo").output.split()[1])

    def test_a_program_that_wants_more_than_there_is(self) -> None:
        self.assertEqual(self.machine.run("true").status, 0)
        before = self.free_kib()
        for _ in range(3):
            self.assertEqual(self.machine.run("dd if=/dev/zero of=/dev/null bs=100M count=1 2>/dev/null").status, 137)
        self.assertEqual(self.machine.run("echo alive | tr a-z A-Z").output, "ALIVE\n")
        # Caches of cores may hold some pages; a leak of one run would be most of the memory.
        self.assertGreater(self.free_kib(), before - 2048)

    def test_a_full_file_system(self) -> None:
        answer = self.machine.run("dd if=/dev/zero of=/tmp/big bs=64k count=2000 2>&1 | grep -c 'No space left'")
        self.assertEqual(answer.output, "1\n")
        self.assertEqual(self.machine.run("ls -l / | wc -l").status, 0)
        self.assertEqual(self.machine.run("rm /tmp/big; echo kept > /tmp/small; cat /tmp/small").output, "kept\n")

    def test_too_many_processes(self) -> None:
        bomb = "(ulimit -u 40; for i in 1 2 3 4 5 6 7 8 9; do for j in 1 2 3 4 5 6 7 8 9; do sleep 2 & done; done)"
        answer = self.machine.run(f"{bomb} 2>&1")
        self.assertIn("Resource temporarily unavailable", answer.output)
        self.assertEqual(self.machine.run("sleep 3; echo well").output, "well\n")


if __name__ == "__main__":
    unittest.main()
