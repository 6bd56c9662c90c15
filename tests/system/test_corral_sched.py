"""What a person touches of the scheduling laboratory: /proc/sched, /proc/sched-policies and the program `corral-sched`."""

import re
import subprocess
import unittest

from lab import guest, paths, soak
from lab.testing.choosing import choose
from lab.testing.shared_guest import SharedGuest

CHOSEN = re.compile(r"^(algorithm|placement|migration|groups|queues|wakes) ([\w-]+):(.*)$", re.MULTILINE)
LISTED = re.compile(r"^(\w+) ([\w-]+): (.+)$", re.MULTILINE)
OF_CORES = re.compile(r"^ +(\d+) +([\w-]+) ", re.MULTILINE)
PIPES = "for i in 1 2 3 4; do (for j in 1 2 3 4 5; do echo $i | cat | cat; done) & done; wait"
WRITE_AND_READ = "exec 3<>/proc/sched; echo {} >&3 2> /dev/null; echo $?; cat <&3; exec 3>&-"


class Commands(SharedGuest, unittest.TestCase):
    @classmethod
    def boot(cls) -> guest.Guest:
        return guest.corral(cls.CORES, options="quiet")

    def tearDown(self) -> None:
        self.said(choose("algorithm cfs", "placement least-loaded", "migration pull", "groups none", "queues per-core", "wakes home"))

    def timelines(self) -> list[str]:
        """What /proc/sched's table says of each core."""
        table = self.said("corral-sched").partition("\ncore ")[2]
        return [name for _, name in OF_CORES.findall(table)]

    def wait_for_timelines(self, *names: str) -> None:
        """A core takes another timeline when it looks: soon, but its host may keep it from that."""
        for _ in range(600):
            if self.timelines() == list(names):
                return
            self.said("sleep 0.1")
        self.assertEqual(self.timelines(), list(names))

    def test_every_policy_is_listed_with_what_it_is(self) -> None:
        text = self.said("cat /proc/sched-policies")
        listed = {(kind, name) for kind, name, _ in LISTED.findall(text)}
        chosen = CHOSEN.findall(self.said("cat /proc/sched"))
        self.assertEqual(len(chosen), 6)
        self.assertEqual(listed, {(kind, name) for kind, _, names in chosen for name in names.split()})
        shown = self.said("corral-sched list")
        for line in text.splitlines():
            self.assertIn(line.split(": ")[-1], shown)
        marked = re.findall(r"^  \* ([\w-]+) ", shown, re.MULTILINE)
        self.assertEqual(marked, [name for _, name, _ in chosen])

    def test_one_kind_or_policy_is_listed(self) -> None:
        self.assertNotIn("least-loaded", self.said("corral-sched list algorithm"))
        shown = self.said("corral-sched list algorithm mlfq")
        self.assertIn("levels=4, 1 to 16: ", shown)
        self.assertNotIn("cfs", shown)
        self.assertIn("KIND is one of: algorithm, placement, migration, groups, queues, wakes", self.said("corral-sched list colour", 2))

    def test_everything_is_chosen(self) -> None:
        for words in ("algorithm mlfq:levels=3", "placement blend:cold=9", "migration push", "groups affinity-mask:ratio=1:3",
                      "queues global", "wakes waker"):
            self.assertEqual(self.said(f"corral-sched {words}"), "")
        now = {kind: name for kind, name, _ in CHOSEN.findall(self.said("corral-sched"))}
        self.assertEqual(now, {"algorithm": "mlfq", "placement": "blend", "migration": "push", "groups": "affinity-mask",
                               "queues": "global", "wakes": "waker"})
        self.assertIn("mlfq.levels 3 :", self.said("corral-sched"))

    def test_cores_have_timelines_of_their_own(self) -> None:
        self.said("corral-sched algorithm rr:quantum=50 cores 1,3")
        self.wait_for_timelines("cfs", "rr", "cfs", "rr")
        self.assertIn("timeline of core 3: rr:quantum=50\n", self.said("corral-sched"))
        self.said("corral-sched algorithm mlfq cores 0-1")
        self.wait_for_timelines("mlfq", "mlfq", "cfs", "rr")
        self.said(PIPES)
        self.said("corral-sched algorithm eevdf")
        self.wait_for_timelines(*["eevdf"] * 4)
        self.assertNotIn("timeline of core", self.said("corral-sched"))

    def test_cores_change_one_by_one_under_load(self) -> None:
        names = next(names for kind, _, names in CHOSEN.findall(self.said("cat /proc/sched")) if kind == "algorithm")
        preemptive = " ".join(name for name in names.split() if name != "fifo")
        self.said(f"({PIPES}; {PIPES}) > /dev/null & for round in 1 2 3; do for a in {preemptive}; do "
                  f"for c in 0 1 2 3; do {choose('algorithm $a cores $c')} || exit 1; done; done; done; wait $!")
        self.assertEqual(soak.violations(self.said("cat /proc/sched")), 0)

    def test_refusals_say_why_and_change_nothing(self) -> None:
        before = CHOSEN.findall(self.said("cat /proc/sched"))
        for words, reason in (("algorithm none", r"there is no none; there are cfs, .*stride"),
                              ("placement cfs", r"there is no cfs; there are .*least-loaded"),
                              ("migration pull:heat=1", r"pull has no tunable heat; it has .*hot"),
                              ("algorithm mlfq:levels=99", r"levels=99: write levels=NUMBER, 1 to 16"),
                              ("groups affinity-mask:ratio=9:1", r"ratio"),
                              ("queues both", r"there is no both; there are per-core and global"),
                              ("wakes nobody", r"there is no nobody; there are home and waker"),
                              ("algorithm rr cores 2-9", r"2-9 names cores that there are not; there are 0-3"),
                              ("algorithm rr cores 3-1", r"3-1: write cores as in 0-3,5"),
                              ("placement random cores 1", r"the placement is that of all cores"),
                              ("colour red", r"colour red: write algorithm, placement, migration, groups, queues or wakes")):
            with self.subTest(words=words):
                said = self.said(f"corral-sched {words}", 1)
                self.assertRegex(said, rf"corral-sched: {words}: refused: .*{reason}")
                self.assertIn("corral-sched list", said)
                self.assertEqual(CHOSEN.findall(self.said("cat /proc/sched")), before)

    def test_the_reason_is_read_from_the_same_open_file_once(self) -> None:
        said = self.said(WRITE_AND_READ.format("algorithm none"))
        self.assertRegex(said, r"^1\nthere is no none; there are cfs,[^\n]*\n$")
        self.assertRegex(self.said(WRITE_AND_READ.format("algorithm rr")), r"^0\nalgorithm rr: cfs ")
        twice = "exec 3<>/proc/sched; echo blue >&3 2> /dev/null; cat <&3; exec 3>&-; head -n 1 /proc/sched"
        self.assertRegex(self.said(twice), r"^blue: write [^\n]*\nalgorithm rr: ")

    def test_who_may_not_is_told_so(self) -> None:
        self.assertIn("Only root chooses policies", self.said("su -s /bin/sh nobody -c 'corral-sched algorithm rr'", 3))
        self.assertIn("core ", self.said("su -s /bin/sh nobody -c corral-sched"))

    def test_wrong_use(self) -> None:
        for words in ("algorithm", "algorithm rr cores", "algorithm rr cores 1 2"):
            self.assertIn("usage: corral-sched", self.said(f"corral-sched {words}", 2))
        self.assertIn("KIND is one of: algorithm", self.said("corral-sched --help"))


class ManyCores(unittest.TestCase):
    CORES = 160  # from about 130 on it is more than 32 KiB

    def test_nothing_is_cut(self) -> None:
        with guest.corral(self.CORES, options="quiet", program=["sh", "-c", "corral-sched && echo whole"], patience=900.0) as machine:
            self.assertEqual(machine.ended().status, 0, machine.said())
            text = machine.text.replace("\r", "")
        for line in (r"migrations of core {}: pushed .*", r"waited on core {} beside idle ones: \d+"):
            for core in range(self.CORES):
                self.assertRegex(text, rf"(?m)^{line.format(core)}$")
        self.assertEqual(len(OF_CORES.findall(text)), self.CORES)
        self.assertRegex(text, rf"\nwaited on core {self.CORES - 1} [^\n]*\nwhole\n")


class OnLinux(unittest.TestCase):
    def test_another_kernel_is_told_from_corral(self) -> None:
        done = subprocess.run([str(paths.PROGRAMS / "corral-sched"), "list"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("This kernel is not Corral.", done.stderr)


if __name__ == "__main__":
    unittest.main()
