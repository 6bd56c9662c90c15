"""A sample of what `corral soak` does at length: nothing is lost, neither a wake-up nor a page, and what is planted is found."""

import unittest

from lab.soak import drive, plan
from lab.soak.loads import LOADS, Load
from lab.soak.plan import Round, Task
from lab.soak.records import Record

CORES = 4
MEMORY_MIB = 512
PROBES = [LOADS[name] for name in ("wake-ups", "unmaps", "lifecycles")]


def let_run(*rounds: Round, seed: int | None = None) -> Record:
    """All rounds. With a seed on a deterministic machine, where rest takes no time."""
    record = Record("sample", CORES, seed or 0)
    drive.run(rounds, drive.Setting(CORES, MEMORY_MIB, minutes=60, seed=seed), record)
    return record


class Sample(unittest.TestCase):
    """A round with a second of each at once, and one while policies change."""

    SEED = 4
    ROUNDS = 2
    record: Record

    @classmethod
    def setUpClass(cls) -> None:
        rounds = plan.mixed(PROBES, CORES, cls.SEED, cls.ROUNDS, 1)
        assert rounds[-1].policies and rounds[-1].changes
        cls.record = let_run(*rounds)

    def counted(self, what: str) -> int:
        self.assertEqual(self.record.failure, "")
        self.assertEqual((self.record.rounds, self.record.lost_pages), (self.ROUNDS, 0))
        return self.record.counted[what]

    def test_no_wake_up_is_lost(self) -> None:
        self.assertGreater(self.counted("pairs"), 0)

    def test_no_page_is_used_after_it_was_unmapped(self) -> None:
        self.assertGreater(self.counted("unmaps"), 0)

    def test_nothing_is_left_of_processes_and_threads(self) -> None:
        self.assertGreater(self.counted("processes"), 0)
        self.assertGreater(self.counted("threads"), 0)


class Planted(unittest.TestCase):
    """What must be found, after a round in which all is well."""

    WELL = "echo all went well"

    def found(self, command: str) -> str:
        load = Load("planted", "", lambda chance, seconds: self.WELL, "all went well")
        well, ill = Round((Task(load, self.WELL),)), Round((Task(load, self.WELL), Task(load, command)))
        record = let_run(well, ill, well, seed=1)
        self.assertEqual((record.rounds, record.tasks), (1, {"planted": 1}), record.failure)
        return record.failure

    def test_an_output_that_lacks_its_line(self) -> None:
        self.assertEqual(self.found("echo something else"), "round 2: planted: status 0, and its output lacks `all went well`: "
                                                            "echo something else\nsomething else\n\n")

    def test_a_process_that_stays(self) -> None:
        self.assertRegex(self.found(f"sleep 100000 & {self.WELL}"),
                         r"^round 2: \d+ pages more are in use; \d+ objects more .*; 1 threads more are there; 1 processes more")


if __name__ == "__main__":
    unittest.main()
