"""What is counted of threads (docs/counters.md): how much memory they use, who wants to know, and that nothing breaks by it."""

import re
import tempfile
import unittest
from pathlib import Path

from lab import cache_model, guest
from lab.bench import systems

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


class Model(unittest.TestCase):
    """The emulator's cache model counts: who misses it, and in which mode."""

    # 4 MiB are in no cache; 16 KiB, a line of each page, are four lines.
    BIG, SMALL = f"{BIG_KIB} 900 1024 bound", f"{SMALL_KIB} 1 200 bound"

    @classmethod
    def setUpClass(cls) -> None:
        folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        plugin = cache_model.plugin("pi", Path(folder) / "report", seeded=False)
        cls.machine = cls.enterClassContext(guest.corral(4, options="quiet", plugin=plugin))
        cls.machine.prompt()
        cls.report = Path(folder) / "report"

    def run_there(self, command: str) -> str:
        answer = self.machine.run(command)
        self.assertEqual(answer.status, 0, answer.output[-2000:])
        return answer.output.replace("\r", "")

    def test_it_is_taken_when_a_policy_wants_to_know(self) -> None:
        for placement, expected in (("cache-aware", "on"), ("resource-aware", "on"), ("least-loaded", "off")):
            said = self.run_there(f"corral-sched placement {placement} && cat /proc/sched")
            self.assertEqual(counting(said), expected, placement)
            self.assertRegex(said, r"(?m)^counters model:")

    def test_programs_are_told_apart_and_placed_by_it(self) -> None:
        said = self.run_there(f"corral-sched placement cache-aware && a=; for i in 1 2 3; do /probes/footprint {self.BIG} & a=\"$a $!\"; "
                              f"/probes/footprint {self.SMALL} & a=\"$a $!\"; done; for p in $a; do wait $p || exit 1; done; cat /proc/sched; "
                              "corral-sched placement least-loaded")
        self.assertEqual(len(re.findall(r"(?m)^footprint: 4096 KiB", said)), 3)
        self.assertRegex(said, r"(?m)^resources of core \d+: pages \d+ memory-bound \d+$")
        self.assertRegex(said, r"(?m)^placement violations 0$")

    def test_what_a_thread_did_is_shown_for_each_mode(self) -> None:
        said = self.run_there("corral-sched placement cache-aware && for i in $(seq 40); do echo $(cat /proc/self/stat) > /dev/null; done; "
                              "cat /proc/$$/sched; corral-sched placement least-loaded")
        for event in cache_model.EVENTS:
            with self.subTest(event=event):
                user, kernel, both = (int(re.search(rf"(?m)^counters\.{mode}{event} +: +(\d+)$", said)[1])  # type: ignore[index]
                                      for mode in ("user.", "kernel.", ""))
                self.assertEqual(user + kernel, both)
                self.assertTrue(both > 0 or event in ("l2_refills", "snoops"))

    def test_the_report_has_threads_by_their_names(self) -> None:
        self.run_there(f"corral-sched placement cache-aware && /probes/footprint {self.BIG} && corral-region dump && corral-sched placement least-loaded")
        use = cache_model.read(self.report)[-1].thread("footprint")
        self.assertGreater(use["user"]["refills"], 100_000)
        self.assertGreater(use["user"]["cycles"], use["user"]["instructions"] * 5)
        self.assertGreater(use["kernel"]["instructions"], 0)


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

    def test_without_a_model_its_source_says_so(self) -> None:
        said = self.said_by("counters=model", "cat /proc/sched; dmesg")
        self.assertRegex(said, "(?m)^counters none: pmu model pages$")
        self.assertIn("counters of model: not available, no cache model answers", said)
        self.assertIn("counters=model: no cache model answers; nothing is counted", said)

    def test_counters_that_a_processor_only_announces_are_not_used(self) -> None:
        """Bochs has CPUID's leaf of a processor that counts, and faults when a counter is read."""
        job = systems.Job("cat /proc/sched", {}, "counters=pmu sched.placement=cache-aware")
        said = systems.run("corral", "bochs", 2, job)
        self.assertIn("counters of pmu: not available, performance monitoring is announced (CPUID leaf 0xA), and its registers fault", said)
        self.assertEqual(counting(said), "off")

    def test_nobody_counts_when_that_is_switched_off(self) -> None:
        said = self.said_by("counters=none sched.placement=cache-aware", "cat /proc/sched; cat /proc/self/sched")
        self.assertEqual(counting(said), "off")
        self.assertRegex(said, "(?m)^counters none:")
        self.assertNotIn("resources.", said)


if __name__ == "__main__":
    unittest.main()
