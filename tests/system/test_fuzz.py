"""Random calls do no harm: no panic, and all memory comes back (user/probes/fuzzcalls.cpp).

A longer run: `./corral run --cores 4 -- sh -c 'IN_A_GUEST=1 /probes/fuzzcalls SEED CALLS'`, with another seed each time.
"""

import re
import unittest

from lab import guest


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


if __name__ == "__main__":
    unittest.main()
