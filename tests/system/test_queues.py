"""One ready queue for all cores (`sched.queues=global`): programs run as with a queue for each, and both change under load."""

import os
import re
import unittest

from lab import guest, hunt
from lab.testing.arrangement import ArrangedCores, ArrangedGuest
from lab.testing.choosing import choose

OPTION = "sched.queues=global"
PIPES = "for i in 1 2 3 4; do (echo $i | cat | cat) & done; wait"
DRAWING = "mandelbrot 8 --mode array --size 20x10 --iterations 200 > /dev/null"
PROGRAMS = f"{PIPES}; {DRAWING} && /tests/forktest > /dev/null && /tests/futexqueues > /dev/null && /tests/futexstress > /dev/null"
# What they ask of the scheduler: masks, classes, priorities that are lent, signals to whoever waits.
ASKING = ("affinitytest", "deadlinetest", "pitest", "signalthreads", "waittest")
LOCKS = re.compile(r"^lock of level (\d+): taken (\d+) found taken (\d+) waited (\d+) cycles$", re.MULTILINE)
SHARE = re.compile(r"^share (-?\d+) (\d+)$", re.MULTILINE)


class Global(ArrangedGuest, unittest.TestCase):
    OPTION = OPTION
    RESET = choose("groups none", "queues global")

    def test_programs_run(self) -> None:
        before = dict((level, int(taken)) for level, taken, _, _ in LOCKS.findall(self.said("cat /proc/sched")))
        self.said(PROGRAMS)
        text = self.said("cat /proc/sched")
        self.assertRegex(text, r"(?m)^queues global: per-core global$")
        after = dict((level, int(taken)) for level, taken, _, _ in LOCKS.findall(text))
        self.assertGreater(after["20"], before.get("20", 0) + 100, "threads of nice 0 go through it")

    def test_what_is_asked_of_waiting_threads_is_done(self) -> None:
        for program in ASKING:
            with self.subTest(program=program):
                self.said(f"/tests/{program}")

    def test_every_level_gets_its_part(self) -> None:
        """More loops than cores; the modest ones go on all the same, and get less."""
        shares = [(int(nice), int(time)) for nice, time in SHARE.findall(self.said("/probes/shares 3 0 0 0 0 0 19 19 -10"))]
        self.assertEqual([nice for nice, _ in shares], [0, 0, 0, 0, 0, 19, 19, -10])
        of = {nice: [time for other, time in shares if other == nice] for nice in (-10, 0, 19)}
        self.assertGreater(min(of[19]), 0)
        self.assertGreater(sum(of[0]) / 5, sum(of[19]) / 2)
        self.assertGreater(of[-10][0], sum(of[0]) / 5)

    def test_threads_bound_to_a_core_share_it_with_others(self) -> None:
        self.said("/probes/crowd spread && /probes/crowd bound 3")

    def test_it_is_served_by_cores_whose_own_threads_never_stop(self) -> None:
        """A loop is bound to each core; the shell, which may go anywhere, goes on."""
        self.said("/probes/hogs 4 other:1:0 other:1:1 other:1:2 other:1:3 & sleep 1; ls / > /dev/null && ls /tests > /dev/null; "
                  "jobs | grep -q Running && wait")

    def test_who_is_taken_out_for_a_signal_is_somewhere(self) -> None:
        """Timers send signals to threads that wait there, in the same interrupt in which the checker looks at all threads."""
        self.said("/probes/hogs 8 signalled:12")

    def test_groups_keep_their_cores(self) -> None:
        self.said("corral-sched groups affinity-mask:ratio=1:3")
        self.said(PROGRAMS)

    def test_arrangements_change_under_load(self) -> None:
        self.said(f"({PROGRAMS}; {PROGRAMS}) & for i in $(seq 200); do {choose('queues per-core', 'queues global')} || exit 1; "
                  "done; wait $!")
        self.assertRegex(self.said("cat /proc/sched"), r"(?m)^global queue: waiting \d+ rounds")

    def test_an_unknown_one_is_refused(self) -> None:
        answer = self.machine.run("corral-sched queues both")
        self.assertEqual(answer.status, 1)
        self.assertIn("corral-sched: queues both: refused: there is no both; there are per-core and global", answer.output)
        self.assertRegex(self.said("cat /proc/sched"), r"(?m)^queues global:")


class Guests(unittest.TestCase):
    """Three loops bound to core 0, which takes the free one in when a command has the other core; the migration policy moves nobody."""

    LOAD = "/probes/hogs 6 other:3:0 other:1 & for i in $(seq 80); do ls /tests > /dev/null; sleep 0.04; done; wait"
    MOST_NS = 1_000_000_000

    def test_one_that_waits_goes_to_a_core_that_has_nothing_to_run(self) -> None:
        with guest.corral(2, options=f"quiet {OPTION} sched.migration=none") as machine:
            machine.prompt()
            self.assertEqual(machine.run(self.LOAD).status, 0)
            text = machine.run("cat /proc/sched").output
        waited = [int(ns) for ns in re.findall(r"(?m)^waited on core \d+ beside idle ones: (\d+)\r?$", text)]
        self.assertEqual(len(waited), 2)
        self.assertLess(sum(waited), self.MOST_NS)


class Regrouped(unittest.TestCase):
    """The groups change between a core's look at its own and the moment at which it takes somebody from the queue."""

    CHANGES = ("groups affinity-mask:ratio=3:1", "groups affinity-mask:ratio=1:3")
    SEEDS = range(1, 9)

    def test_who_has_a_new_mask_already_is_not_run_by_a_core_of_the_old_groups(self) -> None:
        change = "; ".join(f"echo {each} > /proc/sched" for each in self.CHANGES)
        script = f"/probes/wakepairs 1 4 4 > /dev/null & sleep 0.01; while kill -0 $!; do {change}; done 2> /dev/null; wait"
        asked = hunt.Hunt(4, ("sh", "-c", script), f"quiet {OPTION}")
        for catch in hunt.explore(asked, self.SEEDS, os.cpu_count() or 1):
            self.assertEqual(catch.failure, "", hunt.report(asked, [catch]))


class Cores(ArrangedCores, unittest.TestCase):
    OPTION = OPTION
    PROGRAMS = PROGRAMS


if __name__ == "__main__":
    unittest.main()
