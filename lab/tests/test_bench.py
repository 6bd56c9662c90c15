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
from lab.bench import failures, systems
from lab.bench import main as benches
from lab.bench.results import INSTRUMENTS, Results, Row, from_json
from lab.guest import GuestFailure
from lab.problem import GUEST_BROKE, INTERRUPTED, Problem


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

    def test_an_interruption_stops_them(self) -> None:
        with mock.patch.object(benches, "execute", side_effect=Problem("interrupted", status=INTERRUPTED)) as executed, \
                contextlib.redirect_stdout(io.StringIO()), self.assertRaisesRegex(Problem, "interrupted"):
            benches.execute_all(Namespace(quick=True, yes=True, verbose=False), [])
        executed.assert_called_once()

    def test_a_guest_that_fails_does_not_stop_the_others_either(self) -> None:
        turns = [systems.Turn(1, "corral"), systems.Turn(1, "linux")]

        def measure(_: object) -> Results:
            systems.each("boots", "qemu", turns, lambda turn: [Row(turn.system, "qemu", 1, 1, systems.run(turn.system, "qemu", 1, systems.Job("", {})), 1.0)])
            raise AssertionError("it cannot end well")

        changed = {name: replace(benches.BENCHES[name], measure=measure) for name in ("boot", "load")}
        complained = io.StringIO()
        with mock.patch.dict(benches.BENCHES, changed, clear=True), mock.patch.object(benches, "_prepare"), mock.patch.object(systems, "parts"), \
                mock.patch.object(systems.guest, "Guest", side_effect=GuestFailure("the guest did not end\nits last words")), \
                mock.patch.object(systems.emulators, "close") as closed, \
                contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(complained):
            self.assertEqual(benches.execute_all(Namespace(quick=True, yes=True, verbose=False), []), 1)
        self.assertEqual(complained.getvalue().count("corral: corral on qemu with 1 cores: the guest did not end\nits last words"), 2)
        closed.assert_not_called()


class Kept(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.enterContext(mock.patch.object(benches.paths, "RESULTS", self.folder))
        self.enterContext(mock.patch.object(benches, "_prepare"))
        self.said = self.enterContext(contextlib.redirect_stdout(io.StringIO()))
        self.values: list[float] = []

    def bench(self, *words: str, fails: Problem | None = None) -> None:
        """Carries it out, which measures one figure that no other run has."""
        name = words[0]

        def measure(_: object) -> Results:
            self.values.append(len(self.values) + 1.0)
            rows = (Row("corral", "bochs", 1, 1, "figure", self.values[-1]),)
            if fails is not None:
                with failures.keeping(rows):
                    raise fails
            return Results(name, rows)

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

    def test_what_was_measured_before_a_failure_is_kept_until_all_is(self) -> None:
        self.bench("load")
        with self.assertRaisesRegex(Problem, r"(?s)^no such machine\n1 figures had been measured: \S*/load-bochs.partial.json\n +Mend: buy one") as caught:
            self.bench("load", fails=Problem("no such machine", "buy one", GUEST_BROKE))
        self.assertEqual(caught.exception.status, GUEST_BROKE)
        self.assertEqual(self.found(), {"load-bochs.json": 1, "load-bochs.partial.json": 2})
        kept = from_json((self.folder / "load-bochs.partial.json").read_text(encoding="utf-8"))
        self.assertEqual((kept.bench, kept.command), ("load", "./corral bench load --instrument bochs"))
        self.bench("load")
        self.assertEqual(self.found(), {"load-bochs.json": 3})

    def test_of_what_cannot_be_kept_the_failure_is_told_all_the_same(self) -> None:
        with mock.patch.object(benches.paths, "RESULTS", Path("/proc/none")), self.assertRaisesRegex(Problem, "no such machine\n1 .*are lost: /proc/none"):
            self.bench("load", fails=Problem("no such machine"))

    def test_a_long_command_has_a_name_of_its_own_that_a_folder_takes(self) -> None:
        for last in (63, 64):
            self.bench("mandelbrot", "--threads", ",".join(map(str, [*range(1, 60), last])))
        self.assertEqual(len(self.found()), 2)
        self.assertLess(max(map(len, self.found())), 150)


if __name__ == "__main__":
    unittest.main()
