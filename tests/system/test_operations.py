"""`bench operations` in its quick form: every operation measured on both systems, in numbers that make sense.

Counted instructions repeat, so they may be compared; times are never.
"""

import unittest

from lab.bench import operations
from lab.testing.selection import slow


def plan(instrument: str, names: str | None, cores: tuple[int, ...] = (1,)) -> operations.Plan:
    return operations.Plan(instrument, ("corral", "linux"), operations.chosen(names, quick=True), cores, 1)


class Instructions(unittest.TestCase):
    def test_quick(self) -> None:
        asked = plan("icount", None)
        results = operations.measure(asked)
        for operation in asked.operations:
            for system in asked.systems:
                value = results.value(system, 1, 1, operation.name)
                self.assertIsNotNone(value, f"{operation.name} on {system}")
                # A system call costs tens of instructions at least, and nothing here costs a million.
                self.assertTrue(20 < value < 1_000_000, f"{operation.name} on {system}: {value}")
        for system in asked.systems:
            null, fork = (results.value(system, 1, 1, name) for name in ("null", "fork"))
            self.assertLess(null, fork)
        text = "\n".join(operations.report(results, asked))
        self.assertIn("fault-anonymous", text)

    def test_a_count_repeats(self) -> None:
        asked = operations.Plan("icount", ("corral",), operations.chosen("getpid,mmap", quick=False), (1,), 1)
        first, second = (operations.measure(asked) for _ in range(2))
        for operation in asked.operations:
            values = [results.value("corral", 1, 1, operation.name) for results in (first, second)]
            self.assertAlmostEqual(values[0], values[1], delta=0.01 * values[0], msg=operation.name)

    @slow
    def test_each_operation_is_measured_or_honestly_not(self) -> None:
        asked = operations.Plan("icount", ("corral",), operations.OPERATIONS, (1,), 1)
        results = operations.measure(asked)
        for operation in asked.operations:
            found = [name for name in (operation.name, f"{operation.name} {operations.UNSUPPORTED}")
                     if results.value("corral", 1, 1, name) is not None]
            self.assertEqual(len(found), 1, operation.name)


class Parallel(unittest.TestCase):
    @slow
    def test_two_cores_in_bochs(self) -> None:
        asked = operations.Plan("bochs", ("corral",), operations.chosen("getpid", quick=False), (1, 2), 1)
        gain = operations.scale(operations.measure(asked), "corral", "getpid", 2)
        self.assertAlmostEqual(gain, 2.0, delta=0.1)


if __name__ == "__main__":
    unittest.main()
