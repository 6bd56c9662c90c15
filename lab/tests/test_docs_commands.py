"""Every command that the documents show is one that the parser understands."""

import contextlib
import io
import tempfile
import unittest
from pathlib import Path

from lab import docs_commands, paths
from lab.main import understand
from lab.problem import Problem


class Shown(unittest.TestCase):
    def found(self, text: str) -> list[tuple[str, ...]]:
        with tempfile.TemporaryDirectory() as name:
            file = Path(name) / "a.md"
            file.write_text(text, encoding="utf-8")
            return [shown.words for shown in docs_commands.commands(file)]

    def test_code_spans_and_blocks_are_found(self) -> None:
        text = "Use `./corral test`.\n```\n./corral run --cores 8 -- mandelbrot 8  # eight\nls\n```\n./corral not code\n"
        self.assertEqual(self.found(text), [("test",), ("run", "--cores", "8", "--", "mandelbrot", "8")])

    def test_pipes_and_next_commands_are_left_out(self) -> None:
        self.assertEqual(self.found("`./corral run -- ls | wc`"), [("run", "--", "ls")])
        self.assertEqual(self.found("`./corral image && ls`"), [("image",)])

    def test_the_documents_commands_are_understood(self) -> None:
        for file in docs_commands.documents(paths.ROOT):
            for shown in docs_commands.commands(file):
                with self.subTest(shown=str(shown)):
                    self.understood(list(shown.words), str(shown))

    def understood(self, words: list[str], where: str) -> None:
        """`COMMAND` stands for any of them, and asking for help is fine."""
        words = ["run" if word == "COMMAND" else word for word in words]
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                understand(words)
        except Problem as problem:
            self.fail(f"{where}: {problem}")
        except SystemExit as end:
            self.assertEqual(end.code, 0, where)
