"""The common form of results, and the arithmetic of tables against published figures."""

import json
import unittest

from lab.bench import boot, mandelbrot, operations
from lab.bench.mandelbrot import Plan, Workload
from lab.bench.mandelbrot_published import GAINS, MANDELBROT
from lab.bench.results import Results, Row, from_json, medians, spread
from lab.problem import Problem


def row(system: str, cores: int, threads: int, value: float, metric: str = "total_ms") -> Row:
    return Row(system, "qemu", cores, threads, metric, value)


class Form(unittest.TestCase):
    def test_exact_form(self) -> None:
        text = Results("mandelbrot", (row("corral", 2, 4, 1.5),), "./corral bench mandelbrot", {"cores": "2"}).to_json()
        self.assertEqual(json.loads(text), {
            "version": 2, "bench": "mandelbrot", "command": "./corral bench mandelbrot", "host": {"cores": "2"}, "rows": [
                {"system": "corral", "instrument": "qemu", "cores": 2, "threads": 4, "metric": "total_ms", "value": 1.5}]})

    def test_reads_back(self) -> None:
        varied = Row("corral", "seeded", 4, 2, "moves", 2.0, "sched.algorithm=rr", 7, "neither", (1.0, 2.0, 3.0))
        results = Results("boot", (row("linux", 1, 0, 3.25, "boot_ms"), varied), "./corral", {"cores": "2"})
        self.assertEqual(from_json(results.to_json()), results)

    def test_other_versions_and_other_files_are_refused(self) -> None:
        for text in ('{"bench": "boot", "rows": []}', '{"version": 3, "bench": "boot", "rows": []}'):
            with self.assertRaisesRegex(Problem, r"version (1|3), this is version 2\s+Mend: measure again"):
                from_json(text)
        form = '{"version": 2, "bench": "b", "command": "", "host": {}, "rows": [{"system": "corral", "instrument": "qemu", "cores": %s, "threads": 1, ' \
               '"metric": "m", "value": %s}]}'
        self.assertEqual(from_json(form % (1, 2.5)).rows[0].value, 2.5)
        for text in (form % ('"a"', 1), form % (1, '"x"'), form % (1, "NaN"), form % (1, "Infinity"), form.replace('"b"', "5") % (1, 1),
                     form.replace("{}", "[7]") % (1, 1), "", "[]", "{}", "7", '{"version": 2, "bench": "boot", "rows": [{}], "command": "", "host": {}}'):
            with self.subTest(text=text), self.assertRaisesRegex(Problem, "no results"):
                from_json(text)

    def test_unknown_systems_and_instruments_are_refused(self) -> None:
        with self.assertRaises(ValueError):
            Row("windows", "qemu", 1, 1, "total_ms", 1.0)
        with self.assertRaises(ValueError):
            Row("corral", "guess", 1, 1, "total_ms", 1.0)

    def test_medians_of_runs(self) -> None:
        rows = [row("corral", 1, 1, value) for value in (9.0, 1.0, 2.0)] + [row("linux", 1, 1, 5.0)]
        self.assertEqual([(found.system, found.value, found.runs) for found in medians(rows)],
                         [("corral", 2.0, (9.0, 1.0, 2.0)), ("linux", 5.0, (5.0,))])
        self.assertEqual(spread(medians(rows)[0]), 2.0)
        self.assertEqual(medians(medians(rows)), medians(rows))

    def test_medians_of_small_figures_keep_their_digits(self) -> None:
        rows = [row("corral", 1, 1, value) for value in (0.00012, 0.00014, 0.1 + 0.2)]
        self.assertEqual([found.value for found in (*medians(rows), *medians(rows[:2]), *medians(rows[2:]))], [0.00014, 0.00013, 0.3])


class Mandelbrot(unittest.TestCase):
    WORK = Workload("80x25", 100, "fixed")

    def published_as_results(self) -> Results:
        rows = []
        for (cores, threads), (_, corral, linux) in MANDELBROT.items():
            rows += [row("corral", cores, threads, corral), row("linux", cores, threads, linux)]
        return Results("mandelbrot", tuple(rows))

    def test_our_gains_of_the_published_times_are_the_published_gains(self) -> None:
        results = self.published_as_results()
        for cores, expected in GAINS.items():
            for system, value in zip(("corral", "linux"), expected):
                found = mandelbrot.gain(mandelbrot.matched(results, system, cores - 1),
                                        mandelbrot.matched(results, system, cores))
                self.assertIsNotNone(found)
                self.assertAlmostEqual(found or 0.0, value, delta=0.02)

    def test_the_report_has_every_point(self) -> None:
        plan = Plan("qemu", ("corral", "linux"), (1, 2, 3, 4), None, 3, self.WORK)
        text = "\n".join(mandelbrot.report(self.published_as_results(), plan))
        self.assertIn("median 1.0", text)
        self.assertIn("50.72", text)
        points = {(cores, threads) for cores in plan.cores for threads in plan.threads_at(cores)}
        self.assertEqual(points, set(MANDELBROT))

    def test_a_report_of_one_system_alone(self) -> None:
        plan = Plan("qemu", ("linux",), (1,), (1,), 1, self.WORK)
        text = "\n".join(mandelbrot.report(Results("mandelbrot", (row("linux", 1, 1, 2.0),)), plan))
        self.assertIn("2.00", text)

    def test_parses_the_program_s_line(self) -> None:
        text = ("noise\nmandelbrot: threads=4 size=80x25 iterations=9 arithmetic=fixed compute_ms=1.250 "
                "total_ms=2.500 checksum=00ff\nmandelbrot: cannot create a thread\n")
        self.assertEqual(mandelbrot.parse(text), [mandelbrot.Sample(4, 1.25, 2.5, "00ff")])

    def test_boots_take_turns(self) -> None:
        plan = Plan("qemu", ("corral", "linux"), (1, 2), None, 2, self.WORK)
        self.assertEqual([system for _, system, _ in mandelbrot.boots(plan)], ["corral", "linux", "linux", "corral"] * 2)
        plan = Plan("bochs", ("corral", "linux"), (1,), None, 3, self.WORK)
        self.assertEqual(list(mandelbrot.boots(plan)), [(1, "corral", 3), (1, "linux", 3)])


class BootReport(unittest.TestCase):
    def test_meminfo(self) -> None:
        self.assertEqual(boot.meminfo("MemTotal:   479552 kB\nMemFree:  1 kB\nHugePages: 0\n"),
                         {"MemTotal": 479552, "MemFree": 1})


class Operations(unittest.TestCase):
    def results(self) -> Results:
        values = {("corral", 1, "getpid"): 100.0, ("linux", 1, "getpid"): 120.0, ("corral", 8, "getpid"): 100.0,
                  ("linux", 8, "getpid"): 160.0, ("corral", 1, "fork"): 900.0, ("linux", 1, "fork"): 800.0,
                  ("corral", 1, "unix-socket unsupported"): 97.0, ("linux", 1, "unix-socket"): 5.0}
        return Results("operations", tuple(Row(system, "bochs", cores, cores, name, value)
                                           for (system, cores, name), value in values.items()))

    def plan(self, names: str) -> operations.Plan:
        return operations.Plan("bochs", ("corral", "linux"), operations.chosen(names, quick=False), (1, 8), 1)

    def test_the_report_judges(self) -> None:
        text = "\n".join(operations.report(self.results(), self.plan("getpid,fork,unix-socket")))
        self.assertRegex(text, r"getpid +100.0 +120.0 +0.833 +ok")
        self.assertRegex(text, r"fork +900.0 +800.0 +1.125 +MORE")
        self.assertRegex(text, r"unix-socket +not supported +5.0 +- +- ")
        self.assertIn("1 of 2 compared; 1 not comparable", text)
        self.assertRegex(text, r"getpid +100.0 +160.0 +8.00 +6.00 +ok")

    def test_more_than_the_ideal_is_no_reason_to_be_less(self) -> None:
        self.assertTrue(operations.scales(7.99, 9.25, 8))
        self.assertFalse(operations.scales(7.8, 9.25, 8))
        self.assertFalse(operations.scales(6.0, 7.0, 8))

    def test_parses_the_program_s_lines(self) -> None:
        text = ("operations: name=fork copies=2 by=threads count=5 ticks=7.250 least_ticks=7.000 ns=72.5\n"
                "operations: name=unix-socket unsupported=97 (socketpair: Address family not supported)\n")
        self.assertEqual([fields["name"] for fields in operations.parse(text)], ["fork", "unix-socket"])
        self.assertEqual(operations.parse(text)[0]["ticks"], "7.250")
        self.assertEqual(operations.parse(text)[1]["unsupported"], "97")

    def test_unknown_operations_are_refused(self) -> None:
        with self.assertRaises(Problem):
            operations.chosen("getpit", quick=False)
