"""All benches: what each says of itself, and one after the other."""

import contextlib
import io
import tempfile
import unittest
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from unittest import mock

from lab import main
from lab.bench import main as benches
from lab.bench.results import INSTRUMENTS, Results, Row, from_json
from lab.problem import Problem


class Benches(unittest.TestCase):
    def test_each_can_be_asked_for(self) -> None:
        for name, bench in benches.BENCHES.items():
            with self.subTest(bench=name):
                command, values, _ = main.understand(["bench", name, "--quick"])
                self.assertEqual(command.help, bench.what)
                self.assertLessEqual(set(bench.instruments.values()), set(INSTRUMENTS))
                instrument = next(iter(bench.instruments.values()))
                self.assertIsNotNone(bench.plan(values, instrument, bench.systems))

    def test_of_all_one_that_fails_does_not_stop_the_others(self) -> None:
        ran: list[str] = []

        def measure(name: str) -> Results:
            ran.append(name)
            if name == "boot":
                raise Problem("no such machine", "buy one")
            return Results(name, ())

        changed = {name: replace(bench, measure=lambda _, name=name: measure(name), report=lambda *_: [], draw=lambda *_: None)
                   for name, bench in benches.BENCHES.items()}
        said, complained = io.StringIO(), io.StringIO()
        with mock.patch.dict(benches.BENCHES, changed), mock.patch.object(benches, "_prepare"), mock.patch.object(benches, "_keep"), \
                contextlib.redirect_stdout(said), contextlib.redirect_stderr(complained):
            self.assertEqual(benches.execute_all(Namespace(quick=True, yes=True, verbose=False), []), 1)
        self.assertEqual(ran, list(benches.BENCHES))
        self.assertIn("buy one", complained.getvalue())
        self.assertIn("FAILED: no such machine", said.getvalue())
        self.assertIn(f"{len(ran) - 1} measured, 1 failed", said.getvalue())


class Kept(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.enterContext(mock.patch.object(benches.paths, "RESULTS", self.folder))
        self.enterContext(mock.patch.object(benches, "_prepare"))
        self.said = self.enterContext(contextlib.redirect_stdout(io.StringIO()))
        self.values: list[float] = []

    def bench(self, *words: str) -> None:
        """Carries it out, which measures one figure that no other run has."""
        name = words[0]

        def measure(_: object) -> Results:
            self.values.append(len(self.values) + 1.0)
            return Results(name, (Row("corral", "bochs", 1, 1, "figure", self.values[-1]),))

        changed = replace(benches.BENCHES[name], measure=measure, report=lambda *_: [], draw=lambda *_: None)
        _, values, _ = main.understand(["bench", *words])
        benches.execute(changed, values, [])

    def found(self) -> dict[str, float]:
        return {file.name: from_json(file.read_text(encoding="utf-8")).rows[0].value for file in self.folder.iterdir()}

    def test_no_look_and_no_part_replaces_the_usual_set(self) -> None:
        self.bench("load")
        for words in (["--quick"], ["--cores", "1,4"], ["--loads", "cpu,mutex"], ["--runs", "9"], ["--system", "corral"],
                      ["--append", "sched.algorithm=rr:quantum=50 clock=pit"], ["--instrument", "wall"], ["--quick", "--cores", "4"]):
            self.bench("load", *words)
        self.assertEqual(self.found(), {
            "load-bochs.json": 1, "load-bochs-quick.json": 2, "load-bochs-cores=1,4.json": 3, "load-bochs-loads=cpu,mutex.json": 4, "load-bochs-runs=9.json": 5,
            "load-bochs-system=corral.json": 6, "load-bochs-append=sched.algorithm=rr:quantum=50_clock=pit.json": 7, "load-wall.json": 8,
            "load-bochs-cores=4-quick.json": 9})

    def test_the_same_command_replaces_what_it_wrote(self) -> None:
        elsewhere = self.folder.parent / f"{self.folder.name}.json"
        self.addCleanup(elsewhere.unlink)
        for words in ([], ["--instrument", "bochs"], ["--json", str(elsewhere)]):
            self.bench("load", *words)
        for words in (["--cores", "1-2", "--quick"], ["--quick", "--cores", "1,2"]):
            self.bench("load", *words)
        self.assertEqual(self.found(), {"load-bochs.json": 3, "load-bochs-cores=1,2-quick.json": 5})

    def test_a_long_command_has_a_name_of_its_own_that_a_folder_takes(self) -> None:
        for last in (63, 64):
            self.bench("mandelbrot", "--threads", ",".join(map(str, [*range(1, 60), last])))
        self.assertEqual(len(self.found()), 2)
        self.assertLess(max(map(len, self.found())), 150)


if __name__ == "__main__":
    unittest.main()
