"""`corral compare`: figures that repeat exactly, figures that vary by a test that neither cries wolf nor sleeps."""

import contextlib
import io
import json
import random
import tempfile
import unittest
from collections import Counter
from pathlib import Path

from lab.bench.results import Results, Row
from lab.compare import judge
from lab.main import main

RUNS = 30
TRIALS = 100
# Mandelbrot on one core under TCG, ms, a boot each, in this order, while other work came and went on the host (2026-11-23).
BUSY_HOST = (119.4, 104.1, 126.8, 109.4, 94.8, 110.3, 105.4, 111.8, 108.2, 116.3, 107.2, 93.4, 115.3, 98.8, 109.4, 118.0, 106.9, 140.4,
             110.1, 114.6, 98.4, 105.9, 101.1, 111.6)


def quiet_host(generator: random.Random, level: float) -> list[float]:
    """Runs that vary by half a per cent, and now and then one that was disturbed: it is only ever longer."""
    def disturbed() -> float:
        return generator.expovariate(1 / 0.03) if generator.random() < 0.1 else 0.0

    return [level * generator.lognormvariate(0, 0.005) * (1 + disturbed()) for _ in range(RUNS)]


class Exactly(unittest.TestCase):
    def word(self, a: tuple[float, ...], b: tuple[float, ...], better: str = "lower", tolerance: float = 0.0) -> str:
        return judge.exact(a, b, better, tolerance).word

    def test_thirty_repeats_without_a_change_are_the_same(self) -> None:
        self.assertEqual({self.word((4711.0,), (4711.0,)) for _ in range(RUNS)}, {"same"})

    def test_two_per_cent_more_are_always_seen(self) -> None:
        self.assertEqual({self.word((float(value),), (value * 1.02,)) for value in range(1, 1000)}, {"worse"})

    def test_the_least_change_counts_unless_tolerated(self) -> None:
        self.assertEqual(self.word((1000.0,), (1001.0,)), "worse")
        self.assertEqual(self.word((1000.0,), (999.0,)), "better")
        self.assertEqual(self.word((1000.0,), (1001.0,), tolerance=0.001), "same")
        self.assertEqual(self.word((1000.0,), (1002.0,), tolerance=0.001), "worse")

    def test_directions(self) -> None:
        self.assertEqual(self.word((10.0,), (11.0,), "higher"), "better")
        self.assertEqual(self.word((10.0,), (11.0,), "neither"), "changed")
        self.assertEqual(self.word((0.0,), (1.0,)), "worse")
        self.assertEqual(self.word((0.0,), (1.0,), "higher"), "better")
        self.assertEqual(self.word((0.0,), (0.0,)), "same")

    def test_single_runs_count(self) -> None:
        self.assertEqual(self.word((1.0, 2.0, 3.0), (1.0, 2.0, 4.0)), "changed")
        self.assertEqual(self.word((1.0, 2.0, 3.0), (1.0,)), "same")


class ByRank(unittest.TestCase):
    def words(self, factor: float) -> Counter[str]:
        generator = random.Random(1)
        return Counter(judge.noisy([(quiet_host(generator, 100.0), quiet_host(generator, 100.0 * factor), "lower")])[0].word
                       for _ in range(TRIALS))

    def test_without_a_change_there_is_no_alarm(self) -> None:
        self.assertEqual(self.words(1.0), {"same": TRIALS})

    def test_two_per_cent_more_are_always_seen(self) -> None:
        self.assertEqual(self.words(1.02), {"worse": TRIALS})

    def test_two_per_cent_less_too(self) -> None:
        self.assertEqual(self.words(1 / 1.02), {"better": TRIALS})

    def test_among_many_without_a_change(self) -> None:
        generator = random.Random(2)
        pairs = [(quiet_host(generator, 100.0), quiet_host(generator, 102.0 if number == 17 else 100.0), "lower") for number in range(40)]
        self.assertEqual([number for number, verdict in enumerate(judge.noisy(pairs)) if verdict.word != "same"], [17])

    def test_however_many_a_change_of_all_is_seen(self) -> None:
        """Corrected for their number, few runs must still be enough, or be called too few: never is a change "the same"."""
        generator = random.Random(4)
        for runs, figures, wanted in ((8, 1, "worse"), (8, 6, "worse"), (8, 7, "unclear"), (9, 24, "worse"), (10, 92, "worse"), (10, 93, "unclear"),
                                      (12, 1000, "worse")):
            with self.subTest(runs=runs, figures=figures):
                pairs = [(quiet_host(generator, 100.0)[:runs], quiet_host(generator, 150.0)[:runs], "lower") for _ in range(figures)]
                found = judge.noisy(pairs)
                self.assertEqual({verdict.word for verdict in found}, {wanted})
                if wanted == "unclear":
                    self.assertEqual(found[0].why, f"{runs} runs above 0, {judge.fewest(figures)} are needed")

    def test_runs_that_are_alike_are_judged_too(self) -> None:
        """Times in whole milliseconds: many are the same number."""
        before, after = [1000.0, 1001.0] * 4, [1020.0, 1021.0] * 4
        self.assertEqual({verdict.word for verdict in judge.noisy([(before, after, "lower")] * 6)}, {"worse"})

    def test_what_is_not_sure_is_not_the_same(self) -> None:
        """Runs vary little, and B's are mostly 1.5 per cent longer, but a few are A's: no alarm, and no all-clear."""
        before = [100 + number / 100 for number in range(16)]
        after = before[4:8] + [value * 1.015 for value in before[4:]]
        self.assertIn(judge.noisy([(before, after, "lower")] * 900)[0].word, ("unclear",))

    def test_where_two_per_cent_do_not_show_that_is_the_verdict(self) -> None:
        verdict = judge.noisy([(BUSY_HOST[::2], BUSY_HOST[1::2], "lower")])[0]
        self.assertEqual(verdict.word, "unclear")
        self.assertIn("vary too much", verdict.why)

    def test_a_host_that_changes_meanwhile_is_no_change_of_ours(self) -> None:
        generator = random.Random(3)
        drifting = quiet_host(generator, 100.0)[:15] + quiet_host(generator, 110.0)[:15]
        verdict = judge.noisy([(drifting, quiet_host(generator, 112.0), "lower")])[0]
        self.assertEqual((verdict.word, verdict.why), ("unclear", "A changed while being measured"))

    def test_that_shows_in_as_few_runs_as_there_may_be(self) -> None:
        for runs in (*range(judge.FEWEST, 31), 60):
            with self.subTest(runs=runs):
                steady = [100 + number % 3 / 10 for number in range(runs)]
                self.assertFalse(judge.drifts(steady, 1.1))
                self.assertTrue(judge.drifts(steady[: runs // 2] + [value * 1.1 for value in steady[runs // 2:]], 1.1))

    def test_with_ten_repeats_it_mostly_shows_and_hides_no_change(self) -> None:
        generator = random.Random(6)

        def found(later: float) -> Counter[str]:
            """What is said of 2 % more, where the host was slower for the second half of A and for all of B."""
            said: Counter[str] = Counter()
            for _ in range(TRIALS):
                before, after = (quiet_host(generator, level)[:10] for level in (100.0, 102.0 * later))
                verdict = judge.noisy([(before[:5] + [value * later for value in before[5:]], after, "lower")])[0]
                said["drift" if "while being measured" in verdict.why else verdict.word] += 1
            return said

        steady, drifting = found(1.0), found(1.04)
        self.assertEqual((steady["drift"], steady["better"]), (0, 0))
        self.assertGreaterEqual(steady["worse"], 60)
        self.assertGreaterEqual(drifting["drift"], 60)
        self.assertLessEqual(drifting["worse"], 15)

    def test_few_runs_tell_nothing(self) -> None:
        self.assertEqual([judge.noisy([([1.0] * 7, [2.0] * 7, "lower")])[0].word, judge.noisy([])], ["unclear", []])

    def test_holm(self) -> None:
        for found, wanted in zip(judge.holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02]):
            self.assertAlmostEqual(found, wanted)


class Command(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def file(self, name: str, *rows: Row, bench: str = "operations", **host: str) -> str:
        (self.folder / name).write_text(Results(bench, rows, "./corral bench operations", host).to_json(), encoding="utf-8")
        return str(self.folder / name)

    def row(self, value: float, metric: str = "fork", options: str = "", instrument: str = "icount") -> Row:
        return Row("corral", instrument, 1, 1, metric, value, options)

    def compared(self, *words: str) -> tuple[int, str]:
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            status = main(["compare", *words])
        return status, said.getvalue()

    def test_what_is_worse_is_told_and_is_the_status(self) -> None:
        a = self.file("a.json", self.row(100), self.row(50, "mmap"), self.row(7, "only in A"))
        b = self.file("b.json", self.row(102), self.row(49, "mmap"))
        status, said = self.compared(a, b, "--json", str(self.folder / "c.json"))
        self.assertEqual(status, 1, said)
        self.assertRegex(said, r"100 +102 +\+2.00 % +operations, fork")
        self.assertIn("2 compared: 1 better, 1 worse\n1 only in A: not compared", said)
        verdicts = json.loads((self.folder / "c.json").read_text(encoding="utf-8"))["verdicts"]
        self.assertEqual([(one["metric"], one["verdict"]) for one in verdicts], [("fork", "worse"), ("mmap", "better")])
        self.assertEqual(self.compared(b, a, "--tolerance", "3%")[0], 0)
        self.assertEqual(self.compared(a, a), (0, self.compared(a, a, "--tolerance", "0")[1]))

    def test_across_an_option(self) -> None:
        file = self.file("a.json", *(self.row(value, options=f"clock=pit sched.algorithm={name}") for name, value in (("cfs", 10), ("rr", 9))))
        status, said = self.compared(f"{file}@sched.algorithm=cfs", f"{file}@sched.algorithm=rr")
        self.assertEqual(status, 0, said)
        self.assertIn("clock=pit", said)
        self.assertIn("1 compared: 1 better", said)
        status, said = self.compared(f"{file}@sched.algorithm=csf", file)
        self.assertEqual(status, 2)
        self.assertIn("did you mean `sched.algorithm=cfs`", said)

    def test_another_machine_is_said(self) -> None:
        runs = tuple(100.0 + number / 10 for number in range(10))
        rows = [Row("corral", "qemu", 1, 1, "total_ms", 100.4, runs=runs)]
        said = self.compared(self.file("a.json", *rows, processor="one"), self.file("b.json", *rows, processor="other"))[1]
        self.assertIn("Their machines differ (processor)", said)
        self.assertIn("1 compared: 1 same", said)

    def test_nothing_in_common(self) -> None:
        status, said = self.compared(self.file("a.json", self.row(1)), self.file("b.json", self.row(1, instrument="bochs")))
        self.assertEqual(status, 2)
        self.assertIn("instrument is icount in A and bochs in B", said)

    def test_wrong_files(self) -> None:
        good = self.file("a.json", self.row(1))
        (self.folder / "text").write_text("hello", encoding="utf-8")
        (self.folder / "bytes").write_bytes(bytes(range(256)))
        (self.folder / "cut.sqlite").write_bytes(b"SQLite format 3\0" + bytes(50))
        for name, wanted in (("text", "no results"), ("bytes", "no results"), ("none", "No such file"), ("", "Is a directory"),
                             ("cut.sqlite", "cannot be read")):
            with self.subTest(name=name):
                status, said = self.compared(good, str(self.folder / name))
                self.assertEqual(status, 2, said)
                self.assertIn(wanted, said)


if __name__ == "__main__":
    unittest.main()
