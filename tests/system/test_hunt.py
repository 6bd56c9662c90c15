"""`corral hunt` finds the interleavings in which a program with a race fails, and what it found fails again."""

import re
import shlex
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from lab import build, hunt, paths
from lab.testing import with_kernel

# Two loops add to a file without asking each other: whether one of the additions is lost is a matter of who comes first.
RACE = ("sh", "-c", "echo 0 > /n; add() { for i in 1 2 3 4 5 6; do read n < /n; echo $((n + 1)) > /n; done; }; "
                    "add & add & wait; read n < /n; test $n = 12")
# A defect that shows at each hundredth chance: where and in whose turn that is is a matter of who comes first.
DEFECT = ("sh", "-c", "echo plant time-of-turns-lost > /proc/provoke; for i in 1 2 3 4; do (echo $i | cat) & done; wait; sleep 0.1")
HARMLESS = ("sh", "-c", "echo fine | cat")


def listen_to_ctrl_c() -> None:
    """Whoever is started in the background of a script inherits that it is ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def corral(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(paths.ROOT / "corral"), *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False)


def processes() -> list[str]:
    """Emulators: the number of who started it, and its own."""
    told = subprocess.run(["ps", "-eo", "ppid=,pid=,comm="], capture_output=True, text=True, check=True).stdout
    return [line.strip() for line in told.splitlines() if "qemu" in line]


class Hunting(unittest.TestCase):
    def test_a_race_is_found_and_repeats(self) -> None:
        found = corral("hunt", "--seeds", "1-12", "--cores", "2", "--first", "--", *RACE)
        self.assertEqual(found.returncode, 1, found.stdout + found.stderr)
        self.assertIn("status 1", found.stdout)
        command = next(line.partition("Again: ")[2] for line in found.stdout.splitlines() if "Again: " in line)
        again = subprocess.run([str(paths.ROOT / "corral"), *shlex.split(command)[1:]], stdin=subprocess.DEVNULL,
                               capture_output=True, text=True, check=False)
        self.assertEqual(again.returncode, 1, again.stdout + again.stderr)

    def test_ctrl_c_ends_it_at_once_and_what_was_found_is_told(self) -> None:
        """Programs that never end: whoever interrupts does not wait until their patience is over."""
        with tempfile.TemporaryDirectory(prefix="corral-hunt-") as folder:
            file = Path(folder) / "found.json"
            child = subprocess.Popen([str(paths.ROOT / "corral"), "hunt", "--seeds", "1-3", "--cores", "1", "--jobs", "2", "--json", str(file),
                                      "--", "sh", "-c", "while :; do :; done"],
                                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                     preexec_fn=listen_to_ctrl_c)
            while not [line for line in processes() if line.startswith(f"{child.pid} ")]:
                self.assertIsNone(child.poll(), "it has ended before")
                time.sleep(0.1)
            below = [line for line in processes() if line.startswith(f"{child.pid} ")]
            child.send_signal(signal.SIGINT)
            said, _ = child.communicate(timeout=60)
            self.assertEqual(child.returncode, 130, said)
            self.assertIn("0 passed, 0 failed", said)
            self.assertNotIn("Traceback", said)
            self.assertEqual(file.read_text(encoding="utf-8"), "[]\n")
            self.assertFalse(set(below) & set(processes()), "emulators that nobody waits for")

    def test_what_has_no_race_passes(self) -> None:
        found = corral("hunt", "--seeds", "1..3", "--cores", "2", "--", *HARMLESS)
        self.assertEqual(found.returncode, 0, found.stdout + found.stderr)
        self.assertIn("3 passed, 0 failed", found.stdout)

    def test_the_same_seed_says_the_same(self) -> None:
        asked = hunt.Hunt(2, ("sh", "-c", "cat /proc/interrupts /proc/stat"))
        first, second, other = (hunt.once(asked, seed) for seed in (5, 5, 6))
        self.assertEqual((first.failure, first.output), ("", second.output))
        self.assertNotEqual(first.output, other.output)

    def test_a_program_that_does_not_end_has_failed(self) -> None:
        catch = hunt.once(hunt.Hunt(2, ("sh", "-c", "while :; do :; done"), patience=6.0), 1)
        self.assertIn("did not end", catch.failure)


class Violations(unittest.TestCase):
    """With the kernel that has defects (docs/checker.md)."""

    @classmethod
    def setUpClass(cls) -> None:
        build.build(build.CHECKED_KERNEL)

    def corral(self, *words: str) -> subprocess.CompletedProcess[str]:
        return with_kernel.corral(paths.CHECKED_KERNEL_ELF, *words)

    def test_a_violated_invariant_is_found_told_and_repeats(self) -> None:
        found = self.corral("hunt", "--seeds", "1-8", "--cores", "2", "--append", "provoke", "--first", "--", *DEFECT)
        self.assertEqual(found.returncode, 1, found.stdout + found.stderr)
        told = re.search(r"^seed (\d+): sched: invariant violated: time, core [01] thread \d+ at [a-z ]+, decision ([1-9]\d*) ",
                         found.stdout, re.MULTILINE)
        assert told, found.stdout + found.stderr
        command = next(line.partition("compared: ")[2] for line in found.stdout.splitlines() if "compared: " in line)
        dump = (paths.ROOT / command.split()[-1]).read_text(encoding="utf-8")
        self.assertRegex(dump, rf'"violation at \d+ core [01] thread \d+ during [a-z ]+ decision {told[2]}: time"')
        again = self.corral(*shlex.split(command)[1:])
        self.assertEqual(again.returncode, 0, again.stdout + again.stderr)
        self.assertIn("the same again", again.stderr)

    def test_a_panic_is_found_without_waiting(self) -> None:
        found = self.corral("hunt", "--seeds", "9", "--cores", "2", "--append", "provoke", "--patience", "500", "--",
                            "sh", "-c", "echo panic > /proc/provoke")
        self.assertEqual(found.returncode, 1, found.stdout + found.stderr)
        self.assertIn("seed 9: corral: panic provoked", found.stdout)
        self.assertIn("--replay", found.stdout)


class Words(unittest.TestCase):
    def test_what_the_kernel_says_of_itself_comes_first(self) -> None:
        self.assertEqual(hunt.telling("a\ncorral: panic: no stack\nb"), "corral: panic: no stack")
        self.assertEqual(hunt.telling("[ 1.0] core 2: invariant idle-while-waiting: thread 7\n"),
                         "[ 1.0] core 2: invariant idle-while-waiting: thread 7")
        self.assertEqual(hunt.telling("all is well"), "")

    def test_wrong_use(self) -> None:
        self.assertEqual(corral("hunt", "--seeds", "1-3").returncode, 2)
        self.assertEqual(corral("hunt", "--", "ls").returncode, 2)
        self.assertEqual(corral("hunt", "--seeds", "zero", "--", "ls").returncode, 2)
