"""The kernel's options and policies, as docs/boot-options.md lists them.

The build writes that page from the kernel's own tables and refuses one that is out of date, so it is true of what is built.
The kernel itself only warns of a wrong option and boots: a measurement must not.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

from lab import paths
from lab.options import choose
from lab.problem import WRONG_USE, Problem

PAGE = paths.ROOT / "docs" / "boot-options.md"
OPTION = re.compile(r"^\| `([\w.]+)(?:=([^`]+))?` \|", re.MULTILINE)
POLICIES = re.compile(r"^\| `(sched\.\w+)=` \| what it is \|\n\|[-|]+\|\n((?:\|.*\n)+)", re.MULTILINE)
NAME = re.compile(r"^\| ([\w-]+) \|", re.MULTILINE)


@functools.cache
def kinds() -> dict[str, str]:
    """By an option's name what it takes, as the page has it; "": nothing."""
    return {name: kind.replace("\\|", "|") for name, kind in OPTION.findall(PAGE.read_text(encoding="utf-8"))}


@functools.cache
def policies() -> dict[str, tuple[str, ...]]:
    """By an option's name the policies that it chooses from."""
    text = PAGE.read_text(encoding="utf-8") + "\n"
    return {option: tuple(NAME.findall(rows)) for option, rows in POLICIES.findall(text)}


def check_line(line: str) -> None:
    """The same for all words of a command line, which has no option twice: of those the kernel takes the last."""
    seen: dict[str, str] = {}
    for word in line.split():
        name, _, value = word.partition("=")
        check(name, value)
        if name in seen:
            raise Problem(f"{seen[name]} {word}: {name} is given twice, and the kernel takes the last", "leave one of them out", WRONG_USE)
        seen[name] = word


def check_added(added: str, own: Iterable[str], mend: str) -> None:
    """The same for options that are added to one of the lines `own`: with an option of theirs all rows would have their names and its value."""
    check_line(added)
    taken = {word.partition("=")[0] for line in own for word in line.split()}
    for word in added.split():
        if (name := word.partition("=")[0]) in taken:
            raise Problem(f"--append {word}: {name} is what this measurement itself sets", mend, WRONG_USE)


def names_checked(line: str) -> str:
    """The same command line; a Problem when the kernel has no such option.

    Values are left to the kernel: it may be about to be built with a new policy.
    """
    for word in f" {line}".partition(" -- ")[0].split():
        _known(word.partition("=")[0])
    return line


def _known(name: str) -> str:
    return choose(name, list(kinds()), "boot option")


def check(name: str, value: str) -> None:
    """A Problem when the kernel has no such option, or would refuse its value; `value` is "" for an option without one.

    A policy's tunables are not looked at.
    """
    kind = kinds()[_known(name)]
    if bool(value) != bool(kind):
        raise Problem(f"{name}: a value is {'wanted' if kind else 'not taken'}", f"docs/boot-options.md: {name}={kind}", WRONG_USE)
    if name in policies():
        choose(value.partition(":")[0], policies()[name], name)
    elif "|" in kind:
        choose(value, kind.split("|"), name)
    elif "…" in kind:
        low, high = map(int, kind.split("…"))
        if not value.isdecimal() or not low <= int(value) <= high:
            raise Problem(f"{name}={value}: out of range", f"{low} to {high}", WRONG_USE)
