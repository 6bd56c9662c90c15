"""What a limit on processes is for: a fork bomb stays in its bounds, and the shell answers meanwhile."""

import unittest

from lab.testing.shared_guest import SharedGuest

LIMIT = 60
# Of the guest's clock. What is promised is 5 s; a guest that starves its other programs would need minutes, and a busy
# host makes even the quickest one slow.
SECONDS = 60.0


class ForkBomb(SharedGuest, unittest.TestCase):
    CORES = 4

    def test_it_is_contained(self) -> None:
        self.machine.run(f"sh -c 'ulimit -u {LIMIT}; bomb() {{ bomb | bomb & }}; bomb' 2>/dev/null &")
        for _ in range(3):
            self.machine.run_for(0.5)
            answer = self.machine.run("cut -d' ' -f1 /proc/uptime; sh -c 'cat /proc/loadavg'; cut -d' ' -f1 /proc/uptime")
            before, load, after = answer.output.splitlines()
            self.assertLess(float(after) - float(before), SECONDS)
            threads = int(load.split()[3].split("/")[1])
            self.assertLessEqual(threads, LIMIT + 10)  # what is not under the limit comes on top
        self.machine.run("kill -9 -1")
        left = self.machine.run("sleep 1; echo /proc/[0-9]*").output.split()
        self.assertLessEqual(len(left), 10)


if __name__ == "__main__":
    unittest.main()
