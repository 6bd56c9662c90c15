"""A core that its host stops for seconds: what others wait for from it is late, and nothing counts as lost."""

import unittest

from lab import guest, soak
from lab.gdbstub import GdbStub

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


if __name__ == "__main__":
    unittest.main()
