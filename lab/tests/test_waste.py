"""Cores that idle while threads wait for others, from records of a few moments."""

import unittest

from lab.trace.records import Label, Migration, Switch, Wake
from lab.trace.waste import idle_beside_waiting

NOBODY = Label("swapper/0", 0, 120)


def label(number: int) -> Label:
    return Label(f"thread{number}", number, 120)


def switch(time: int, core: int, before: int, after: int, state: str = "S") -> Switch:
    return Switch(time, core, label(before) if before else NOBODY, state if before else "R", label(after) if after else NOBODY)


def woken(time: int, core: int, number: int, kind: str = "woken") -> Wake:
    return Wake(time, core, kind, label(number), core)


class IdleBesideWaiting(unittest.TestCase):
    def test_nobody_waits(self) -> None:
        self.assertEqual(idle_beside_waiting([], 4), 0)
        self.assertEqual(idle_beside_waiting([switch(10, 0, 0, 1), switch(50, 0, 1, 0)], 4), 0)

    def test_a_thread_waits_beside_an_idle_core(self) -> None:
        run = [switch(0, 0, 0, 1), woken(10, 0, 2), switch(40, 0, 1, 2), switch(60, 0, 2, 0)]
        self.assertEqual(idle_beside_waiting(run, 2), 30)
        self.assertEqual(idle_beside_waiting(run, 1), 0)

    def test_each_thread_counts_against_one_core(self) -> None:
        run = [switch(0, 0, 0, 1), *(woken(10, 0, number) for number in (2, 3, 4)), switch(20, 0, 1, 2), switch(30, 0, 2, 3)]
        self.assertEqual(idle_beside_waiting(run, 8), 3 * 10 + 2 * 10)
        self.assertEqual(idle_beside_waiting(run, 2), 10 + 10)

    def test_who_is_about_to_run_on_an_idle_core_does_not_wait(self) -> None:
        """Between its arrival and the switch the core takes it up; a second one there does wait."""
        self.assertEqual(idle_beside_waiting([woken(0, 0, 1), switch(10, 0, 0, 1)], 2), 0)
        self.assertEqual(idle_beside_waiting([woken(0, 0, 1), woken(0, 0, 2), switch(10, 0, 0, 1), switch(15, 0, 1, 2)], 2), 15)

    def test_a_preempted_thread_waits_and_a_sleeping_one_does_not(self) -> None:
        preempted = [switch(0, 0, 0, 1), woken(5, 0, 2, "created"), switch(5, 0, 1, 2, "R+"), switch(25, 0, 2, 1), switch(30, 0, 1, 0)]
        self.assertEqual(idle_beside_waiting(preempted, 2), 20)
        asleep = [switch(0, 0, 0, 1), woken(5, 0, 2), switch(5, 0, 1, 2, "S"), switch(25, 0, 2, 0)]
        self.assertEqual(idle_beside_waiting(asleep, 2), 0)

    def test_a_thread_on_its_way_does_not_wait(self) -> None:
        pulled = [switch(0, 0, 0, 1), woken(10, 0, 2), Migration(20, 0, label(2), 0, 1, "pulled"), woken(50, 1, 2), switch(60, 1, 0, 2)]
        self.assertEqual(idle_beside_waiting(pulled, 2), 10)

    def test_a_pushed_thread_is_not_taken_for_one_that_waits(self) -> None:
        """Its old core tells of the switch after it has sent it, or even after it has arrived."""
        for arrival in (12, 17):
            run = [switch(0, 0, 0, 1), switch(0, 1, 0, 3), Migration(10, 0, label(1), 0, 1, "pushed"), woken(arrival, 1, 1),
                   switch(15, 0, 1, 2, "R+"), switch(15, 0, 2, 0), switch(20, 1, 3, 1), switch(30, 1, 1, 0)]
            with self.subTest(arrival=arrival):
                self.assertEqual(idle_beside_waiting(sorted(run, key=lambda one: one.time), 2), 20 - max(15, arrival))

    def test_waking_alone_puts_nobody_in_a_queue(self) -> None:
        self.assertEqual(idle_beside_waiting([switch(0, 0, 0, 1), Wake(10, 1, "waking", label(2), 0), switch(40, 0, 1, 0)], 2), 0)


if __name__ == "__main__":
    unittest.main()
