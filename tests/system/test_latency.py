"""`bench latency` in its quick form: every case carried out on both systems. Times are compared by no test.

And its program, `requests`: what it refuses, and that it carries every request out.
"""

import re
import unittest

from lab import guest
from lab.bench import latency
from lab.bench.latency_cases import STATISTICS


class Quick(unittest.TestCase):
    def test_every_case_is_measured_on_both_systems(self) -> None:
        asked = latency.Plan("qemu", ("corral", "linux"), latency.chosen(None, quick=True), (2,), 1, quick=True)
        results = latency.measure(asked)
        found = latency.Found(results)
        for system in asked.systems:
            for name in asked.latencies:
                with self.subTest(system=system, latency=name):
                    half, most, worst = (found.value(system, 2, f"{name} {statistic}") for statistic in STATISTICS)
                    self.assertTrue(0 < half <= most <= worst, f"{half}, {most}, {worst}")
        self.assertIn(f"of {len(results.rows) // 2} compared", "\n".join(latency.report(results, asked)))


class Requests(unittest.TestCase):
    def test_wrong_words_are_refused_and_requests_carried_out(self) -> None:
        with guest.corral(2) as machine:
            machine.prompt()
            for words in ("", "1 2 3 4", "1 2 3 4 5 6", "0 1 1 1 1", "65 1 1 1 1", "1 257 1 1 1", "1 1 0 1 1", "1 1 1 x 1", "1 1 1 1 -1"):
                with self.subTest(words=words):
                    answer = machine.run(f"requests {words}")
                    self.assertEqual(answer.status, 2, answer.output)
                    self.assertIn("usage: requests MESSENGERS", answer.output)
            for messengers, workers, requests, sleep in ((1, 1, 1, 0), (1, 8, 500, 100), (3, 5, 1000, 0), (16, 16, 2000, 0)):
                answer = machine.run(f"requests {messengers} {workers} {requests} 100 {sleep}")
                self.assertEqual(answer.status, 0, answer.output)
                told = {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", answer.output)}
                self.assertEqual(told["requests"], requests)
                for statistic in STATISTICS:
                    self.assertLessEqual(told[f"wake_{statistic}_ns"], told[f"request_{statistic}_ns"])
                self.assertTrue(told["wake_p50_ns"] <= told["wake_p99_ns"] <= told["wake_worst_ns"], answer.output)


if __name__ == "__main__":
    unittest.main()
