"""Programs that measure themselves, at one place of a sweep: the same script on both systems, and what becomes of what they say."""

import unittest
from pathlib import Path
from unittest import mock

from lab.bench import balance, matrix, systems, timed
from lab.bench.bench import Place
from lab.bench.main import BENCHES
from lab.bench.results import Row
from lab.problem import Problem
from lab.sweep.points import INSTRUMENTS

RUNS = (timed.Run("easy", 4, "matrix small 1 0 0 4"), timed.Run("easy", 4, "matrix small 2 0 0 4"), timed.Run("hard", 2, "matrix large 1 2 0 0"))
FIGURES = {"runtime_us": "lower", "moves": "neither"}
LINE = "matrix: runtime_us={} moves=7 checksum=c0ffee\n"


def place(system: str = "corral", **settings: object) -> Place:
    return Place(**{"system": system, "instrument": "bochs", "cores": 4, "options": "", "quick": False, "parts": None, "threads": None,
                    **settings})  # type: ignore[arg-type]


def text_of(*times: int, noise: str = "") -> str:
    parts = "".join(f"{timed.MARK}{number}\n{noise}{LINE.format(time)}\n" for number, time in enumerate(times))
    return f"booting\nmatrix: runtime_us=1 moves=1\n{parts}script: end\n"


class Figures(unittest.TestCase):
    def test_runs_of_one_name_become_their_median(self) -> None:
        rows = timed.rows(place(), RUNS, FIGURES, text_of(100, 120, 300, noise="a warning\n"))
        self.assertEqual([(row.metric, row.threads, row.value, row.better) for row in rows],
                         [("easy.runtime_us", 4, 110.0, "lower"), ("easy.moves", 4, 7.0, "neither"),
                          ("hard.runtime_us", 2, 300.0, "lower"), ("hard.moves", 2, 7.0, "neither")])

    def test_a_run_without_its_figures_is_a_problem(self) -> None:
        for text in (text_of(100, 120), text_of(100, 120, 300).replace("runtime_us=300", "runtime_us"), text_of(1, 2, 3).replace("=3 moves=7", "=3"), ""):
            with self.subTest(text=text), self.assertRaisesRegex(Problem, "did not end well"):
                timed.rows(place(), RUNS, FIGURES, text)

    def test_the_script_says_which_run_is_which(self) -> None:
        lines = timed.script(RUNS).splitlines()
        self.assertEqual([line for line in lines if "/host/" in line], [f"$(/host/{run.command} 2>&1)" for run in RUNS])
        self.assertEqual(sum(timed.MARK in line for line in lines), len(RUNS))


class Benches(unittest.TestCase):
    def asked(self, name: str, at: Place) -> "tuple[list[Row], systems.Job]":
        """What a bench measures at this place, by a guest whose programs all need the same."""
        jobs = []

        def run(system: str, instrument: str, cores: int, job: systems.Job, *, patience: "float | None") -> str:
            self.assertEqual((system, instrument, cores, patience), (at.system, at.instrument, at.cores, 60.0))
            jobs.append(job)
            say = f"{next(iter(job.files))}: runtime_us=9 moves=1 wake_p50_ns=2 wake_p99_ns=3 wake_worst_ns=4\n"
            return "".join(f"{timed.MARK}{number}\n{say}" for number in range(job.script.count("/host/")))

        measure = BENCHES[name].at
        assert measure is not None
        with mock.patch.object(systems, "run", run), mock.patch.object(systems, "program", lambda program: Path(program).name.encode()):
            return measure(at, 60.0), jobs[0]

    def test_both_systems_run_the_same(self) -> None:
        for name in ("matrix", "balance"):
            with self.subTest(bench=name):
                rows, job = self.asked(name, place(options="sched.algorithm=rr"))
                theirs, partner = self.asked(name, place("linux"))
                self.assertEqual((job.script, job.files), (partner.script, partner.files))
                self.assertNotIn("corral", job.script)
                self.assertEqual([(row.metric, row.threads) for row in rows], [(row.metric, row.threads) for row in theirs])

    def test_parts_can_be_chosen(self) -> None:
        rows, job = self.asked("matrix", place(parts="8b,4a"))
        self.assertEqual([(row.metric, row.threads) for row in rows], [("4a.runtime_us", 4), ("8b.runtime_us", 16)])
        self.assertIn("/host/matrix parts 1 4 0 0 divide 10 ", job.script)
        rows, job = self.asked("balance", place(parts="busy", quick=True))
        self.assertEqual({row.metric.partition(".")[0] for row in rows}, {"busy"})
        self.assertEqual(job.script.count("/host/"), 1)

    def test_only_bochs_gets_less_to_do(self) -> None:
        self.assertNotIn("divide", self.asked("matrix", place(instrument="qemu"))[1].script)

    def test_times_are_better_when_they_are_shorter_and_moves_are_neither(self) -> None:
        rows, _ = self.asked("balance", place())
        self.assertEqual({row.better for row in rows if row.metric.endswith(".moves")}, {"neither"})
        self.assertEqual({row.better for row in rows if not row.metric.endswith(".moves")}, {"lower"})
        self.assertEqual(len(rows), len(balance.LOADS) * len(balance.IN_SWEEPS))

    def test_every_load_of_the_matrices_is_there_once(self) -> None:
        self.assertEqual({case.load for case in matrix.LOADS.values()}, {case.load for case in matrix.CASES})
        self.assertEqual(len({case.load for case in matrix.LOADS.values()}), len(matrix.LOADS))
        self.assertEqual([matrix.LOADS[name].threads for name in ("3a", "4a", "5a", "8a", "8b")], [1, 4, 72, 64, 16])

    def test_sweeps_know_the_instruments_of_all_benches(self) -> None:
        for name, bench in BENCHES.items():
            if bench.at is not None:
                with self.subTest(bench=name):
                    self.assertLessEqual(set(bench.swept), set(INSTRUMENTS))


if __name__ == "__main__":
    unittest.main()
