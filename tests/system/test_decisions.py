"""What a placement decision costs, in instructions: a machine that counts them as time repeats to the last one."""

import re
import unittest

from lab import guest, paths
from lab.machine import Boot, Machine

MOST = 300
MOST_OF_A_BLEND = 600


class Decisions(unittest.TestCase):
    def test_on_eight_cores_they_are_cheap(self) -> None:
        boot = Boot(paths.KERNEL_ELF, paths.INITRAMFS, "quiet panic=off test=scheduling_placement_decisions")
        with guest.Guest(Machine(cores=1, count_instructions=True), boot) as machine:
            self.assertEqual(machine.ended().status, 0)
            said = re.findall(r"^placement: (\S+) (\d+)\r?$", machine.debug_console(), re.MULTILINE)
        costs = {policy: int(cycles) for policy, cycles in said}
        self.assertIn("least-loaded", costs)
        for policy, cost in costs.items():
            with self.subTest(policy=policy):
                self.assertGreater(cost, 20, "a cycle is another time than an instruction")
                self.assertLessEqual(cost, MOST_OF_A_BLEND if policy == "blend" else MOST)
