"""Debian's Linux is fetched with apt; where that cannot be, what to do is said."""

import contextlib
import io
import re
import subprocess
import tempfile
import unittest
from collections.abc import Callable
from pathlib import Path
from unittest import mock

from lab import linux, packages
from lab.problem import Problem

PACKAGE = "linux-image-6.1.0-9-cloud-amd64"
Answer = tuple[int, str, str]  # status, output, complaint
KNOWN: Answer = (0, f"{linux.META_PACKAGE}\n  Depends: {PACKAGE}\n", "")
UNKNOWN: Answer = (100, "", "E: No packages found")


class Fetched(unittest.TestCase):
    """By an apt of ours, in an empty folder."""

    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.enterContext(contextlib.redirect_stderr(io.StringIO()))
        self.enterContext(mock.patch.object(linux.paths, "LINUX", self.folder))
        self.enterContext(mock.patch.object(linux.shutil, "which", return_value="/usr/bin/apt-get"))
        self.enterContext(mock.patch.object(linux.subprocess, "run", side_effect=self.apt))
        self.update = self.enterContext(mock.patch.object(packages, "update_lists"))
        self.depends: Callable[[], Answer] = lambda: KNOWN
        self.offline = False

    def apt(self, command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        status, output, complaint = 0, "", ""
        if command[0] == "apt-cache":
            status, output, complaint = self.depends()
        elif command[:3] == ["apt-get", "-q", "download"] and self.offline:
            status, complaint = 100, "E: Failed to fetch http://deb.debian.org/"
        elif command[:3] == ["apt-get", "-q", "download"]:
            (self.folder / f"{command[3]}_1_amd64.deb").touch()
        else:
            self.assertEqual(command, ["dpkg", "-x", f"{PACKAGE}_1_amd64.deb", "tree"])
            (self.folder / "tree" / "boot").mkdir(parents=True)
            (self.folder / "tree" / "boot" / "vmlinuz-6.1.0-9-cloud-amd64").touch()
        return subprocess.CompletedProcess(command, status, output, complaint)

    def refused(self, what: str, mend: str) -> contextlib.AbstractContextManager[object]:
        return self.assertRaisesRegex(Problem, f"(?s)^{re.escape(what)}.*\n +Mend: .*{re.escape(mend)}")

    def test_the_package_behind_the_moving_name(self) -> None:
        self.assertEqual(linux.kernel().name, "vmlinuz-6.1.0-9-cloud-amd64")
        self.update.assert_not_called()
        self.offline = True
        self.depends = lambda: UNKNOWN
        self.assertTrue(linux.kernel().is_file())  # it is there: nobody asks again

    def test_lists_that_are_old_or_missing_are_fetched_once(self) -> None:
        self.depends = lambda: KNOWN if self.update.called else UNKNOWN
        linux.kernel()
        self.update.assert_called_once()

    def test_a_package_that_apt_does_not_know(self) -> None:
        for answer, what in ((UNKNOWN, f"`apt-cache depends {linux.META_PACKAGE}` failed: E: No packages found"),
                             ((0, f"{linux.META_PACKAGE}\n  Depends: <none>\n", ""), f"apt does not know {linux.META_PACKAGE}")):
            self.depends = lambda answer=answer: answer
            self.update.reset_mock()
            with self.subTest(answer=answer), self.refused(what, "Debian 12"):
                linux.kernel()
            self.update.assert_called_once()  # so to fetch them would be no advice

    def test_without_a_network(self) -> None:
        self.offline = True
        with self.refused(f"`apt-get -q download {PACKAGE}` failed: E: Failed to fetch", "are you online"):
            linux.kernel()

    def test_elsewhere_than_on_debian(self) -> None:
        with mock.patch.object(linux.shutil, "which", return_value=None), self.refused(f"{linux.META_PACKAGE} is fetched with apt-get", "--system corral"):
            linux.kernel()


if __name__ == "__main__":
    unittest.main()
