"""Files that the user asked for are whole, or what they were before; and what a disk refuses is no traceback."""

import contextlib
import errno
import io
import resource
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from lab import files, packages, paths, simulate
from lab.main import main
from lab.problem import FAILED, Problem

# Writes so many bytes into the file that is named first.
WRITES = """
import sys
from pathlib import Path
from lab import files
from lab.problem import Problem
try:
    files.write(Path(sys.argv[1]), "new" * int(sys.argv[2]), "--json")
except Problem as problem:
    sys.exit(str(problem))
"""


# Says when it is alone in the folder that is named first.
ENTERS = """
import sys
from pathlib import Path
from lab import files
with files.exclusive(Path(sys.argv[1])):
    print("alone")
"""


class Written(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.file = self.folder / "deep" / "results.json"

    def test_folders_are_made(self) -> None:
        files.write(self.file, "good", "--json")
        files.write(self.file, "better", "--json")
        self.assertEqual([file.read_text(encoding="utf-8") for file in self.file.parent.iterdir()], ["better"])

    def test_a_full_disk_leaves_what_was_there(self) -> None:
        files.write(self.file, "precious", "--json")
        ended = subprocess.run([sys.executable, "-c", WRITES, str(self.file), "10000"], cwd=paths.ROOT, stdin=subprocess.DEVNULL,
                               capture_output=True, text=True, check=False,
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)))
        self.assertEqual(ended.returncode, 1)
        self.assertRegex(ended.stderr, r"cannot be written: .*\s+Mend: give --json another place")
        self.assertEqual([file.read_text(encoding="utf-8") for file in self.file.parent.iterdir()], ["precious"])

    def test_a_full_disk_is_told_from_a_wrong_place(self) -> None:
        for code, mend in ((errno.ENOSPC, "make room on the disk, or give --plot another place"), (errno.EACCES, "give --plot another place")):
            with self.subTest(code=code), mock.patch.object(Path, "write_bytes", side_effect=OSError(code, "no")), \
                    self.assertRaisesRegex(Problem, f"cannot be written: no\n +Mend: {mend}"):
                files.write_bytes(self.file, b"picture", "--plot")

    def test_what_is_no_file_is_written_to(self) -> None:
        link = self.folder / "link"
        self.file.parent.mkdir()
        link.symlink_to(self.file)
        files.write(link, "text", "--json")
        self.assertTrue(link.is_symlink())
        self.assertEqual(self.file.read_text(encoding="utf-8"), "text")
        files.write(Path("/dev/null"), "text", "--json")
        self.assertTrue(Path("/dev/null").is_char_device())
        with self.assertRaisesRegex(Problem, "Is a directory"):
            files.write(self.folder, "text", "--json")


class Refused(unittest.TestCase):
    def said(self, *words: str) -> tuple[int, str]:
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            status = main(list(words))
        return status, said.getvalue()

    def test_a_build_folder_that_cannot_be_written(self) -> None:
        for code in (errno.ENOSPC, errno.EROFS, errno.EACCES):
            refused = mock.patch.object(simulate.build, "build", side_effect=OSError(code, "no", "build/sim/log"))
            with self.subTest(code=code), refused, mock.patch.object(packages, "ensure"):
                status, said = self.said("simulate", "sim/workloads/mixed.json")
                self.assertEqual(status, FAILED)
                self.assertRegex(said, r"build/sim/log: no\s+Mend: make room on the disk")

    def test_the_figures_are_shown_though_they_cannot_be_kept(self) -> None:
        report = {"threads": 1, "cores": 1, "seed": 1, "elapsed_ns": 1, "wasted_ns": 0, "decisions": 7, "violations": 0, "unfinished": 0,
                  "per_core": [], "tasks": [{"moves": 1, "wake_worst_ns": 2}], **simulate.Policies()._asdict()}
        with mock.patch.object(simulate.build, "build"), mock.patch.object(packages, "ensure"), \
                mock.patch.object(simulate, "simulate", return_value=report):
            status, said = self.said("simulate", "sim/workloads/mixed.json", "--algorithm", "cfs", "--algorithm", "rr", "--json", "/proc/none/x")
        self.assertEqual(status, FAILED)
        self.assertRegex(said, r"(?s)cfs +least-loaded.*/proc/none/x cannot be written: .*Mend: give --json another place")

    def test_what_is_no_text_is_said(self) -> None:
        """The simulator tells of a byte that it does not like by showing it."""
        child = mock.Mock(returncode=2)
        child.communicate.return_value = (b"", b"this is not JSON: \xff\xfe")
        with mock.patch.object(simulate.emulators, "start", return_value=child), mock.patch.object(simulate.emulators, "stop"), \
                self.assertRaisesRegex(Problem, "this is not JSON: "):
            simulate.simulate(Path("x.json"), 1, simulate.Policies(), 1)


if __name__ == "__main__":
    unittest.main()


class Together(unittest.TestCase):
    """Two commands at once."""

    def test_one_at_a_time_makes_what_all_use(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory())) / "tree"
        command = [sys.executable, "-c", ENTERS, str(folder)]
        with files.exclusive(folder), self.assertRaises(subprocess.TimeoutExpired):
            subprocess.run(command, cwd=paths.ROOT, capture_output=True, timeout=1, check=False)
        self.assertEqual(subprocess.check_output(command, cwd=paths.ROOT, text=True), "alone\n")

    def test_each_guest_boots_the_files_of_its_own_command(self) -> None:
        command = [sys.executable, "-c", "from lab import guest; print(guest._work().name)"]
        folders = [subprocess.check_output(command, cwd=paths.ROOT, text=True) for _ in range(2)]
        self.assertNotEqual(*folders)
        self.assertFalse(Path(folders[0].strip()).exists())
