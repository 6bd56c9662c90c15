"""Nothing of the kernel's reaches a program: no page of it can be touched, and nothing that it leaves behind is ever seen.

The probes (user/probes) run in guests that are booted for them: `provoke` lists the kernel's pages, `memory.canary` fills with
a pattern what the kernel leaves behind, and stops the machine when a program would be given it.
"""

import re
import unittest

from lab import guest
from lab.testing.selection import slow

CANARIES = "memory.canary quiet panic=off"
PATTERN = "a program would be given what the kernel left behind"
# Programs that make many calls of many kinds: under the option, a copy of the pattern to any of them is a panic.
BUSY = "; ".join(f"/tests/{name} || exit 1" for name in (
    "filetest", "execvetest", "waittest", "signaltest", "polltest", "pipetest", "timetest", "pointertest", "musl_pthreads"))


class KernelPages(unittest.TestCase):
    def probe(self, cores: int, memory_mib: int) -> None:
        text, end = guest.run_program(["sh", "-c", "grep MemTotal /proc/meminfo; /probes/kernelpages"], cores=cores,
                                      memory_mib=memory_mib, options="provoke quiet panic=off")
        self.assertEqual(end.status, 0, f"{end.message}\n{text[-2000:]}")
        said = re.search(r"kernelpages: (\d+) pages, (\d+) tries, 0 open", text)
        self.assertIsNotNone(said, text[-2000:])
        pages, tries = int(said[1]), int(said[2])
        total = re.search(r"MemTotal: +(\d+) kB", text)
        # All memory through the direct map, and besides it the image, stacks and devices.
        self.assertGreater(pages, int(total[1]) // 4 + 100)
        self.assertEqual(tries, 5 * pages)

    def test_none_is_open(self) -> None:
        for cores in (1, 4):
            with self.subTest(cores=cores):
                self.probe(cores, 64)

    @slow
    def test_none_of_half_a_gigabyte_is_open(self) -> None:
        self.probe(4, 512)

    def test_the_list_of_pages_is_only_for_such_guests(self) -> None:
        text, end = guest.run_program(["sh", "-c", "cat /proc/kernel-map"], cores=1)
        self.assertNotEqual(end.status, 0)
        self.assertIn("not permitted", text)


class Leavings(unittest.TestCase):
    def run_under_canaries(self, cores: int, script: str) -> None:
        text, end = guest.run_program(["sh", "-c", script], cores=cores, options=CANARIES)
        self.assertEqual(end.status, 0, f"{end.message}\n{text[-3000:]}")

    def test_no_program_sees_them(self) -> None:
        for cores in (1, 4):
            for probe in ("canarybuffers", "canaryregisters"):
                with self.subTest(cores=cores, probe=probe):
                    self.run_under_canaries(cores, f"/probes/{probe}")

    def test_no_call_of_other_programs_gives_them(self) -> None:
        self.run_under_canaries(4, BUSY)

    def test_they_would_be_noticed(self) -> None:
        for kind in ("page", "object", "stack"):
            with self.subTest(kind=kind):
                text, end = guest.run_program(["sh", "-c", f"echo leak-{kind} > /proc/provoke; echo survived"], cores=2,
                                              options=f"provoke {CANARIES}")
                self.assertIn(PATTERN, text)
                self.assertNotIn("survived", text)
                self.assertNotEqual(end.status, 0)


if __name__ == "__main__":
    unittest.main()
