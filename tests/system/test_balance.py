"""The load of bench `balance`: the same numbers each time, what placements make of them, and wrong options.

One boot repeats to the last count (docs/cache-model.md), so that figures of two boots may be compared; none is a time of the host.
"""

import unittest

from lab.bench import balance
from lab.bench.balance_run import Found, Load, Runs, once
from lab.testing.shared_guest import SharedGuest

SMALL = Load("small", 8, 12, 12, 1000)
MODEL = balance.Plan(("corral",), balance.CORES, (), (1,), "today").model


def measured(placement: str, migration: str = "none") -> Found:
    return once(Runs("corral", 4, (SMALL,), (1,), MODEL, balance.Choice(placement, migration).options))[0]


class Placements(unittest.TestCase):
    def test_who_goes_back_finds_its_section_in_the_cache(self) -> None:
        back, anywhere = measured("affinity"), measured("random")
        self.assertEqual(back.checksum, anywhere.checksum)
        calculations = anywhere.metrics["calculations"]
        self.assertEqual(back.metrics["calculations"], calculations)
        self.assertEqual(back.metrics["moves"], 0, "migration none, and a section is used every millisecond")
        self.assertGreater(anywhere.metrics["moves"], calculations / 2, "three of four choices are another core")
        self.assertLess(back.metrics["refills.user"], 0.8 * anywhere.metrics["refills.user"])
        lines = SMALL.section_kib * 1024 / 64
        self.assertGreater(anywhere.metrics["refills.user"], lines * anywhere.metrics["moves"] / 2, "a move fetches most of a section")
        self.assertLess(anywhere.metrics["refills.user"], 1.5 * lines * calculations, "no calculation fetches much more than a section")

    def test_a_run_repeats(self) -> None:
        first, second = (measured("cache-aware", "pull") for _ in range(2))
        self.assertEqual(first, second)
        self.assertGreater(first.metrics["wake_p50_ns"], 0)
        self.assertGreater(first.metrics["refills.kernel"], 0)
        self.assertGreaterEqual(first.metrics["wasted_us"], 0)
        self.assertLess(first.metrics["wasted_us"], 4 * first.metrics["runtime_us"])


class Options(SharedGuest, unittest.TestCase):
    CORES = 2

    def test_wrong_ones_are_refused_with_a_reason(self) -> None:
        for words, reason in (("", "a number is missing"), ("4 section", "a number is missing"), ("0", "0"), ("257", "257"), ("four", "four"),
                              ("4 section 0", "0"), ("4 section 12k", "12k"), ("4 rounds 2001", "2001"), ("4 sleep -5", "-5"),
                              ("4 seed 0", "0"), ("4 rests 3", "rests"), ('4 seed ""', "")):
            answer = self.machine.run(f"balance {words}")
            with self.subTest(words=words):
                self.assertEqual(answer.status, 2)
                self.assertTrue(answer.output.startswith(f"balance: {reason}\nusage: balance THREADS"), answer.output)

    def test_without_options_it_ends(self) -> None:
        answer = self.machine.run("balance 3 rounds 5")
        self.assertEqual(answer.status, 0)
        self.assertRegex(answer.output, r"^balance: runtime_us=\d+ calculations=\d+ moves=\d+ wake_p50_ns=\d+ .* checksum=[0-9a-f]{16}\n$")


if __name__ == "__main__":
    unittest.main()
