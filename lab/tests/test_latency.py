"""The bench of latencies: what the programs say, what the table makes of it, and what is refused."""

import json
import shutil
import statistics
import subprocess
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

from lab import main
from lab.bench import latency, latency_cases
from lab.bench.results import Results, Row, from_json
from lab.problem import Problem

SAID = """
@latency: other-idle samples=600 p50=23 p99=25 worst=42
@latency: requests-idle requests: requests=600 wake_p50_ns=34210 wake_p99_ns=34500 wake_worst_ns=40000 \
request_p50_ns=410000 request_p99_ns=428900 request_worst_ns=432500
@latency: fifo-idle samples= p50= p99= worst=
@latency: other-compute sh: cyclictest: not found
"""


def plan(names: str, policies: tuple[str, ...] = ()) -> latency.Plan:
    return latency.Plan("bochs", ("corral", "linux"), latency.chosen(names, quick=False), (1, 4), 1, policies=policies)


def results_of(values: dict[tuple[str, int, str], tuple[float, float, float]], name: str) -> Results:
    return Results(latency.NAME, tuple(Row(system, "bochs", cores, 0, f"{name} {statistic}", value, options)
                                       for (system, cores, options), three in values.items()
                                       for statistic, value in zip(latency_cases.STATISTICS, three)))


class Parsing(unittest.TestCase):
    def test_both_programs_in_microseconds(self) -> None:
        found = latency_cases.parse(SAID)
        self.assertEqual({key: value for key, value in found.items() if key.startswith("other-idle")},
                         {"other-idle p50": 23.0, "other-idle p99": 25.0, "other-idle worst": 42.0})
        self.assertEqual(found["requests-idle wake p99"], 34.5)
        self.assertEqual(found["requests-idle request worst"], 432.5)

    def test_who_told_nothing_is_left_out(self) -> None:
        self.assertEqual({key.split()[0] for key in latency_cases.parse(SAID)}, {"other-idle", "requests-idle"})

    def summary(self, threads: list[tuple[dict[int, int], int]]) -> str:
        """What the guest's shell makes of cyclictest's answer: histogram and longest of each thread."""
        answer = {"thread": {str(number): {"histogram": {str(us): count for us, count in histogram.items()},
                                           "cycles": 100, "min": 1, "max": longest, "avg": 5.5, "cpu": number}
                             for number, (histogram, longest) in enumerate(threads)}}
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "latency.json"
            file.write_text(json.dumps(answer, indent=2), encoding="utf-8")
            script = latency_cases.SUMMARY.replace("/tmp/latency.json", str(file)) + "summary\n"
            shell = [shutil.which("busybox") or "/bin/busybox", "sh", "-c", script]
            return subprocess.run(shell, capture_output=True, text=True, check=True).stdout.strip()

    def test_percentiles_are_of_the_samples_of_all_threads(self) -> None:
        self.assertEqual(self.summary([({5: 100}, 5), ({7: 50, 9: 47, 100: 3}, 100)]), "samples=200 p50=5 p99=100 worst=100")
        self.assertEqual(self.summary([({5: 99, 80: 1}, 80)]), "samples=100 p50=5 p99=5 worst=80")

    def test_what_is_longer_than_the_histogram_counts_as_the_longest(self) -> None:
        self.assertEqual(self.summary([({5: 98}, 12345)]), "samples=100 p50=5 p99=12345 worst=12345")


class Report(unittest.TestCase):
    def test_says_where_corral_is_later_and_with_what_it_is_best(self) -> None:
        values = {("corral", 1, ""): (10.0, 20.0, 30.0), ("linux", 1, ""): (20.0, 20.0, 20.0),
                  ("corral", 4, ""): (10.0, 20.0, 30.0), ("corral", 4, "sched.algorithm=rr"): (11.0, 12.0, 13.0),
                  ("linux", 4, ""): (20.0, 10.0, 30.0)}
        asked = plan("other-idle", ("sched.algorithm=rr",))
        text = "\n".join(latency.report(results_of(values, "other-idle"), asked))
        self.assertRegex(text, r"other-idle +p50 +10.0 +20.0 +0.50 +ok +- +-\n")
        self.assertRegex(text, r"other-idle +worst +30.0 +20.0 +1.50 +LATER")
        self.assertRegex(text, r"other-idle +p99 +20.0 +10.0 +2.00 +LATER +12.0 +sched.algorithm=rr")
        self.assertRegex(text, r"other-idle +p50 +10.0 +20.0 +0.50 +ok +10.0 +as it comes")
        self.assertRegex(text, r"\n *sched.algorithm=rr +12.0\n")
        self.assertIn("4 of 6 compared", text)

    def test_what_is_later_only_by_chance_is_told_apart(self) -> None:
        def report(corral: tuple[float, ...], linux: tuple[float, ...]) -> str:
            rows = [Row(system, "bochs", 1, 0, f"other-idle {statistic}", statistics.median(runs), runs=runs)
                    for system, runs in (("corral", corral), ("linux", linux)) for statistic in latency_cases.STATISTICS]
            return "\n".join(latency.report(Results(latency.NAME, tuple(rows)), plan("other-idle")))

        self.assertIn("0 of 3 compared; 3 more are higher only by chance", report((9.0, 30.0, 12.0, 40.0), (10.0, 20.0, 11.0, 15.0)))
        self.assertIn("0 of 3 compared; 3 not comparable.", report((21.0, 30.0, 22.0, 40.0), (10.0, 20.0, 11.0, 15.0)))
        self.assertIn("0 of 3 compared; 3 not comparable.", report((9.0, 30.0, 12.0), (10.0, 11.0, 11.5)))  # too few to tell

    def test_one_system_alone_is_compared_with_nothing(self) -> None:
        values = {("corral", cores, ""): (10.0, 20.0, 30.0) for cores in (1, 4)}
        self.assertIn("0 of 0 compared", "\n".join(latency.report(results_of(values, "other-idle"), plan("other-idle"))))

    def test_results_come_back_from_json(self) -> None:
        results = results_of({("corral", 4, "sched.algorithm=rr"): (1.5, 2.5, 3.5)}, "fifo-loaded")
        self.assertEqual(from_json(results.to_json()).rows, results.rows)


class Plans(unittest.TestCase):
    def test_policies_are_tried_on_one_number_of_cores(self) -> None:
        asked = plan("other-idle", ("sched.algorithm=rr", "sched.placement=blend"))
        self.assertEqual([turn[:2] for turn in latency.boots(asked)],
                         [(1, "corral"), (1, "linux"), (4, "corral"), (4, "corral sched.algorithm=rr"), (4, "corral sched.placement=blend"),
                          (4, "linux")])

    def test_each_run_begins_at_another_place_of_a_tick(self) -> None:
        asked = replace(plan("other-idle"), cores=(2,), runs=3)
        self.assertEqual([turn[1:] for turn in latency.boots(asked)],
                         [("corral", 0), ("linux", 0), ("linux", 1), ("corral", 1), ("corral", 2), ("linux", 2)])

    def test_other_policies_are_those_of_the_kernel(self) -> None:
        words = latency.other_policies()
        self.assertIn("sched.algorithm=eevdf", words)
        self.assertNotIn("sched.algorithm=cfs", words)
        self.assertNotIn("sched.algorithm=fifo", words)

    def test_every_case_is_in_the_script_with_its_load(self) -> None:
        text = latency.script(plan(",".join(latency_cases.BY_NAME)), 4)
        for name in latency_cases.BY_NAME:
            self.assertIn(f"{latency_cases.MARK}{name} ", text)
        self.assertEqual(text.count("background sysbench cpu --threads=8"), 3)
        self.assertEqual(text.count("background hackbench"), 3)
        self.assertIn("requests 1 8 1200 7500 500", text)

    def test_what_it_cannot_do_is_refused(self) -> None:
        for words in (["--cases", "other"], ["--instrument", "icount"], ["--append", "sched.algorithm=none"], ["--cores", "0"], ["--threads", "2"]):
            with self.subTest(words=words), self.assertRaises(Problem):
                command, values, program = main.understand(["bench", "latency", *words])
                command.execute(values, program)


if __name__ == "__main__":
    unittest.main()
