"""The bench of core groups: what it measures, what it reads, what it says beside the report's figures."""

import unittest
from dataclasses import replace
from unittest import mock

from lab import boot_options, main
from lab.bench import groups, groups_report, groups_run
from lab.bench.groups_point import CACHES, LAYOUTS, METHODS, RATIOS, TOOLS, UNGROUPED, Point
from lab.bench.groups_published import PUBLISHED, THREADS
from lab.bench.results import Results, Row, from_json
from lab.problem import Problem

SAID = """threadload: normal threads=60 done_us=1500 mean_us=1100
threadload: real-time threads=40 done_us=2500 mean_us=900
threadload: all threads=100 made_us=50 done_us=9000
"""


def plan(*words: str, systems: tuple[str, ...] = ("corral",)) -> groups.Plan:
    _, values, _ = main.understand(["bench", "groups", *words])
    return groups.plan_of(values, "model", systems)


def results_of(wanted: groups.Plan, all_ms: dict[Point, float]) -> Results:
    return Results(groups.NAME, tuple(Row("corral", "model", wanted.cores, point.threads, point.metric(what), value, wanted.options_of(point), 1)
                                      for point, time in all_ms.items()
                                      for what, value in (("all_ms", time), ("normal_ms", time / 2), ("normal_mean_ms", time / 2), ("l2_refills", 7.0))))


class Points(unittest.TestCase):
    def test_the_kernel_has_all_options(self) -> None:
        for method in METHODS:
            for layout in LAYOUTS:
                for ratio in RATIOS:
                    for option in Point(method=method, layout=layout, ratio=ratio).options.split():
                        name, _, value = option.partition("=")
                        boot_options.check(name, value)

    def test_each_point_is_measured_once(self) -> None:
        points = plan().points
        self.assertEqual(len(points), len(set(points)))
        self.assertEqual({point.layout for point in points}, set(LAYOUTS))
        self.assertEqual({point.method for point in points}, set(METHODS))
        self.assertEqual({point.ratio for point in points}, set(RATIOS))
        self.assertEqual({point.tool for point in points}, set(TOOLS))

    def test_any_point_of_the_product_can_be_chosen(self) -> None:
        for caches in CACHES:
            chosen = plan("--questions", "methods", "--threads", "10000", "--method", "run-queue-entry", "--layout", "alternate", "--ratio", "3:1",
                          "--share", "75", "--caches", caches, "--cores", "16")
            self.assertEqual(chosen.points, (Point("threadload", 10000, "alternate", "run-queue-entry", "3:1", 75, caches),))
            self.assertEqual(chosen.cores, 16)

    def test_groups_and_the_seed_cannot_be_added(self) -> None:
        for word in ("sched.groups=none", "interleave.seed=5"):
            with self.subTest(word=word), self.assertRaisesRegex(Problem, "(?s)itself sets.*--method"):
                plan("--append", word)

    def test_the_product_is_complete_and_only_measured_when_asked_for(self) -> None:
        product = plan("--questions", "product").points
        for threads in THREADS:
            self.assertEqual(len([point for point in product if point.threads == threads]), 1 + (len(METHODS) - 1) * len(LAYOUTS) * len(RATIOS))
        self.assertLess(len(plan().points), len(product))

    def test_points_that_differ_in_their_groups_share_a_boot(self) -> None:
        wanted = plan("--questions", "methods,ratios", "--threads", "500,1000", systems=("corral", "linux"))
        boots = list(wanted.boots())
        self.assertEqual([(boot.system, boot.points[0].threads) for boot in boots],
                         [("corral", 500), ("corral", 1000), ("linux", 500), ("linux", 1000)])
        self.assertEqual({point for boot in boots for point in boot.points if boot.system == "corral"}, set(wanted.points))
        for boot in boots[2:]:
            self.assertEqual({point.method for point in boot.points}, {UNGROUPED})

    def test_what_makes_no_difference_is_no_point_of_its_own(self) -> None:
        self.assertEqual(len(plan("--questions", "methods", "--method", "none", "--layout", ",".join(LAYOUTS)).points), 1)
        self.assertEqual(len(plan("--questions", "methods", "--method", "affinity-mask", "--tool", "sysbench", "--share", "10,20").points), 1)

    def test_what_cannot_be_is_refused_with_what_can(self) -> None:
        wrong = {"--layout=diagonal": "alternate", "--method=magic": "affinity-mask", "--ratio=7": "dynamic", "--caches=l3": "pairs",
                 "--questions=why": "ratios", "--tool=lmbench": "sysbench", "--threads=20001": "20000", "--share=101": "100", "--cores=1": "64",
                 "--cores=4,8": "64", "--append=sched.groups=all": "affinity-mask", "--instrument=bochs": "model",
                 "--system=linux --questions=layouts": "methods"}
        for word, known in wrong.items():
            with self.subTest(word=word), self.assertRaises(Problem) as caught:
                command, values, program = main.understand(["bench", "groups", *(part for each in word.split() for part in each.split("=", 1))])
                command.execute(values, program)
            self.assertIn(known, str(caught.exception), word)


class Reading(unittest.TestCase):
    def test_the_classes_are_told_apart(self) -> None:
        found = groups_run.parse(Point(), SAID + "threadload: normal threads=2 done_us=700 mean_us=600\nthreadload: all threads=2 made_us=5 done_us=900\n")
        first = {"normal_ms": 1.5, "normal_mean_ms": 1.1, "real-time_ms": 2.5, "real-time_mean_ms": 0.9, "all_ms": 2.5}
        self.assertEqual(found, [first, {"normal_ms": 0.7, "normal_mean_ms": 0.6, "all_ms": 0.7}])

    def test_sysbench_tells_seconds(self) -> None:
        self.assertEqual(groups_run.parse(Point(tool="sysbench"), "    total time:                          0.1235s\n"), [{"all_ms": 123.5}])

    def test_a_program_that_failed_told_nothing(self) -> None:
        for tool in TOOLS:
            self.assertEqual(groups_run.parse(Point(tool=tool), "threadload: not enough memory"), [])


class Report(unittest.TestCase):
    def test_the_published_tables_are_complete(self) -> None:
        for layouts in PUBLISHED.values():
            self.assertEqual(set(layouts), set(LAYOUTS))
            for times in layouts.values():
                self.assertEqual(tuple(times), THREADS)

    def test_layouts_are_told_beside_the_published_ones(self) -> None:
        wanted = plan("--questions", "layouts", "--tool", "threadload", "--caches", "pairs", "--threads", "500")
        results = results_of(wanted, dict(zip(wanted.points, (20.0, 25.0, 20.5))))
        text = "\n".join(groups.report(from_json(results.to_json()), wanted))
        self.assertRegex(text, r"pairs +500 +affinity-mask +1:1 +grouped +20\.0 \(1\.000\) +10\.0 \(1\.000\) +- +7\.0 \(1\.000\)\n")
        self.assertRegex(text, r"pairs +500 +affinity-mask +1:1 +alternate +25\.0 \(1\.250\)")
        self.assertRegex(text, r"sysbench +10000 +alternate +11764 \(1\.593\)")
        self.assertNotIn("Methods", text)
        self.assertNotIn("--quick", text)

    def test_the_dynamic_ratio_is_compared_with_the_best_fixed_one(self) -> None:
        wanted = plan("--questions", "ratios", "--ratio", "1:1,3:1,dynamic", "--share", "75", "--quick")
        results = results_of(wanted, dict(zip(wanted.points, (30.0, 20.0, 22.0))))
        text = "\n".join(groups.report(results, wanted))
        self.assertRegex(text, r"75 % +affinity-mask +grouped +1:1 +30\.0 \(1\.500\)")
        self.assertRegex(text, r"75 % +affinity-mask +grouped +dynamic +22\.0 \(1\.100\)")
        self.assertIn("--quick", text)

    def test_methods_have_the_ungrouped_case_beside_them(self) -> None:
        wanted = plan("--questions", "methods")
        text = "\n".join(groups.report(results_of(wanted, {point: 10.0 for point in wanted.points}), wanted))
        for method in METHODS:
            self.assertRegex(text, rf"{method} +10\.0 +5\.0")

    def test_linux_without_groups_stands_beside_it(self) -> None:
        wanted = plan("--questions", "methods", "--method", "none", systems=("corral", "linux"))
        ours = results_of(wanted, {wanted.points[0]: 10.0})
        theirs = tuple(replace(row, system="linux", options="", value=3 * row.value) for row in ours.rows)
        text = "\n".join(groups.report(replace(ours, rows=ours.rows + theirs), wanted))
        self.assertRegex(text, r"50 % +Corral +10\.0 +5\.0 ")
        self.assertRegex(text, r"50 % +Linux +30\.0 +15\.0 ")

    def test_a_single_point_is_told_too(self) -> None:
        wanted = plan("--questions", "methods", "--method", "affinity-mask")
        self.assertIn("10.0", "\n".join(groups.report(results_of(wanted, {wanted.points[0]: 10.0}), wanted)))

    def test_the_plot_has_a_line_for_each_layout_and_share(self) -> None:
        wanted = plan("--runs", "1")
        times, shares = mock.MagicMock(), mock.MagicMock()
        with mock.patch.object(groups_report.plot, "figure", return_value=(mock.MagicMock(), (times, shares))):
            groups_report.draw(results_of(wanted, {point: 10.0 for point in wanted.points}), [])
        labels = {call.kwargs["label"] for call in times.plot.call_args_list}
        for layout in LAYOUTS:
            self.assertIn(f"threadload, pairs, {layout}", labels)
        self.assertEqual([list(call.args[0]) for call in shares.plot.call_args_list if "50 %" in call.kwargs["label"]], [list(RATIOS)])


if __name__ == "__main__":
    unittest.main()
