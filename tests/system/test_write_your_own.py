"""The chapter "Write your own scheduler" is followed literally, in a copy of the tree: its files, its commands, what they print."""

import os
import re
import shutil
import subprocess
import unittest
from dataclasses import dataclass
from pathlib import Path

from lab import build, linux, paths
from lab.testing.selection import slow

LONG = True
CHAPTER = paths.ROOT / "docs" / "write-your-own-scheduler.md"
COPY = paths.BUILD / "write-your-own"
BLOCK = re.compile(r"^```(\S+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
STATUS = re.compile(r"  # exit status (\d+)$")
ANYTHING = "..."
PATIENCE_SECONDS = 900


@dataclass(frozen=True)
class File:
    path: str
    text: str


@dataclass(frozen=True)
class Command:
    line: str
    status: int
    prints: tuple[str, ...]


def steps(text: str) -> list[File | Command]:
    """What the chapter has its reader do, in order."""
    found: list[File | Command] = []
    for kind, path, body in BLOCK.findall(text):
        if kind == "cpp":
            found.append(File(path, body))
        elif kind == "console":
            for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
                line, *prints = part.splitlines()
                status = STATUS.search(line)
                found.append(Command(STATUS.sub("", line), int(status[1]) if status else 0, tuple(prints)))
        else:
            raise AssertionError(f"what is to be done with a block of {kind}?")
    return found


def pattern(prints: tuple[str, ...]) -> str:
    """Lines stand where they stand; "..." is anything in a line, and any lines when it is alone. Blanks are as wide as you like."""
    lines = []
    for line in prints:
        parts = [r"[^\S\n]+".join(map(re.escape, part.split())) for part in line.split(ANYTHING)]
        lines.append(r"(?:.*\n)*?" if line == ANYTHING else rf"[^\S\n]*{'.*'.join(parts)}[^\S\n]*\n")
    return "^" + "".join(lines)


class Form(unittest.TestCase):
    def test_blocks_become_steps(self) -> None:
        found = steps("a\n```cpp a/b.cpp\nint x;\n```\n```console\n$ make it  # exit status 2\nno ...\n$ b\n```\n")
        self.assertEqual(found, [File("a/b.cpp", "int x;\n"), Command("make it", 2, ("no ...",)), Command("b", 0, ())])

    def test_what_is_printed_is_compared(self) -> None:
        for prints, text, same in ((("a ... c",), "a b c\n", True), (("a ... c",), "a b\nc\n", False),
                                   (("a", "...", "c"), "x\na\nb\nb\n c \n", True), (("a", "c"), "a\nb\nc\n", False),
                                   (("a  b",), "a b\n", True), (("a+b",), "aab\n", False), (("a",), "ab\n", False)):
            with self.subTest(prints=prints, text=text):
                self.assertEqual(re.search(pattern(prints), text, re.MULTILINE) is not None, same)

    def test_the_chapter_has_files_and_commands(self) -> None:
        found = steps(CHAPTER.read_text(encoding="utf-8"))
        self.assertEqual([step.path for step in found if isinstance(step, File)],
                         ["kernel/sched/algorithms/least_served.cpp", "kernel/sched/placement/next_door.cpp"])
        self.assertGreaterEqual(sum(isinstance(step, Command) for step in found), 12)


@slow
class Chapter(unittest.TestCase):
    def setUp(self) -> None:
        """What the original has built is not compiled again in the copy (lab/testing/reuse_object.sh)."""
        build.build_system()
        build.build(build.SIMULATOR)
        linux.kernel()
        shutil.rmtree(COPY, ignore_errors=True)
        shutil.copytree(paths.ROOT, COPY, symlinks=True, ignore=self.not_sources)
        (COPY / "build").mkdir()
        (COPY / "build" / "linux").symlink_to(paths.LINUX)
        launcher = f"sh;{paths.ROOT / 'lab/testing/reuse_object.sh'};{paths.ROOT};{COPY}"
        self.environment = {**os.environ, "CMAKE_CXX_COMPILER_LAUNCHER": launcher, "CMAKE_C_COMPILER_LAUNCHER": launcher}
        self.addCleanup(shutil.rmtree, COPY)

    @staticmethod
    def not_sources(folder: str, names: list[str]) -> list[str]:
        return [name for name in names if name == "__pycache__" or (Path(folder) == paths.ROOT and name in ("build", ".git", "shared"))]

    def test_it_is_followed_literally(self) -> None:
        for step in steps(CHAPTER.read_text(encoding="utf-8")):
            if isinstance(step, File):
                file = COPY / step.path
                self.assertFalse(file.exists(), "a new file")
                file.write_text(step.text, encoding="utf-8")
            else:
                self.follow(step)

    def follow(self, command: Command) -> None:
        done = subprocess.run(command.line, shell=True, cwd=COPY, env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE_SECONDS, check=False)
        said = done.stdout.decode(errors="replace").replace("\r", "")
        self.assertEqual(done.returncode, command.status, f"$ {command.line}\n{said[-4000:]}")
        self.assertRegex(said, re.compile(pattern(command.prints), re.MULTILINE), f"$ {command.line}")


if __name__ == "__main__":
    unittest.main()
