"""Finds the commands that the documents show, so that a test can try them.

A command that a reader types and that is refused is worse than none: every
`./corral …` in the Markdown files must be understood by the real parser.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CODE_SPAN = re.compile(r"`(\./corral [^`\n]+)`")
CODE_LINE = re.compile(r"^\s*(?:\$ |# )?(\./corral .+)$")
FENCE = re.compile(r"^\s*(```|~~~)")


@dataclass(frozen=True)
class Shown:
    file: Path
    line: int
    words: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {shlex.join(self.words)}"


def documents(root: Path) -> list[Path]:
    return sorted([*root.glob("*.md"), *root.glob("docs/**/*.md")])


def commands(file: Path) -> Iterator[Shown]:
    """Those in code spans, and those that begin a line of a code block."""
    fenced = False
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        if FENCE.match(line):
            fenced = not fenced
            continue
        found = CODE_LINE.findall(line) if fenced else CODE_SPAN.findall(line)
        for text in found:
            yield Shown(file, number, tuple(_words(text)))


def _words(text: str) -> list[str]:
    """The words after `./corral`, up to a pipe, a redirection or another command."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words: list[str] = []
    for word in lexer:
        if set(word) <= set("|&;<>()"):
            break
        words.append(word)
    return words[1:]
