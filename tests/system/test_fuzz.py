"""Random calls do no harm: no panic, and all memory comes back (user/probes/fuzzcalls.cpp).

A longer run: `./corral run --cores 4 -- sh -c 'IN_A_GUEST=1 /probes/fuzzcalls SEED CALLS'`, with another seed each time.
"""

import re
import unittest

from lab import debian, guest


class RandomCalls(unittest.TestCase):
    def fuzz(self, cores: int, seed: int, calls: int) -> None:
        script = f"IN_A_GUEST=1 exec /probes/fuzzcalls {seed} {calls}"
        text, end = guest.run_program(["sh", "-c", script], cores=cores, options="quiet panic=off")
        self.assertEqual(end.status, 0, f"{end.message}\n{text[-3000:]}")
        said = re.search(r"fuzzcalls: seed \d+, (\d+) calls by (\d+) processes", text)
        self.assertIsNotNone(said, text[-2000:])
        self.assertGreater(int(said[1]), calls // 4)

    def test_the_kernel_lives_and_gets_its_memory_back(self) -> None:
        for cores, seed in ((1, 11), (4, 12)):
            with self.subTest(cores=cores, seed=seed):
                self.fuzz(cores, seed, 20000)

    def test_the_kernel_lives_with_debians_trinity(self) -> None:
        """A guest of its own, since trinity changes whatever it can; it waits ten seconds to be stopped first.

        Without a terminal: one of its processes that reads from that, in the background, would stop all of them (SIGTTIN).
        """
        script = ("mkdir /tmp/t; cd /tmp/t; setsid -w timeout 240 trinity -q -l off -C 4 -N 5000 -s 3 --dangerous -x reboot "
                  "--disable-fds=sockets --disable-fds=perf < /dev/null > log 2>&1; echo ended with $?; "
                  "grep -a 'Ran .* syscalls' log; cd /; rm -rf /tmp/t; sh -c 'echo lives'")  # fmt: skip
        text, end = guest.run_program(["sh", "-c", script], cores=4, options="quiet panic=off", initramfs=debian.initramfs(),
                                      memory_mib=debian.MEMORY_MIB)  # fmt: skip
        self.assertEqual(end.status, 0, f"{end.message}\n{text[-3000:]}")
        self.assertRegex(text, r"Ran [0-9]{4,} syscalls")
        self.assertIn("lives", text)


if __name__ == "__main__":
    unittest.main()
