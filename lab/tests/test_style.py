"""The form of the C and C++ sources: as clang-format gives it, and in small files. And mistakes in Python."""

import json
import re
import subprocess
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

from lab import paths
from lab.testing import style_tests
from lab.testing.selection import Selection
from lab.testing.tally import Tally

LONG = True
SUFFIXES = (".cpp", ".h", ".c")
FORMAT = ["clang-format-19", "--dry-run", "-Werror", "--style=file"]
PLACE = re.compile(r"^(\S[^:\n]*):\d+:\d+: error: code should be clang-formatted", re.MULTILINE)
MOST_LINES = 500


def sources(suffixes: tuple[str, ...] = SUFFIXES) -> list[str]:
    """All that git knows or would take in, from the root of the tree."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            cwd=paths.ROOT, check=True, capture_output=True, text=True).stdout
    return sorted(name for name in set(listed.split("\0"))
                  if name.endswith(suffixes) and (paths.ROOT / name).is_file())


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


class Python(unittest.TestCase):
    def test_pyflakes_finds_nothing(self) -> None:
        files = ["corral", *sources((".py",))]
        self.assertGreater(len(files), 150)
        done = subprocess.run(["pyflakes3", *files], cwd=paths.ROOT, capture_output=True, text=True, check=False)
        self.assertEqual(done.stdout + done.stderr, "")

    def test_a_name_that_is_not_there_is_found(self) -> None:
        done = subprocess.run(["pyflakes3"], input="def f():\n    return g()\n", capture_output=True, text=True, check=False)
        self.assertIn("undefined name 'g'", done.stdout)


class Names(unittest.TestCase):
    """What a module or a class has not, and calls with too few words or too many: mypy tells these. What else it finds stays between it and the reader."""

    FOUND = re.compile(r"^.*\[(?:attr-defined|name-defined|call-arg)\]$", re.MULTILINE)

    def told(self, *what: str) -> list[str]:
        done = subprocess.run(["mypy", "--ignore-missing-imports", f"--cache-dir={paths.BUILD / 'mypy'}", *what],
                              cwd=paths.ROOT, capture_output=True, text=True, check=False)
        self.assertIn(done.returncode, (0, 1), done.stderr[:2000])
        return self.FOUND.findall(done.stdout)

    def test_all_of_them_are_there(self) -> None:
        self.assertEqual(self.told("lab"), [])

    def test_those_of_tests_with_machines_too(self) -> None:
        """But for attributes: their classes get them when a class is set up, where mypy does not look."""
        found = self.told("--explicit-package-bases", "tests/system", "tests/simulator")
        self.assertEqual([line for line in found if not line.endswith("[attr-defined]")], [])

    def test_one_that_is_not_is_found(self) -> None:
        self.assertEqual(len(self.told("-c", "from lab import paths\npaths.nowhere\n\ndef f(a: int) -> int:\n    return f()\n")), 2)


class Length(unittest.TestCase):
    def test_files_are_short(self) -> None:
        long = [name for name in sources() if len((paths.ROOT / name).read_bytes().splitlines()) > MOST_LINES]
        self.assertEqual(long, [], f"\nMore than {MOST_LINES} lines: split the file by its ideas.")


class Tidy(unittest.TestCase):
    def test_findings_are_read(self) -> None:
        told = f"{paths.ROOT}/lib/a.h:3:7: error: invalid case style [x]\n  3 | int A;\n      ^\n/b.h:1:1: note: declared here\n"
        self.assertEqual(style_tests.findings(told), ["lib/a.h:3:7: invalid case style [x]"])

    def test_a_file_is_looked_at_again_after_any_change(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            root = Path(name)
            (root / "room").mkdir()
            file, near, far = root / "room/a.cpp", root / "room/near.h", root / "far.h"
            file.write_text('#include "near.h"\n', encoding="utf-8")
            near.write_text('#include <vector>\n#include "far.h"\n', encoding="utf-8")
            far.write_text("int far;\n", encoding="utf-8")
            self.assertEqual(style_tests.closure(file, (root,)), sorted([file, near, far]))
            command = f"cc -I{root} -c a.cpp"
            marks = [style_tests.mark(command, file, b"1"), style_tests.mark(command, file, b"2"),
                     style_tests.mark(command + " -O2", file, b"1")]
            self.assertEqual(style_tests.mark(command, file, b"1"), marks[0])
            far.write_text("int farther;\n", encoding="utf-8")
            style_tests.forget()
            marks.append(style_tests.mark(command, file, b"1"))
            self.assertEqual(len(set(marks)), 4)

    def test_at_an_interrupt_files_that_wait_are_not_looked_at(self) -> None:
        looked_at = []

        def interrupted(file: Path) -> tuple[bool, str]:
            looked_at.append(file)
            time.sleep(0.01)
            raise KeyboardInterrupt

        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            files = [folder / f"{i}.cpp" for i in range(500)]
            for file in files:
                file.touch()
            (folder / "compile_commands.json").write_text(json.dumps([{"file": str(file), "command": "cc"} for file in files]),
                                                          encoding="utf-8")
            with (mock.patch.object(paths, "TIDY_BUILD", folder), mock.patch.object(style_tests, "PASSED", folder / "passed"),
                  mock.patch.object(style_tests, "build"), mock.patch.object(style_tests, "look_at", interrupted),
                  self.assertRaises(KeyboardInterrupt)):
                style_tests.run(Selection(), Tally(), verbose=False)
        self.assertLess(len(looked_at), len(files))

    def test_exceptions_name_the_check_and_the_reason(self) -> None:
        for name in sources():
            for line in (paths.ROOT / name).read_text(encoding="utf-8").splitlines():
                if "NOLINT" in line and "NOLINTEND" not in line:
                    with self.subTest(file=name, line=line.strip()):
                        self.assertRegex(line, r"// NOLINT\w*\([\w.,-]+\): \S")
