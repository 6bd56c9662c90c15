"""A bench in which a guest fails, or anything else: where and with which last words is told, and what was measured before is not lost."""

import contextlib
import io
import threading
import unittest
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from unittest import mock

from lab import guest
from lab.bench import balance, balance_run, boot, failures, groups, groups_run, mandelbrot, matrix, systems
from lab.bench.groups_point import Point
from lab.bench.matrix_published import PUBLISHED
from lab.bench.results import Row
from lab.bench.systems import Job, Turn
from lab.problem import GUEST_BROKE, INTERRUPTED, Problem

LAST_WORDS = "the guest did not end\n--- serial line ---\nits last words"


def figures(turn: Turn) -> list[Row]:
    return [Row(turn.system, "bochs", turn.cores, 1, "figure", float(turn.seed))]


class OfGuests(unittest.TestCase):
    """Wherever a bench runs one."""

    def setUp(self) -> None:
        self.enterContext(contextlib.redirect_stderr(io.StringIO()))
        self.guest = self.enterContext(mock.patch.object(guest, "Guest", side_effect=guest.GuestFailure(LAST_WORDS)))
        self.enterContext(mock.patch.object(systems, "parts"))
        self.enterContext(mock.patch.object(systems, "program", return_value=b""))

    def told(self, where: str) -> contextlib.AbstractContextManager[object]:
        return self.assertRaisesRegex(Problem, f"^{where}.*: the guest did not end\n(.*\n)*its last words\n +Mend: measure it again")

    def test_a_script(self) -> None:
        for system, boots in (("corral", 1), ("linux", 3)):
            self.guest.reset_mock()
            with self.subTest(system=system), self.told(f"{system} on qemu with 4 cores"):
                systems.run(system, "qemu", 4, Job("true", {}))
            self.assertEqual(self.guest.call_count, boots)
        with self.assertRaises(Problem) as caught:
            systems.run("corral", "icount", 1, Job("true", {}))
        self.assertEqual(caught.exception.status, GUEST_BROKE)

    def test_the_benches_with_machines_of_their_own(self) -> None:
        with self.told("figure 3a"):
            matrix.once(matrix.CASES[0], matrix.Plan(quick=True), matrix.QUANTUM)
        with self.told("corral with 2 cores"):
            balance_run.once(balance_run.Runs("corral", 2, balance.LOADS, (1,), "today", "sched.placement=random"))
        with self.told("linux, 1 points from 500 threads of threadload"):
            groups_run.once(groups_run.Runs("linux", 32, (Point(method="none"),), 1))
        with mock.patch.object(boot, "_boot", return_value=(mock.Mock(), 0)), self.told("corral with 1 cores"):
            boot.measure(boot.Plan(("corral",), (1,), 1))


class HalfWay(unittest.TestCase):
    def setUp(self) -> None:
        self.enterContext(contextlib.redirect_stderr(io.StringIO()))
        self.closed = self.enterContext(mock.patch.object(systems.emulators, "close"))

    def kept(self, measure: object, *arguments: object) -> list[Row]:
        assert callable(measure)
        with self.assertRaisesRegex(failures.Unfinished, "no luck") as caught:
            measure(*arguments)
        return list(caught.exception.rows)

    def test_boots_of_scripts(self) -> None:
        def once(turn: Turn) -> list[Row]:
            if turn.seed == 2:
                raise Problem("no luck")
            return figures(turn)

        todo = [Turn(1, "corral", seed) for seed in range(4)]
        kept = self.kept(systems.each, "all", "icount", todo, once)
        self.assertEqual(kept[:2], [*figures(todo[0]), *figures(todo[1])])  # what follows may have begun before the failure was noticed
        self.closed.assert_not_called()  # others may follow

    def test_boots_that_had_begun_count_as_well(self) -> None:
        """Two at once: one fails while the other is under way."""
        failed = threading.Event()

        def once(turn: Turn) -> list[Row]:
            if turn.seed == 1:
                failed.set()
                raise Problem("no luck")
            failed.wait(60)
            return figures(turn)

        todo = [Turn(1, "corral", seed) for seed in range(2)]
        with mock.patch.object(systems.os, "cpu_count", return_value=2):
            self.assertEqual(self.kept(systems.each, "all", "bochs", todo, once), figures(todo[0]))

    def test_an_interruption(self) -> None:
        """Ctrl-C comes when the second of three boots is under way, and the third is never begun."""
        under_way, closed = threading.Event(), threading.Event()
        self.closed.side_effect = closed.set
        begun: list[int] = []

        def once(turn: Turn) -> list[Row]:
            begun.append(turn.seed)
            if turn.seed == 1:
                under_way.set()
                self.assertTrue(closed.wait(60))
                raise Problem("the emulator is gone")
            return figures(turn)

        def interrupted(boots: Iterable[Future[list[Row]]]) -> Iterator[Future[list[Row]]]:
            yield next(iter(boots))
            self.assertTrue(under_way.wait(60))
            raise KeyboardInterrupt

        todo = [Turn(1, "corral", seed) for seed in range(3)]
        with mock.patch.object(systems, "as_completed", interrupted), self.assertRaisesRegex(failures.Unfinished, "interrupted") as caught:
            systems.each("all", "icount", todo, once)
        self.assertEqual((list(caught.exception.rows), caught.exception.status, begun), (figures(todo[0]), INTERRUPTED, [0, 1]))

    def test_every_bench_with_a_loop_of_its_own(self) -> None:
        choices = (balance.Choice("random", "none"), balance.Choice("random", "pull"))
        found = balance_run.Found(balance.LOADS[0], 1, {"runtime_us": 1.0}, "c0ffee")
        points = (Point(), Point(caches="pairs"))
        workload = mandelbrot.QUICK_WORKLOADS["qemu"]
        for module, first, plan, rows in (
            (balance, [found], balance.Plan(("corral",), (4,), choices, (1,), "today"), 1),
            (matrix, PUBLISHED["3a"], matrix.Plan(quick=True), 9),
            (groups, [(points[0], {"all_ms": 1.0})], groups.Plan(points, 1), 1),
            (boot, {"boot_ms": 1.0}, boot.Plan(("corral",), (1, 2), 1), 1),
            (mandelbrot, [mandelbrot.Sample(1, 1.0, 2.0, "c0ffee")], mandelbrot.Plan("qemu", ("corral",), (1, 2), None, 1, workload), 2),
        ):
            with self.subTest(bench=module.__name__), mock.patch.object(module, "once", side_effect=[first, Problem("no luck")]):
                self.assertEqual(len(self.kept(module.measure, plan)), rows)


if __name__ == "__main__":
    unittest.main()
