"""A scheduling policy is one file that no other file mentions; the smallest one is small."""

import re
import unittest
from pathlib import Path

from lab import paths

FOLDERS = ("algorithms", "placement", "migration", "groups")
REGISTRATION = re.compile(r"^CORRAL_\w+\(corral::sched::(\w+), \"([\w-]+)\"", re.MULTILINE)
MOST_LINES_OF_FIFO = 40
COMMENT = re.compile(r"//.*")  # words such as "both" are only words there
SOURCES = ("*.cpp", "*.h", "CMakeLists.txt")


class OneFile(unittest.TestCase):
    def policies(self) -> dict[Path, str]:
        """The files that register a policy, and its class."""
        found = {}
        for folder in FOLDERS:
            for file in sorted((paths.KERNEL_SOURCE / "sched" / folder).glob("*.cpp")):
                if registered := REGISTRATION.search(file.read_text(encoding="utf-8")):
                    found[file] = registered[1]
        return found

    def test_no_other_file_mentions_it(self) -> None:
        policies = self.policies()
        self.assertGreaterEqual(len(policies), 20)
        rooms = (paths.KERNEL_SOURCE / "sched", paths.KERNEL_SOURCE / "boot", paths.SIMULATOR_SOURCE)
        files = [file for room in rooms for kind in SOURCES for file in room.rglob(kind)]
        texts = {file: COMMENT.sub("", file.read_text(encoding="utf-8"))
                 for file in (*files, paths.KERNEL_SOURCE / "CMakeLists.txt")}
        for policy, name in policies.items():
            mention = re.compile(rf"\b{name}\b|\b{policy.parent.name}/{policy.stem}\.cpp\b")
            with self.subTest(policy=policy.name):
                self.assertEqual([str(file) for file, text in texts.items() if file != policy and mention.search(text)], [])

    def test_fifo_is_small(self) -> None:
        fifo = paths.KERNEL_SOURCE / "sched" / "algorithms" / "fifo.cpp"
        self.assertLessEqual(len(fifo.read_text(encoding="utf-8").splitlines()), MOST_LINES_OF_FIFO)


if __name__ == "__main__":
    unittest.main()
