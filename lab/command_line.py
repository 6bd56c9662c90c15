"""Composes kernel command lines, and protects them from GRUB's own quoting.

Everything after ` -- ` is what the first process gets as its arguments. An
argument with spaces (or none at all) stands in double quotes, and inside them a
backslash protects a double quote or a backslash. GRUB quotes in nearly the same
way (grub_create_loader_cmdline in its source): it also protects single quotes,
and all three outside of double quotes as well; and it loses empty words.
"""

from __future__ import annotations

from collections.abc import Sequence

from lab.problem import WRONG_USE, Problem

SPECIAL = set(' "\\\t')
PROTECTED = ("\\", '"', "'")
LIMIT = 2047  # what x86 boot protocols carry without question


def quoted(argument: str) -> str:
    if "\n" in argument or "\0" in argument:
        raise Problem("an argument with a line break cannot go through the boot loader",
                      "put it in a file and run that file", WRONG_USE)
    if argument and not SPECIAL & set(argument):
        return argument
    return '"' + argument.replace("\\", "\\\\").replace('"', '\\"') + '"'


def compose(options: Sequence[str], argv: Sequence[str] = ()) -> str:
    """`options` as they are, then ` -- ` and the quoted arguments, if any."""
    parts = [option for option in options if option]
    if argv:
        parts += ["--", *(quoted(argument) for argument in argv)]
    line = " ".join(parts)
    if len(line.encode()) > LIMIT:
        raise Problem(
            f"the kernel's command line is {len(line.encode())} bytes long, at most {LIMIT} can be passed on",
            "shorten the program's arguments",
            WRONG_USE,
        )
    return line


def with_seed(options: str, seed: int) -> str:
    """The kernel's plan of interleavings comes from the machine's seed, unless the options say something else of it."""
    return options if "interleave.seed=" in options else f"{options} interleave.seed={seed}".strip()


def split(line: str) -> list[str]:
    """The words of a command line, unquoted: the inverse of what is above."""
    words: list[str] = []
    word: list[str] | None = None
    inside = False
    characters = iter(line)
    for character in characters:
        if character == "\\":
            after = next(characters, "")
            word = (word or []) + [after if after in PROTECTED else "\\" + after]
        elif character == '"':
            inside = not inside
            word = word or []
        elif character in " \t" and not inside:
            if word is not None:
                words.append("".join(word))
            word = None
        else:
            word = (word or []) + [character]
    if word is not None:
        words.append("".join(word))
    return words


def for_grub(line: str) -> str:
    """The same words in GRUB's script language: each in single quotes.

    GRUB unquotes them and quotes them again in the form above.
    """
    words = split(line)
    if any(not word or ("\t" in word and " " not in word) for word in words):
        raise Problem("GRUB cannot pass on an empty argument, nor a tabulator without a space beside it",
                      "leave it out, or boot without an image", WRONG_USE)
    return " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
