"""Threads that sleep belong to whoever wakes them (`sched.wakes=waker`): programs run as with homes, and both change under load."""

import unittest
from collections import Counter

from lab.testing.arrangement import ArrangedCores, ArrangedGuest
from lab.testing.choosing import choose
from lab.trace import records

OPTION = "sched.wakes=waker"
PIPES = "for i in 1 2 3 4; do (echo $i | cat | cat) & done; wait"
PROGRAMS = f"{PIPES}; /tests/forktest > /dev/null && /tests/futexqueues > /dev/null && /tests/futexstress > /dev/null && /tests/pipetest > /dev/null"
# What is asked of threads that sleep: masks, classes, priorities that are lent, signals, registers, stops and ends.
ASKING = ("affinitytest", "deadlinetest", "pitest", "signalthreads", "signalrestart", "stoptest", "tracecalls", "waittest")


def placed_elsewhere(found: list[records.Record]) -> int:
    """How many woken threads were placed by another core than the one on which they had run last."""
    ran: dict[int, int] = {}
    count = 0
    for record in found:
        if isinstance(record, records.Switch):
            ran[record.previous.number] = ran[record.next.number] = record.core
        elif isinstance(record, records.Placement) and record.reason == "woken":
            count += ran.get(record.thread, record.core) != record.core
    return count


class Wakers(ArrangedGuest, unittest.TestCase):
    OPTION = OPTION
    RESET = choose("wakes waker", "queues per-core", "groups none")

    def traced(self) -> list[records.Record]:
        self.said(f"corral-trace -e switch,place /tmp/records sh -c '{PIPES}; {PIPES}' > /dev/null")
        return records.decoded(bytes.fromhex(self.said("od -An -v -t x1 /tmp/records")))

    def test_programs_run(self) -> None:
        self.said(PROGRAMS)
        self.assertRegex(self.said("cat /proc/sched"), r"(?m)^wakes waker: home waker$")

    def test_who_wakes_places(self) -> None:
        self.assertGreater(placed_elsewhere(self.traced()), 0)
        self.said("corral-sched wakes home")
        # Who slept before that has no home yet.
        self.said(PIPES)
        self.assertEqual(placed_elsewhere(self.traced()), 0)

    def test_who_goes_on_where_it_was_has_not_migrated(self) -> None:
        self.said("corral-trace -e migrate /tmp/records sh -c 'taskset 1 yes | taskset 2 head -n 100000' > /dev/null")
        found = records.decoded(bytes.fromhex(self.said("od -An -v -t x1 /tmp/records")))
        moves = Counter(record.thread.number for record in found if isinstance(record, records.Migration))
        self.assertLessEqual(max(moves.values(), default=0), 5)  # to its core, and before

    def test_what_is_asked_of_sleeping_threads_is_done(self) -> None:
        for program in ASKING:
            with self.subTest(program=program):
                self.said(f"/tests/{program}")

    def test_with_one_queue_for_all_cores(self) -> None:
        self.said("corral-sched queues global")
        self.said(PROGRAMS)

    def test_groups_keep_their_cores(self) -> None:
        self.said("corral-sched groups affinity-mask:ratio=1:3")
        self.said(PROGRAMS)

    def test_it_changes_under_load(self) -> None:
        self.said(f"({PROGRAMS}; {PROGRAMS}) & for i in $(seq 200); do echo wakes home > /proc/sched; "
                  "echo wakes waker > /proc/sched; done; wait $!")


class Cores(ArrangedCores, unittest.TestCase):
    OPTION = OPTION
    PROGRAMS = PROGRAMS


if __name__ == "__main__":
    unittest.main()
