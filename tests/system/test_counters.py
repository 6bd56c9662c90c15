"""What is counted of threads (docs/counters.md): how much memory they use, who wants to know, and that nothing breaks by it."""

import re
import unittest

from lab import guest

BIG_KIB, SMALL_KIB = 4096, 16
# 1024 pages and what else a program touches; 4 of them, the same, and what two reads of a file touch.
BIG, SMALL = "700 1500", "4 150"
# Programs that change their memory all the time, on all cores.
CHANGING = ("/tests/memcores", "/tests/vmstress", "/tests/forktest", "/tests/largepages", "/tests/forktest", "/tests/execvetest")


def counting(said: str) -> str:
    found = re.search(r"(?m)^counting (\w+)\r?$", said)
    return found[1] if found else ""


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.machine = cls.enterClassContext(guest.corral(4, options="quiet counters=pages"))
        cls.machine.prompt()

    def run_there(self, command: str) -> str:
        answer = self.machine.run(command)
        self.assertEqual(answer.status, 0, answer.output[-2000:])
        return answer.output.replace("\r", "")

    def test_who_walks_over_more_shows_more(self) -> None:
        said = self.run_there(f"/probes/footprint {BIG_KIB} {BIG} && /probes/footprint {SMALL_KIB} {SMALL}")
        self.assertEqual(len(re.findall(r"(?m)^footprint: \d+ KiB pages \d+ memory-bound \d+$", said)), 2)

    def test_programs_that_run_at_once_are_told_apart(self) -> None:
        self.run_there(f"for i in 1 2 3; do /probes/footprint {BIG_KIB} {BIG} & a=\"$a $!\"; /probes/footprint {SMALL_KIB} {SMALL} & "
                       "a=\"$a $!\"; done; for p in $a; do wait $p || exit 1; done")

    def test_memory_that_changes_is_no_matter(self) -> None:
        for program in CHANGING:
            with self.subTest(program=program):
                self.run_there(f"{program} > /dev/null")

    def test_a_core_tells_what_runs_there(self) -> None:
        said = self.run_there(f"/probes/footprint {BIG_KIB} {BIG} > /dev/null && cat /proc/sched")
        self.assertRegex(said, r"(?m)^counters pages:(?: \w+)*$")
        self.assertRegex(said, r"(?m)^resources of core \d+: pages \d+ memory-bound \d+$")
        self.assertEqual(counting(said), "on")


class Wanted(unittest.TestCase):
    """Nobody counts unless somebody wants to know."""

    def said_by(self, options: str, command: str) -> str:
        with guest.corral(2, options=f"quiet {options}") as machine:
            machine.prompt()
            return machine.run(command).output.replace("\r", "")

    def test_a_policy_that_goes_by_it_switches_it_on_and_off(self) -> None:
        with guest.corral(2, options="quiet") as machine:
            machine.prompt()
            for placement, expected in (("least-loaded", "off"), ("cache-aware", "on"), ("resource-aware", "on"), ("random", "off")):
                said = machine.run(f"corral-sched placement {placement} && cat /proc/sched").output
                self.assertEqual(counting(said), expected, placement)
            self.assertEqual(machine.run(f"/probes/footprint {SMALL_KIB} {SMALL}").status, 1, "nobody counts")
            said = machine.run(f"corral-sched placement cache-aware && /probes/footprint {BIG_KIB} {BIG}")
            self.assertEqual(said.status, 0, said.output)

    def test_nobody_counts_when_that_is_switched_off(self) -> None:
        said = self.said_by("counters=none sched.placement=cache-aware", "cat /proc/sched; cat /proc/self/sched")
        self.assertEqual(counting(said), "off")
        self.assertRegex(said, "(?m)^counters none:")
        self.assertNotIn("resources.", said)


if __name__ == "__main__":
    unittest.main()
