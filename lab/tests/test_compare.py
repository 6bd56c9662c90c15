"""The build's complaint about a kept file that is out of date carries the command that mends it, to be copied."""

import subprocess
import tempfile
import unittest
from pathlib import Path

from lab import paths

COMPARE = paths.ROOT / "kernel" / "tools" / "compare.cmake"


class KeptFile(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        deep = Path(folder.name) / ("a-folder-of-a-long-name-" * 6) / ("in-another-" * 6)
        deep.mkdir(parents=True)
        self.generated, self.kept = deep / "generated.md", deep / "kept.md"
        self.generated.write_text("new\n", encoding="utf-8")

    def compare(self) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["cmake", "-D", f"GENERATED={self.generated}", "-D", f"KEPT={self.kept}", "-P", str(COMPARE)],
                              capture_output=True, text=True, timeout=60, check=False)

    def test_the_same_is_accepted(self) -> None:
        self.kept.write_text("new\n", encoding="utf-8")
        done = self.compare()
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_the_mend_is_one_line_however_long_the_paths(self) -> None:
        self.kept.write_text("old\n", encoding="utf-8")
        done = self.compare()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(f"{self.kept} is out of date: cp {self.generated}.wanted {self.kept}\n", done.stderr)
        self.assertEqual(Path(f"{self.generated}.wanted").read_text(encoding="utf-8"), "new\n")


if __name__ == "__main__":
    unittest.main()
