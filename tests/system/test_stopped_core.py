"""A core that its host stops for seconds: what others wait for from it is late, and nothing counts as lost; and what it has not
carried out yet is not changed again."""

import re
import unittest

from lab import guest, soak
from lab.gdbstub import GdbStub
from lab.testing.choosing import choose

CORES = 4
SECONDS = 6  # the checker takes three to believe what it sees
# Threads that wake each other on all cores, all the time, and somebody who computes on each.
LOAD = "for i in 1 2 3 4 5 6; do (while :; do echo $i; done | cat | cat > /dev/null) & done; sleep 1"


class StoppedCore(unittest.TestCase):
    def test_nothing_counts_as_lost(self) -> None:
        with guest.corral(CORES, options="quiet", gdb=True) as machine:
            machine.prompt()
            self.assertEqual(machine.run(LOAD).status, 0)
            for core in (1, 3):
                stub = GdbStub(machine.gdb_socket, running=True)
                stub.run_without(core, CORES, SECONDS)
                stub.detach()
                self.assertEqual(machine.run("sleep 1").status, 0)
            self.assertEqual(soak.violations(machine.run("cat /proc/sched").output), 0)
            self.assertNotIn("lost", machine.text)


class Changes(unittest.TestCase):
    """Core 1 stands still; the shell stays on core 3, which is the only one for others than real-time threads when there are groups."""

    STILL = 1
    SHELL_MASK = "8"
    GROUPS = "groups affinity-mask:ratio=3:1"

    def state(self, kinds: str = "algorithm|groups|queues") -> list[str]:
        text = self.machine.run("corral-sched").output
        timelines = re.findall(r"^ +\d+ +([\w-]+) ", text.partition("\ncore ")[2], re.MULTILINE)
        chosen = re.findall(rf"^(?:{kinds}) [\w-]+(?=:)", text, re.MULTILINE)
        return chosen + re.findall("^groups [rn].* cores .*", text, re.MULTILINE) + timelines

    def accepted(self, choice: str) -> None:
        answer = self.machine.run(f"corral-sched {choice}")
        self.assertEqual((answer.status, answer.output), (0, ""))

    def refused(self, choice: str, what: str) -> None:
        before = self.state()
        answer = self.machine.run(f"corral-sched {choice}")
        self.assertEqual(answer.status, 1)
        self.assertEqual(answer.output, f"corral-sched: {choice}: refused: the last change of the {what} has not reached core {self.STILL} "
                                        "yet; try again\n  Nothing has changed.\n")
        answer = self.machine.run(f"echo {choice} > /proc/sched")
        self.assertNotEqual(answer.status, 0)
        self.assertRegex(answer.output, "(?i)busy")
        self.assertEqual(self.state(), before)

    def test_a_change_that_meets_one_under_way_is_refused(self) -> None:
        with guest.corral(CORES, options="quiet", gdb=True) as self.machine:
            self.machine.prompt()
            self.assertEqual(self.machine.run(f"taskset -p {self.SHELL_MASK} $$").status, 0)
            stub = GdbStub(self.machine.gdb_socket, running=True)
            stub.go_on_without(self.STILL, CORES)
            self.accepted("algorithm rr")
            self.assertEqual(self.state("algorithm"), ["algorithm rr", "rr", "cfs", "rr", "rr"])
            self.refused("algorithm mlfq", "algorithm")
            self.refused("algorithm mlfq cores 0-1", "algorithm")
            self.accepted("algorithm mlfq cores 2")
            self.accepted("queues global")
            self.refused("queues per-core", "queues")
            self.accepted(self.GROUPS)
            self.refused("groups none", "groups")
            self.refused("groups blocked-migration:ratio=1:1", "groups")
            stub.stop()
            stub.detach()
            answer = self.machine.run(choose("algorithm eevdf", "queues per-core", "groups none", "algorithm stride cores 0-3"))
            self.assertEqual(answer.status, 0, answer.output)
            self.assertEqual(self.machine.run(choose("algorithm cfs")).status, 0)
            self.assertEqual(soak.violations(self.machine.run("cat /proc/sched").output), 0)


if __name__ == "__main__":
    unittest.main()
