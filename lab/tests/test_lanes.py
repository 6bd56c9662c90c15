"""Pieces of work side by side: what they tell comes to one tally, whatever becomes of their processes."""

import contextlib
import io
import os
import tempfile
import time
import unittest
from collections.abc import Callable
from unittest import mock

from lab.testing import lanes
from lab.testing.lanes import Piece
from lab.testing.tally import Results, Tally


def told(pieces: list[Piece], jobs: int) -> tuple[Tally, list[str]]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        tally = Tally()
        lanes.run(pieces, jobs, tally)
    return tally, out.getvalue().splitlines()


def piece(name: str, work: Callable[[Results], None]) -> Piece:
    return Piece("lab", name, work)


class Lanes(unittest.TestCase):
    def test_all_results_are_counted(self) -> None:
        def work(results: Results) -> None:
            results.running("lab", "one")
            results.ok("lab", "one")
            results.running("lab", "two")
            results.fail("lab", "two", "the reason")
            results.skipped("lab", "three", "no time")

        for jobs in (1, 3):
            tally, lines = told([piece(f"file{n}", work) for n in range(5)], jobs)
            self.assertEqual((tally.passed, len(tally.failures)), (5, 10))
            self.assertEqual(lines.count("        the reason"), 5)
            self.assertEqual(len(tally.slowest(99)), 10)

    def test_they_run_at_the_same_time_and_no_more_than_allowed(self) -> None:
        """Each piece waits for its partner, by a pipe, so that two must be under way at once; a third may not have begun."""
        def meet(mine: int, other: int) -> Callable[[Results], None]:
            def work(results: Results) -> None:
                os.write(mine, b"x")
                os.read(other, 1)
                results.ok("lab", "met")
            return work

        (a_read, a_write), (b_read, b_write), (third_read, third_write) = os.pipe(), os.pipe(), os.pipe()
        os.set_blocking(third_read, False)

        def first(results: Results) -> None:
            meet(a_write, b_read)(results)
            with contextlib.suppress(BlockingIOError):
                os.read(third_read, 1)
                results.fail("lab", "first", "three at a time")

        def second(results: Results) -> None:
            meet(b_write, a_read)(results)
            time.sleep(0.2)

        def third(_: Results) -> None:
            os.write(third_write, b"x")

        try:
            tally, _ = told([piece("a", first), piece("b", second), piece("c", third)], 2)
        finally:
            for descriptor in (a_read, a_write, b_read, b_write, third_read, third_write):
                os.close(descriptor)
        self.assertEqual((tally.passed, tally.failures), (2, []))

    def test_a_process_that_ends_early_is_a_failure_of_its_piece(self) -> None:
        def dies(results: Results) -> None:
            results.ok("lab", "first")
            os._exit(3)

        def lives(results: Results) -> None:
            results.ok("lab", "other")

        tally, lines = told([piece("dies", dies), piece("lives", lives)], 1)
        self.assertEqual((tally.passed, tally.failures), (2, ["lab: dies"]))
        self.assertIn("        its process ended with status 3", lines)

    def test_one_that_is_interrupted_alone_is_a_failure(self) -> None:
        tally, lines = told([piece("interrupted", mock.Mock(side_effect=KeyboardInterrupt))], 1)
        self.assertEqual(tally.failures, ["lab: interrupted"])
        self.assertIn("        its process ended with status 130", lines)

    def test_nothing_temporary_is_left(self) -> None:
        def leaves(results: Results) -> None:
            results.fail("lab", tempfile.mkdtemp(), "to be told")

        before = tempfile.gettempdir()
        tally, _ = told([piece("a", leaves), piece("b", leaves)], 2)
        places = [failure.removeprefix("lab: ") for failure in tally.failures]
        self.assertEqual(len(set(places)), 2)
        self.assertEqual([place for place in places if os.path.exists(os.path.dirname(place))], [])
        self.assertEqual(tempfile.gettempdir(), before)

    def test_an_interruption_ends_the_lanes(self) -> None:
        def waits(results: Results) -> None:
            results.running("lab", "waits")
            time.sleep(600)

        begin = time.monotonic()
        with mock.patch.object(Tally, "running", side_effect=KeyboardInterrupt), self.assertRaises(KeyboardInterrupt):
            told([piece("waits", waits), piece("waits", waits)], 2)
        self.assertLess(time.monotonic() - begin, 300)


if __name__ == "__main__":
    unittest.main()
