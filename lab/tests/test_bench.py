"""All benches: what each says of itself, and one after the other."""

import contextlib
import io
import unittest
from argparse import Namespace
from dataclasses import replace
from unittest import mock

from lab import main
from lab.bench import main as benches
from lab.bench.results import INSTRUMENTS, Results
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


if __name__ == "__main__":
    unittest.main()
