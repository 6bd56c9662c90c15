"""Defects planted into the kernel (lib/planted.h, in the build that checks itself): its checker names each of them (docs/checker.md)."""

import re
import time
import unittest
from dataclasses import dataclass

from lab import build, guest, paths
from lab.testing.selection import exhaustive

CORES = 4
PATIENCE_SECONDS = 120.0
VIOLATION = re.compile(r"sched: invariant violated: ([^,]+), core (\d+) thread (\d+) at ([a-z ]+), decision (\d+)")
# Without end: what a defect does now and then happens in time.
PIPES = "sh -c 'while :; do for i in 1 2 3 4; do (echo $i | cat | cat > /dev/null) & done; wait; done'"
ALARMS = "/probes/hogs 60 " + " ".join(f"alarm:1:{core}" for core in range(CORES))
EVERYWHERE = "/probes/hogs 60 other:8"
CROWD = "/probes/hogs 60 other:3:0:then-all"
SHARED = "/probes/hogs 60 other:1:1 fifo:1:1"
PINNED = "/probes/hogs 60 other:3:0"
GLOBAL = "sched.queues=global"


@dataclass(frozen=True)
class Defect:
    """What makes it show itself, and the invariant that it violates."""

    load: str
    invariant: str
    options: str = ""
    before: str = ""  # runs already when the defect comes


DEFECTS = {
    "double-enqueue": Defect(PIPES, "one place"),
    "kept-in-queue": Defect(EVERYWHERE, "one queue"),
    "uncounted-removal": Defect(PIPES, "one queue"),
    "preempted-and-forgotten": Defect(EVERYWHERE, "one place"),
    "idle-with-work": Defect(f"{EVERYWHERE} & {PIPES}", "idle with work"),
    "global-entry-lost": Defect(EVERYWHERE, "one queue", GLOBAL),
    "global-turn-endless": Defect(EVERYWHERE, "starvation", f"{GLOBAL} sched.patience=200"),
    "global-cores-left-out": Defect(EVERYWHERE, "idle beside waiting", GLOBAL),
    "numbers-not-published": Defect(EVERYWHERE, "numbers"),
    "urgency-not-published": Defect("/probes/hogs 60 other:4 rr:2", "numbers"),
    "weight-kept": Defect(PIPES, "numbers"),
    "time-of-turns-lost": Defect(PIPES, "time"),
    "time-between-turns-lost": Defect(PIPES, "time"),
    "idle-time-lost": Defect(PIPES, "time"),
    "mask-not-taken": Defect(f"{CROWD} other:3:1", "affinity"),
    "mask-ignored-by-placement": Defect(f"taskset -c 1 {PIPES}", "affinity"),
    "mask-ignored-by-pull": Defect(PINNED, "affinity"),
    "mask-ignored-by-push": Defect(PINNED, "affinity", "sched.migration=push"),
    "mask-ignored-by-real-time": Defect("/probes/hogs 60 rr:3:0", "affinity"),
    "groups-ignored-by-pull": Defect(EVERYWHERE, "affinity", "sched.groups=affinity-mask"),
    "group-imbalance": Defect(CROWD, "idle beside waiting"),
    "group-construction": Defect(CROWD, "idle beside waiting"),
    "overload-on-wake-up": Defect(CROWD, "idle beside waiting"),
    "missing-domains": Defect(CROWD, "idle beside waiting"),
    "real-time-not-balanced": Defect("/probes/hogs 60 rr:3:0:then-all", "idle beside waiting"),
    "futex-wake-lost": Defect("/tests/futexstress", "lost wake-up"),
    "queue-wake-lost": Defect(PIPES, "lost wake-up"),
    "look-forgotten": Defect(PIPES, "lost wake-up"),
    "left-with-requests": Defect(PIPES, "lost wake-up", "sched.wakes=waker"),
    "request-message-lost": Defect(PIPES, "lost message"),
    "arrival-message-lost": Defect(PIPES, "lost arrival"),
    "kick-missing": Defect(PIPES, "unannounced message", before=ALARMS),  # which find the messages all the same
    "tick-not-armed": Defect(EVERYWHERE, "timer"),
    "timers-forgotten-asleep": Defect("sleep 1", "timer"),
    "virtual-time-of-migrated": Defect("/probes/hogs 60 other:16:0:then-all", "starvation",
                                       "sched.migration=both sched.patience=200"),
    "real-time-throttled-forever": Defect(SHARED, "real-time budget"),
    "real-time-without-budget": Defect(f"{SHARED} alarm:1:1", "real-time budget"),
    "reservation-unlimited": Defect("/probes/hogs 60 deadline:1", "reservation"),
}
# One of each kind.
SAMPLE = ("double-enqueue", "global-entry-lost", "time-of-turns-lost", "mask-ignored-by-pull", "missing-domains",
          "arrival-message-lost", "real-time-without-budget")


class Planted(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        build.build(build.CHECKED_KERNEL)

    def check(self, name: str) -> None:
        """Boots with the defect, and waits until the kernel says what is wrong, or in vain."""
        defect = DEFECTS[name]
        with guest.corral(CORES, kernel=paths.CHECKED_KERNEL_ELF, options=f"quiet provoke {defect.options}",
                          invariants_hold=False) as machine:
            machine.prompt()
            self.assertEqual(VIOLATION.findall(machine.text), [])
            if defect.before:
                machine.run(f"{defect.before} &")
            machine.send(f"echo plant {name} > /proc/provoke; {defect.load}\n")
            deadline = time.monotonic() + PATIENCE_SECONDS
            found: list[tuple[str, ...]] = []
            while not found and machine.alive() and time.monotonic() < deadline:
                machine.run_for(0.2)
                found = [each for each in VIOLATION.findall(machine.text) if each[0] == defect.invariant]
            self.assertTrue(found, machine.said())
            self.assertLess(int(found[0][1]), CORES)

    def test_a_sample(self) -> None:
        for name in SAMPLE:
            with self.subTest(defect=name):
                self.check(name)

    @exhaustive
    def test_every_one(self) -> None:
        for name in DEFECTS:
            with self.subTest(defect=name):
                self.check(name)

    def test_the_table_is_complete(self) -> None:
        with guest.corral(1, kernel=paths.CHECKED_KERNEL_ELF, options="quiet provoke") as machine:
            machine.prompt()
            listed = re.findall(r"^plant (\S+)", machine.run("cat /proc/provoke").output, re.MULTILINE)
            self.assertEqual([name for name in listed if name != "none"], list(DEFECTS))
            self.assertEqual(machine.run("echo plant nothing-known > /proc/provoke").status, 1)


class Sound(unittest.TestCase):
    """A kernel without defects."""

    def test_it_says_that_all_is_well(self) -> None:
        with guest.corral(CORES) as machine:
            machine.prompt()
            machine.run("for r in 1 2 3 4; do for i in 1 2 3 4; do (echo $i | cat | cat) & done; wait; done > /tmp/numbers")
            machine.run("/probes/hogs 2 other:3:0:then-all rr:2 other:3")
            machine.run("/probes/hogs 3 deadline:2")  # whoever rests waits for a moment beside idle cores
            self.assertIn("\ninvariants violated 0\n", machine.run("cat /proc/sched").output)
            self.assertIn("\nviolations 0\n", machine.run("cat /proc/sched-dump").output)

    def test_with_no_migration_time_beside_idle_cores_is_counted_and_no_violation(self) -> None:
        with guest.corral(CORES, options="sched.migration=none") as machine:
            machine.prompt()
            machine.run("/probes/hogs 3 other:3:0:then-all")
            text = machine.run("cat /proc/sched").output
            self.assertIn("\ninvariants violated 0\n", text)
            waited = [int(ns) for ns in re.findall(r"^waited on core \d+ beside idle ones: (\d+)$", text, re.MULTILINE)]
            self.assertEqual(len(waited), CORES)
            self.assertGreater(max(waited), 0)


if __name__ == "__main__":
    unittest.main()
