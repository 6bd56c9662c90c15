"""`corral hunt` finds the interleavings in which a program with a race fails, and what it found fails again."""

import shlex
import subprocess
import unittest

from lab import hunt, paths

# Two loops add to a file without asking each other: whether one of the additions is lost is a matter of who comes first.
RACE = ("sh", "-c", "echo 0 > /n; add() { for i in 1 2 3 4 5 6; do read n < /n; echo $((n + 1)) > /n; done; }; "
                    "add & add & wait; read n < /n; test $n = 12")
HARMLESS = ("sh", "-c", "echo fine | cat")


def corral(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(paths.ROOT / "corral"), *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False)


class Hunting(unittest.TestCase):
    def test_a_race_is_found_and_repeats(self) -> None:
        found = corral("hunt", "--seeds", "1-12", "--cores", "2", "--first", "--", *RACE)
        self.assertEqual(found.returncode, 1, found.stdout + found.stderr)
        self.assertIn("status 1", found.stdout)
        command = next(line.partition("Again: ")[2] for line in found.stdout.splitlines() if "Again: " in line)
        again = subprocess.run([str(paths.ROOT / "corral"), *shlex.split(command)[1:]], stdin=subprocess.DEVNULL,
                               capture_output=True, text=True, check=False)
        self.assertEqual(again.returncode, 1, again.stdout + again.stderr)

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
