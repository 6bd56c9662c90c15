"""The form of the C and C++ sources: as clang-format gives it, and in small files."""

import re
import subprocess
import unittest

from lab import paths

SUFFIXES = (".cpp", ".h", ".c")
FORMAT = ["clang-format-19", "--dry-run", "-Werror", "--style=file"]
PLACE = re.compile(r"^(\S[^:\n]*):\d+:\d+: error: code should be clang-formatted", re.MULTILINE)
MOST_LINES = 500


def sources() -> list[str]:
    """All that git knows or would take in, from the root of the tree."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            cwd=paths.ROOT, check=True, capture_output=True, text=True).stdout
    return sorted(name for name in set(listed.split("\0"))
                  if name.endswith(SUFFIXES) and (paths.ROOT / name).is_file())


def misshapen(told: str) -> list[str]:
    """The files of clang-format's complaints, each once."""
    return list(dict.fromkeys(PLACE.findall(told)))


class Form(unittest.TestCase):
    def test_a_fault_is_found(self) -> None:
        done = subprocess.run([*FORMAT, "--assume-filename=lib/a.cpp"], cwd=paths.ROOT, check=False,
                              input="int  *a ;\n", capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(len(misshapen(done.stderr)), 1, done.stderr)

    def test_every_source_has_the_form_of_clang_format(self) -> None:
        files = sources()
        self.assertGreater(len(files), 400)
        done = subprocess.run([*FORMAT, *files], cwd=paths.ROOT, capture_output=True, text=True, check=False)
        wrong = misshapen(done.stderr)
        self.assertEqual(wrong, [], f"\nMend it with: clang-format-19 -i {' '.join(wrong)}")
        self.assertEqual(done.returncode, 0, done.stderr[:2000])


class Length(unittest.TestCase):
    def test_files_are_short(self) -> None:
        long = [name for name in sources() if len((paths.ROOT / name).read_bytes().splitlines()) > MOST_LINES]
        self.assertEqual(long, [], f"\nMore than {MOST_LINES} lines: split the file by its ideas.")
