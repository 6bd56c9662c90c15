"""Plots: the kind that a name asks for, and a wrong name told from a disk that is full."""

import errno
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from lab.bench import plot
from lab.problem import Problem


class Saved(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory())) / "new"
        self.drawing, (axes, _) = plot.figure(2, 1)
        axes.plot([1, 2])

    def test_in_every_kind_that_a_name_can_have(self) -> None:
        names = {"a.png": b"\x89PNG", "a.svg": b"<?xml", "a.pdf": b"%PDF", "plain": b"\x89PNG"}
        plot.save(self.drawing, [self.folder / name for name in names])
        for name, begin in names.items():
            self.assertEqual((self.folder / name).read_bytes()[: len(begin)], begin, name)

    def test_a_name_of_no_kind(self) -> None:
        with self.assertRaisesRegex(Problem, "(?s)a.poem.*Mend: give --plot a name such as plot.png"):
            plot.save(self.drawing, [self.folder / "a.poem"])
        self.assertFalse(self.folder.exists())

    def test_a_full_disk_leaves_the_plot_of_before(self) -> None:
        file = self.folder / "a.png"
        plot.save(self.drawing, [file])
        before = file.read_bytes()
        with mock.patch("builtins.open", side_effect=OSError(errno.ENOSPC, "No space left on device")), \
                mock.patch("io.open", side_effect=OSError(errno.ENOSPC, "No space left on device")), \
                self.assertRaisesRegex(Problem, "(?s)a.png cannot be written: No space left on device.*Mend: make room on the disk"):
            plot.save(self.drawing, [file])
        self.assertEqual(file.read_bytes(), before)


if __name__ == "__main__":
    unittest.main()
