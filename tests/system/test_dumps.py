"""A policy that fails, an invariant that is violated or a panic in a seeded run leaves a dump, and `corral run --replay` has the same
again, in the same words."""

import json
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from lab import build, paths
from lab.problem import GUEST_BROKE
from lab.testing import with_kernel

PIPES = "for i in 1 2 3 4; do (echo $i | cat) & done; wait"
PLANTED = f"echo plant time-of-turns-lost > /proc/provoke; for r in 1 2 3 4; do {PIPES}; done"
VIOLATION = r"^violation at \d+ core [01] thread \d+ during [a-z ]+ decision \d+: time$"


def corral(*words: str) -> subprocess.CompletedProcess[str]:
    """With the kernel that has policies which do wrong."""
    return with_kernel.corral(paths.TEST_KERNEL_ELF, *words)


class Replay(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        build.build(build.TEST_KERNEL)
        cls.folder = Path(tempfile.mkdtemp(prefix="corral-dumps-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.run_of_it = corral("run", "--cores", "2", "--seed", "12345", "--append", "sched.algorithm=test.wild", "--", "sh", "-c", PIPES)
        left = re.search(r"kept in (\S+);", cls.run_of_it.stderr)
        assert left, cls.run_of_it.stdout + cls.run_of_it.stderr
        cls.dump = cls.folder / "dump.json"
        shutil.move(paths.ROOT / left[1], cls.dump)

    def test_the_run_goes_on_and_leaves_a_dump(self) -> None:
        self.assertEqual(self.run_of_it.returncode, 0)
        account = json.loads(self.dump.read_text(encoding="utf-8"))["account"]
        self.assertRegex(account[0], r"^failures [1-9]\d* seed 12345$")
        self.assertRegex(account[1], r"^failure at \d+ core [01] algorithm test.wild call \w+: ")

    def test_it_is_the_same_again(self) -> None:
        again = corral("run", "--replay", str(self.dump))
        self.assertEqual((again.returncode, again.stdout), (0, self.run_of_it.stdout), again.stderr)
        self.assertIn("the same again", again.stderr)

    def test_another_run_is_told_apart(self) -> None:
        changed = self.folder / "changed.json"
        changed.write_text(self.dump.read_text(encoding="utf-8").replace('"seed": 12345', '"seed": 54321'), encoding="utf-8")
        again = corral("run", "--replay", str(changed))
        self.assertEqual(again.returncode, 1, again.stderr)
        self.assertRegex(again.stderr, r"(?m)^-failure at \d+ core")
        self.assertRegex(again.stderr, r"(?m)^\+failure at \d+ core")

    def test_wrong_use(self) -> None:
        for more in (("--seed", "3"), ("--cores", "2"), ("--", "ls")):
            with self.subTest(more=more):
                again = corral("run", "--replay", str(self.dump), *more)
                self.assertEqual(again.returncode, 2)
                self.assertIn("leave out", again.stderr)


class Violations(unittest.TestCase):
    """With the kernel that has defects (docs/checker.md)."""

    @classmethod
    def setUpClass(cls) -> None:
        build.build(build.CHECKED_KERNEL)
        cls.folder = Path(tempfile.mkdtemp(prefix="corral-dumps-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)

    def left(self, seed: int, options: str, status: int) -> tuple[Path, str]:
        """The dump of a run in which an invariant is violated, and what the user was told."""
        run = with_kernel.corral(paths.CHECKED_KERNEL_ELF, "run", "--cores", "2", "--seed", str(seed), "--append", f"provoke {options}",
                                 "--", "sh", "-c", PLANTED)
        self.assertEqual(run.returncode, status, run.stdout + run.stderr)
        kept = re.search(r"kept in (\S+);", run.stderr)
        assert kept, run.stdout + run.stderr
        return Path(shutil.move(paths.ROOT / kept[1], self.folder / f"{seed}.json")), run.stderr

    def again(self, dump: Path) -> subprocess.CompletedProcess[str]:
        return with_kernel.corral(paths.CHECKED_KERNEL_ELF, "run", "--replay", str(dump))

    def test_they_are_kept_and_the_same_again(self) -> None:
        dump, told = self.left(2301, "", 0)
        self.assertRegex(told, r"corral: violations [1-9]\d* of invariants; kept in ")
        account = json.loads(dump.read_text(encoding="utf-8"))["account"]
        self.assertEqual(account[0], "failures 0 seed 2301")
        self.assertTrue([line for line in account if re.match(VIOLATION, line)], account)
        again = self.again(dump)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("the same again", again.stderr)
        self.check_what_does_not_recur(dump)

    def check_what_does_not_recur(self, dump: Path) -> None:
        """The program ends as before, and nothing is violated."""
        dump.write_text(dump.read_text(encoding="utf-8").replace("plant time-of-turns-lost", "plant none"), encoding="utf-8")
        again = self.again(dump)
        self.assertEqual(again.returncode, 1, again.stderr)
        self.assertRegex(again.stderr, r"(?m)^-violation at \d+ core [01] ")
        self.assertNotIn("the same again", again.stderr)

    def test_they_are_kept_when_the_kernel_panics_and_the_same_again(self) -> None:
        dump, told = self.left(2302, "sched.check=panic", GUEST_BROKE)
        self.assertIn("the kernel panicked: an invariant of scheduling is violated", told)
        account = json.loads(dump.read_text(encoding="utf-8"))["account"]
        self.assertEqual(account[1], "violations 1")
        self.assertRegex(account[-1], VIOLATION)
        again = self.again(dump)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("the same again", again.stderr)


if __name__ == "__main__":
    unittest.main()
