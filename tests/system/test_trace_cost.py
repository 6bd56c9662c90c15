"""What the trace costs, in instructions: counted, so the same in every run (docs/tracing.md)."""

import unittest

from lab.bench import load, operations, systems, tracing
from lab.bench.results import Results

SCHEDULER = "switch wake place migrate"
WANTED = {"off": "off", "scheduler": SCHEDULER, "on": "on", "arguments": "on arguments"}
COUNTS = {"null": 2000, "switch-pipe": 500, "switch-futex": 500}
# At most: of a call that does not wait; of a switch and the wake-up of who runs then, which are four records.
CALL, CALL_WITH_ARGUMENTS, SWITCH_AND_WAKE = 24, 90, 200


def script() -> str:
    lines = ["results="]
    for name, words in WANTED.items():
        lines.append(f"echo {words} > /proc/trace")
        for operation, count in COUNTS.items():
            lines.append(f'results="${{results}}{name} $(/host/operations {operation} {count} 1 processes 2>&1)')
            lines.append('"')
    return "\n".join([*lines, "echo off > /proc/trace", 'echo "$results"'])


class Cost(unittest.TestCase):
    costs: dict[tuple[str, str], float]  # by what is traced, and operation

    @classmethod
    def setUpClass(cls) -> None:
        job = systems.Job(script(), operations.files(), "")
        text = systems.run("corral", "icount", 1, job, memory_mib=operations.MEMORY_MIB)
        cls.costs = {}
        for line in text.splitlines():
            wanted, _, rest = line.partition(" operations: ")
            if wanted in WANTED:
                fields = dict(word.split("=", 1) for word in rest.split() if "=" in word)
                cls.costs[wanted, fields["name"]] = float(fields["ticks"])
        assert len(cls.costs) == len(WANTED) * len(COUNTS), text

    def more(self, wanted: str, operation: str) -> float:
        return self.costs[wanted, operation] - self.costs["off", operation]

    def test_a_call(self) -> None:
        self.assertLess(self.more("scheduler", "null"), 2)
        self.assertLessEqual(self.more("on", "null"), CALL)
        self.assertGreater(self.more("on", "null"), 5)  # it is traced at all
        self.assertLessEqual(self.more("arguments", "null"), CALL_WITH_ARGUMENTS)

    def test_a_switch(self) -> None:
        for operation in ("switch-pipe", "switch-futex"):  # with two calls, of which one waits
            with self.subTest(operation=operation):
                self.assertLessEqual(self.more("scheduler", operation), SWITCH_AND_WAKE)
                self.assertLessEqual(self.more("on", operation), SWITCH_AND_WAKE + 4 * CALL)


class CostOfLoads(unittest.TestCase):
    def test_of_hackbench(self) -> None:
        """All its four kinds together: where a turn ends is another place in a run that is traced, which by itself makes half a percent of one kind."""
        loads = tuple(one for one in load.LOADS if one.program == "hackbench")
        results = Results(tracing.NAME, tuple(tracing.once(tracing.Plan(("corral",), loads, 1, quick=False), "corral")))
        off, on = (sum(row.value for row in results.rows if row.metric.endswith(f", {level}")) for level in ("off", "all"))
        self.assertEqual(len(loads), 4)
        self.assertLessEqual(on / off - 1, tracing.AT_MOST)
        self.assertGreater(on / off - 1, 0.002)  # it is traced at all


if __name__ == "__main__":
    unittest.main()
