"""The page of `corral report`: what it finds in figures and records. A browser opens it in tests/system/test_report.py."""

import contextlib
import io
import struct
import tempfile
import unittest
from pathlib import Path

from lab.bench.results import Results, Row
from lab.main import main
from lab.report import charts, findings, page, published, timeline
from lab.tests.test_trace import SAMPLE, record, switch, wake
from lab.trace import records


class Timeline(unittest.TestCase):
    RUN = b"".join((
        switch(1_000, 0, ("shell", 5), "S", ("waker", 6)),
        record(2_000, 5, 0, 7, struct.pack("<2H3I", 1, 3, 2 << 8, 1, 2 | 1 << 8), 1 | 1 << 4),
        wake(2_000, 1, 0, "sleeper", 7, 1),
        switch(3_000, 1, ("swapper", 0), "R", ("sleeper", 7)),
        switch(7_000, 1, ("sleeper", 7), "R+", ("other", 8)),
        record(7_500, 4, 1, 7, struct.pack("<16siII", b"sleeper", 120, 1, 0), 4),
        switch(9_000, 0, ("waker", 6), "S", ("sleeper", 7)),
    ))  # fmt: skip

    def run_of(self, data: bytes) -> timeline.Run:
        return timeline.understood(records.decoded(data))

    def test_what_is_drawn(self) -> None:
        run = self.run_of(self.RUN)
        self.assertEqual(run.cores, 2)
        self.assertEqual([(one.thread.number, one.core, one.begin, one.end, one.state) for one in run.slices],
                         [(7, 1, 3_000, 7_000, "R+"), (6, 0, 1_000, 9_000, "S")])
        self.assertEqual([(one.origin, one.begin, one.target, one.end) for one in run.wakes], [(0, 2_000, 1, 3_000)])
        self.assertEqual([(one.origin, one.target, one.text) for one in run.migrations], [(1, 0, "migrates from core 1 to 0: pulled")])

    def test_a_decision_tells_its_scores(self) -> None:
        figure = timeline.figure(self.run_of(self.RUN))
        placements = next(trace for trace in figure.data if trace.name == "placements")
        self.assertEqual(placements.customdata[0], "<b>sleeper 7</b> (woken) is placed on core 1, by the least score, in threads<br>core 0: 2<br>→ core 1: 0<br>core 2: 1")
        sleeper = next(trace for trace in figure.data if trace.name == "sleeper 7")
        self.assertIn("ran 4.000 µs, then preempted", sleeper.customdata[0])

    def test_a_decision_without_a_score_and_one_among_many(self) -> None:
        decisions = (record(2_000, 5, 0, 7, struct.pack("<2H2I", 1, 2, 2 << 8, 1 | 5 << 8)),
                     record(3_000, 5, 0, 7, struct.pack("<2H11I", 70, 256, *(core | records.HIGHEST_SCORE << 8 for core in range(10)), 70), 4 << 4))
        placements = next(trace for trace in timeline.figure(self.run_of(b"".join(decisions))).data if trace.name == "placements")
        self.assertTrue(placements.customdata[0].endswith("by no score; there were, in threads<br>core 0: 2<br>→ core 1: 5"))
        self.assertRegex(placements.customdata[1], r"in points<br>core 0: ≥ 16,777,215<br>.*<br>→ core 70: 0<br>… of 256 candidates$")

    def test_each_thread_has_its_colour(self) -> None:
        bars = [trace for trace in timeline.figure(self.run_of(self.RUN)).data if trace.type == "bar"]
        self.assertEqual(len({trace.marker.color for trace in bars}), 2)

    def test_too_many_records_are_said(self) -> None:
        many = b"".join(switch(1_000 * at, 0, ("a", 1), "R", ("b", 2)) for at in range(timeline.MOST_RECORDS + 5))
        self.assertIn("5 later ones are not", "\n".join(timeline.summary(self.run_of(many))))

    def test_an_empty_run(self) -> None:
        self.assertIn("No thread ran", "\n".join(timeline.summary(self.run_of(b""))))
        timeline.figure(self.run_of(b""))


class Findings(unittest.TestCase):
    def test_beside_linux(self) -> None:
        rows = [Row(system, "icount", 1, 1, metric, value) for system, metric, value in (
            ("corral", "fork", 80.0), ("linux", "fork", 100.0), ("corral", "mmap", 110.0), ("linux", "mmap", 100.0), ("corral", "alone", 1.0))]
        self.assertEqual(findings.of(Results("operations", tuple(rows))),
                         ["On 1 core (icount) Corral needs no more than Linux, within 0.5%, in 1 of 2 figures: median ratio 0.950, from 0.800 (fork) to 1.100 (mmap)."])

    def test_among_options(self) -> None:
        rows = [Row("corral", "simulator", 4, 8, metric, value, f"sched.algorithm={name}", seed, better) for name, seed, metric, value, better in (
            ("cfs", 1, "wasted_ns", 2e6, "lower"), ("cfs", 2, "wasted_ns", 4e6, "lower"), ("rr", 1, "wasted_ns", 1e6, "lower"),
            ("cfs", 1, "rounds", 5.0, "higher"), ("rr", 1, "rounds", 4.0, "higher"), ("cfs", 1, "moves", 1.0, "neither"), ("rr", 1, "moves", 2.0, "neither"))]
        self.assertEqual(findings.of(Results("w", tuple(rows))), [
            "wasted_ns on 4 cores, 8 threads (simulator): best 1.000 ms with sched.algorithm=rr, worst 3.000 ms with sched.algorithm=cfs, of 2.",
            "rounds on 4 cores, 8 threads (simulator): best 5 with sched.algorithm=cfs, worst 4 with sched.algorithm=rr, of 2.",
            "The runs of one point were apart by ±33.3% in the median, by at most ±33.3%."])

    def test_the_spread_of_runs(self) -> None:
        self.assertEqual(findings.of(Results("boot", (Row("corral", "qemu", 1, 0, "boot_ms", 100.0, runs=(95.0, 100.0, 105.0)),))),
                         ["The runs of one point were apart by ±5.0% in the median, by at most ±5.0%."])


class Page(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def report(self, *words: str) -> tuple[int, str]:
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            status = main(["report", "--output", str(self.folder / "page.html"), *words])
        return status, said.getvalue()

    def test_it_holds_everything_and_asks_for_nothing(self) -> None:
        rows = (Row("corral", "bochs", 2, 4, "total_ms", 7.5, "clock=</script><b>", runs=(7.0, 7.5, 9.0)), Row("linux", "bochs", 2, 4, "total_ms", 8.0))
        results = Results("mandelbrot", rows, "./corral bench mandelbrot", {"processor": "one & only"})
        (self.folder / "a.json").write_text(results.to_json(), encoding="utf-8")
        (self.folder / "run.records").write_bytes(SAMPLE)
        status, said = self.report(str(self.folder / "a.json"), "--trace", str(self.folder / "run.records"))
        self.assertEqual(status, 0, said)
        text = (self.folder / "page.html").read_text(encoding="utf-8")
        own = text[text.index("</head>") :]
        for part in ("median ratio 0.938", "one &amp; only", "<h2>mandelbrot (a.json)</h2>", "mandelbrot (a.json): On 2 cores", "<code>./corral bench mandelbrot</code>", "4.736", "4.572", 'id="timeline"', "±13.3%"):
            self.assertIn(part, own)
        self.assertNotIn("</script><b>", own)
        self.assertNotRegex(text, r"<(script|link|img)[^>]* (src|href)=")

    def test_what_others_published_stands_beside(self) -> None:
        grouped = "sched.groups=affinity-mask:layout={},ratio={}"
        for bench, row, cells in (
                ("mandelbrot", Row("corral", "bochs", 2, 2, "total_ms", 1.0), ["4.539", "4.584"]),
                ("mandelbrot", Row("corral", "bochs", 2, 2, "compute_ms", 1.0), ["", ""]),
                ("mandelbrot", Row("corral", "bochs", 8, 32, "total_ms", 1.0), ["", ""]),
                ("matrix", Row("corral", "model", 4, 0, "5a.refills.kernel", 1), ["7,541,154"]),
                ("matrix", Row("corral", "model", 1, 0, "3a.runtime_us", 1), ["2,363,275"]),
                ("matrix", Row("corral", "model", 4, 0, "6c.cycles.user", 1), [""]),
                ("groups", Row("corral", "model", 32, 5000, "sysbench.one.real-time-0.all_ms", 1.0, grouped.format("alternate", "1:1")), ["6,365.26"]),
                ("groups", Row("corral", "model", 32, 5000, "sysbench.one.real-time-0.all_ms", 1.0, grouped.format("alternate", "2:1")), [""]),
                ("groups", Row("corral", "model", 32, 5000, "threadload.one.real-time-50.all_ms", 1.0, grouped.format("alternate", "1:1")), [""]),
                ("groups", Row("linux", "model", 32, 5000, "sysbench.one.real-time-0.all_ms", 1.0), [""])):
            with self.subTest(bench=bench, metric=row.metric):
                self.assertEqual([cell(row) for _, cell in published.COLUMNS[bench]], cells)

    def test_charts_of_a_sweep_name_what_differs(self) -> None:
        rows = tuple(Row("corral", "simulator", 4, 8, "moves", 1.0, f"sched.algorithm={name} clock=pit", better="neither") for name in ("cfs", "rr"))
        (chart,) = charts.of(Results("w", rows))
        self.assertEqual([trace.name for trace in chart.data], ["algorithm=cfs", "algorithm=rr"])

    def test_the_kernel_as_it_comes_has_a_name_as_well(self) -> None:
        rows = tuple(Row("corral", "bochs", 4, 8, "moves", value, chosen) for chosen, value in (("", 1.0), ("sched.algorithm=rr", 2.0)))
        (chart,) = charts.of(Results("w", rows))
        self.assertEqual([trace.name for trace in chart.data], ["as it comes", "algorithm=rr"])
        self.assertIn("best 1 with the kernel as it comes, worst 2 with sched.algorithm=rr", " ".join(findings.of(Results("w", rows))))

    def test_ratios_of_many_figures_are_a_chart(self) -> None:
        rows = tuple(Row(system, "icount", 1, 1, metric, 2.0) for system in ("corral", "linux") for metric in ("a", "b", "c"))
        self.assertEqual([len(chart.data) for chart in charts.of(Results("operations", rows))], [1, 6])

    def test_wrong_files(self) -> None:
        (self.folder / "text").write_text("hello", encoding="utf-8")
        for words, wanted in (([str(self.folder / "text")], "no results"), ([str(self.folder / "none")], "No such file"),
                              (["--trace", str(self.folder / "none.records")], "corral trace --output PREFIX"),
                              (["--trace", str(self.folder / "text")], "not whole records")):
            with self.subTest(words=words):
                status, said = self.report(*words)
                self.assertNotEqual(status, 0)
                self.assertIn(wanted, said)
                self.assertIn("Mend: ", said)
        self.assertFalse((self.folder / "page.html").exists())

    def test_a_section_without_figures(self) -> None:
        self.assertIn("nothing here", page.text([page.Section("a", "A", ["nothing here"])], "./corral report"))


if __name__ == "__main__":
    unittest.main()
