"""A policy that fails in a seeded run leaves a dump, and `corral run --replay` has the same failure again, in the same words."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from lab import build, paths

# `./corral` with the kernel that has policies which do wrong.
CORRAL = ("import sys; from lab import paths; paths.KERNEL_ELF = paths.TEST_KERNEL_ELF; "
          "from lab.main import main; sys.exit(main(sys.argv[1:]))")
PIPES = "for i in 1 2 3 4; do (echo $i | cat) & done; wait"


def corral(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", CORRAL, *words], cwd=paths.ROOT, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=600, check=False)


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


if __name__ == "__main__":
    unittest.main()
