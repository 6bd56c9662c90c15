"""Workloads made of records: what threads computed, slept for, and did to each other."""

import json
import tempfile
import unittest
from argparse import Namespace
from collections.abc import Iterable

from lab import simulate
from lab.options import Parser
from lab.problem import Problem
from lab.trace.records import Call, Interrupt, Label, Loss, Message, Placement, Record, Switch, Wake
from lab.trace.workload import derived

NOBODY = Label("swapper/0", 0, 120)
OLD, MAIN, CHILD = 7, 10, 11  # OLD was there before the trace


def label(number: int, priority: int = 120) -> Label:
    return Label(f"t{number}", number, priority) if number else NOBODY


def switch(us: float, before: int, state: str, after: int, core: int = 0, priority: int = 120) -> Switch:
    return Switch(round(us * 1000), core, label(before, priority), state, label(after, priority))


def wake(us: float, kind: str, number: int, core: int = 0) -> Wake:
    return Wake(round(us * 1000), core, kind, label(number), core)


def made(us: float, number: int, core: int = 0) -> Placement:
    return Placement(round(us * 1000), core, number, "created", core, 1, "threads", {core: 0})


def interrupt(us: float, begins: bool, core: int = 0) -> Interrupt:
    return Interrupt(round(us * 1000), core, begins, 32, "timer")


def message(us: float, sent: bool, core: int = 0) -> Message:
    return Message(round(us * 1000), core, sent, "thread", 1 - core if sent else None)


BEGIN = [interrupt(0, True), interrupt(0, False), message(1, True), made(1, MAIN), wake(1, "created", MAIN), switch(2, OLD, "S", MAIN)]


class Workloads(unittest.TestCase):
    def tasks(self, found: Iterable[Record]) -> dict[str, dict[str, object]]:
        """By name: what stands there, the actions in `acts` as pairs."""
        tasks = json.loads(derived(sorted(found, key=lambda record: record.time)).text)["tasks"]
        for task in tasks.values():
            task["acts"] = [(name.rstrip("0123456789"), value) for phase in task.pop("phases").values() for name, value in phase.items()]
        return tasks

    def acts(self, found: Iterable[Record], number: int = MAIN) -> list[tuple[str, object]]:
        return self.tasks(found)[f"t{number}-{number}"]["acts"]  # type: ignore[return-value]

    def test_computing_and_sleeping(self) -> None:
        """From the wake-up until it runs it waits: that is no part of what it does."""
        found = [*BEGIN, switch(10, MAIN, "S", 0), interrupt(30, True), wake(30, "waking", MAIN), interrupt(31, False),
                 wake(32, "woken", MAIN), switch(50, 0, "R", MAIN), switch(52.345, MAIN, "X", 0)]
        self.assertEqual(self.tasks(found), {"t10-10": {"loop": 1, "acts": [("run", 8), ("sleep", 20), ("run", 2.345)]}})

    def test_who_is_preempted_goes_on(self) -> None:
        found = [*BEGIN, switch(10, MAIN, "R+", OLD), switch(30, OLD, "R", MAIN, core=0), switch(35, MAIN, "X", 0)]
        self.assertEqual(self.acts(found), [("run", 13)])

    def test_who_gives_way_by_itself_yields(self) -> None:
        found = [*BEGIN, switch(10, MAIN, "R", OLD), switch(30, OLD, "S", MAIN), switch(35, MAIN, "X", 0)]
        self.assertEqual(self.acts(found), [("run", 8), ("yield", ""), ("run", 5)])

    def test_threads_make_and_wake_each_other(self) -> None:
        found = [*BEGIN, made(5, CHILD, 0), wake(6, "created", CHILD, 1), switch(7, 0, "R", CHILD, core=1), switch(9, CHILD, "S", 0, core=1),
                 wake(12, "waking", CHILD), wake(13, "woken", CHILD, 1), switch(14, 0, "R", CHILD, core=1), switch(20, MAIN, "S", 0),
                 wake(24, "waking", MAIN, 1), switch(25, CHILD, "X", 0, core=1), wake(25, "woken", MAIN), switch(26, 0, "R", MAIN),
                 switch(27, MAIN, "X", 0)]
        tasks = self.tasks(found)
        self.assertEqual(tasks["t10-10"]["acts"], [("run", 3), ("fork", "t11-11"), ("run", 7), ("up", "t11-11"), ("run", 8), ("down", "t10-10"),
                                                   ("run", 1)])
        self.assertEqual(tasks["t11-11"], {"loop": 1, "instance": 0, "acts": [("run", 2), ("down", "t11-11"), ("run", 10), ("up", "t10-10"),
                                                                              ("run", 1)]})

    def test_without_interrupts_and_messages_nobody_knows_who_woke_whom(self) -> None:
        for begin, known in ((BEGIN[3:], False), (BEGIN[2:], False), ([*BEGIN[:2], *BEGIN[3:]], False), (BEGIN, True)):
            found = [*begin, made(5, CHILD), switch(10, MAIN, "S", CHILD), wake(18, "waking", MAIN, 0), switch(20, CHILD, "S", MAIN),
                     switch(21, MAIN, "X", 0), switch(22, 0, "R", OLD, core=1)]
            with self.subTest(begin=begin):
                self.assertEqual(self.acts(found)[-2], ("down", "t10-10") if known else ("sleep", 8))
                self.assertEqual("messages are not recorded" in "\n".join(derived(found).notes), not known)

    def test_a_core_that_takes_a_message_acts_for_others(self) -> None:
        """Until its thread makes itself heard."""
        for between, known in (([], False), ([Call(16_000, 0, True, CHILD, 202, ())], True)):
            found = [*BEGIN, made(5, CHILD), switch(10, MAIN, "S", CHILD), message(15, False), *between, wake(18, "waking", MAIN),
                     switch(20, CHILD, "S", MAIN), switch(21, MAIN, "X", 0)]
            with self.subTest(between=between):
                self.assertEqual(self.acts(found)[-2], ("down", "t10-10") if known else ("sleep", 8))

    def test_who_was_there_before_is_left_out(self) -> None:
        """What it wakes is asleep for so long, and what it makes begins after so long."""
        found = [*BEGIN, switch(10, MAIN, "S", OLD), made(11, CHILD), wake(15, "waking", MAIN), switch(20, OLD, "S", MAIN),
                 switch(21, MAIN, "X", CHILD), switch(25, CHILD, "X", 0)]
        tasks = self.tasks(found)
        self.assertEqual(tasks["t10-10"]["acts"], [("run", 8), ("sleep", 5), ("run", 1)])
        self.assertEqual(tasks["t11-11"], {"loop": 1, "delay": 10, "acts": [("run", 4)]})

    def test_a_wake_up_that_comes_before_the_sleep_ends_it(self) -> None:
        both = [*BEGIN, made(3, CHILD), switch(4, 0, "R", CHILD, core=1), wake(8, "waking", MAIN, 1), switch(10, MAIN, "S", 0),
                wake(11, "woken", MAIN), switch(12, 0, "R", MAIN), switch(15, CHILD, "X", 0, core=1), switch(15, MAIN, "X", 0)]
        self.assertEqual(self.acts(both), [("run", 1), ("fork", "t11-11"), ("run", 7), ("down", "t10-10"), ("run", 3)])
        self.assertEqual(self.acts(both, CHILD), [("run", 4), ("up", "t10-10"), ("run", 7)])

    def test_a_wake_up_of_nobody_who_sleeps_is_none(self) -> None:
        found = [*BEGIN, made(3, CHILD), switch(4, 0, "R", CHILD, core=1), wake(8, "waking", MAIN, 1), switch(15, CHILD, "X", 0, core=1),
                 switch(20, MAIN, "X", 0)]
        self.assertEqual(self.acts(found, CHILD), [("run", 11)])

    def test_priorities(self) -> None:
        for priority, said in ((125, {"priority": 5}), (89, {"policy": "SCHED_FIFO", "priority": 10}),
                               (-1, {"policy": "SCHED_FIFO", "priority": 99})):
            found = [*BEGIN[:-1], switch(2, OLD, "S", MAIN, priority=priority), switch(9, MAIN, "X", 0, priority=priority)]
            with self.subTest(priority=priority):
                self.assertEqual(self.tasks(found)["t10-10"], {"loop": 1, **said, "acts": [("run", 7)]})

    def test_what_was_lost_is_told_and_the_rest_begins_together(self) -> None:
        """Core 1 has its records from 50 on; what core 0 has of the time before does not count."""
        found = [*BEGIN, switch(20, MAIN, "S", OLD), switch(40, OLD, "R", CHILD), Loss(50_000, 1, 17), switch(50, 12, "S", 0, core=1),
                 switch(60, CHILD, "S", 0), interrupt(65, True), wake(65, "waking", MAIN), interrupt(65, False), switch(70, 0, "R", MAIN),
                 wake(72, "waking", CHILD), switch(75, MAIN, "X", CHILD), switch(80, CHILD, "X", 0)]
        tasks = self.tasks(found)
        self.assertEqual(tasks["t10-10"]["acts"], [("sleep", 15), ("run", 2), ("up", "t11-11"), ("run", 3)])
        self.assertEqual(tasks["t11-11"], {"loop": 1, "acts": [("run", 10), ("down", "t11-11"), ("run", 5)]})
        self.assertIn("17 records were lost", "\n".join(derived(found).notes))

    def test_a_number_that_is_used_again_is_another_thread(self) -> None:
        found = [*BEGIN, switch(10, MAIN, "X", OLD), made(11, MAIN), wake(11, "created", MAIN), switch(12, OLD, "S", MAIN), switch(15, MAIN, "X", 0)]
        self.assertEqual({name: task["acts"] for name, task in self.tasks(found).items()}, {"t10-10": [("run", 8)], "t10-10-2": [("run", 3)]})

    def test_many_deeds_are_several_phases_in_their_order(self) -> None:
        found = list(BEGIN)
        for at in range(10, 2010, 10):
            found += [switch(at, MAIN, "S", 0), interrupt(at + 1, True), wake(at + 1, "waking", MAIN), interrupt(at + 1, False),
                      switch(at + 2, 0, "R", MAIN)]
        acts = self.acts([*found, switch(2010, MAIN, "X", 0)])
        self.assertEqual(acts, [("run", 8), ("sleep", 1)] * 200 + [("run", 8)])

    def test_who_runs_at_the_end_computes_as_far_as_its_core_tells(self) -> None:
        found = [*BEGIN, interrupt(10, True), interrupt(11, False), switch(50, 0, "R", OLD, core=1)]
        self.assertEqual(self.acts(found), [("run", 9)])

    def test_the_machine_has_the_cores_of_the_records(self) -> None:
        found = [*BEGIN, Wake(3000, 0, "woken", label(OLD), 5), switch(9, MAIN, "X", 0)]
        self.assertEqual(json.loads(derived(found).text)["machine"], {"cores": 6})

    def test_what_tells_nothing_is_refused(self) -> None:
        for found, why in (([wake(1, "waking", 5)], "no switches"), ([switch(1, OLD, "S", 0)], "no thread is recorded")):
            with self.subTest(why=why), self.assertRaisesRegex(Problem, why):
                derived(found)


class CommandLine(unittest.TestCase):
    def values(self, *words: str) -> Namespace:
        parser = Parser()
        simulate.declare(parser)
        return parser.parse_args(words)

    def test_a_recording_is_replayed_unless_an_option_asks_for_something_else(self) -> None:
        self.assertTrue(simulate.is_replayed(self.values("run.records")))
        for words in (["--algorithm", "cfs"], ["--cores", "8"], ["--queues", "global"], ["--seed", "7"], ["--workload-to", "w.json"]):
            with self.subTest(words=words):
                self.assertFalse(simulate.is_replayed(self.values("run.records", *words)))
        self.assertFalse(simulate.is_replayed(self.values("workload.json")))

    def test_only_of_a_recording_a_workload_is_made(self) -> None:
        with tempfile.NamedTemporaryFile(suffix=".json") as file, self.assertRaisesRegex(Problem, "is a workload already"):
            simulate.execute(self.values(file.name, "--workload-to", "w.json"), [])


if __name__ == "__main__":
    unittest.main()
