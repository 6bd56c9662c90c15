"""Command-line options whose errors name the right one.

argparse refuses what it does not know but leaves the user to guess. This parser
looks for the nearest name, or for the sub-command that does have the option.
"""

from __future__ import annotations

import argparse
import difflib
import shlex
from collections.abc import Callable, Sequence
from typing import NoReturn

from lab.problem import WRONG_USE, Problem


class Parser(argparse.ArgumentParser):
    """argparse's parser, raising a Problem instead of exiting."""

    def __init__(self, **settings: object) -> None:
        super().__init__(allow_abbrev=False, **settings)  # type: ignore[arg-type]

    def error(self, message: str) -> NoReturn:
        raise Problem(message, f"{self.prog} --help lists what there is", WRONG_USE)


def split_program(arguments: Sequence[str]) -> tuple[list[str], list[str] | None]:
    """Everything after the first `--` belongs to the guest; None when there is no `--`."""
    words = list(arguments)
    if "--" not in words:
        return words, None
    at = words.index("--")
    return words[:at], words[at + 1 :]


def nearest(word: str, names: Sequence[str]) -> str | None:
    found = difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    return found[0] if found else None


def choose(word: str, names: Sequence[str], what: str) -> str:
    """`word` if it is one of `names`; otherwise a Problem that names the nearest."""
    if word in names:
        return word
    near = nearest(word, names)
    mend = f"did you mean `{near}`?" if near else f"one of: {', '.join(names)}"
    raise Problem(f"there is no {what} `{word}`", mend, WRONG_USE)


def choose_list(text: str, names: Sequence[str], what: str) -> list[str]:
    """The words of a list such as `a,b`, each one of `names`; a Problem when there is none."""
    words = [choose(word, names, what) for word in text.split(",") if word]
    if not words:
        raise Problem(f"`{text}` names no {what}", f"of: {', '.join(names)}", WRONG_USE)
    return words


def option_names(parser: argparse.ArgumentParser) -> list[str]:
    return [name for action in parser._actions for name in action.option_strings if name.startswith("--")]


def parse(
    parser: Parser, arguments: Sequence[str], others: dict[str, Parser], *, takes_program: bool = False
) -> argparse.Namespace:
    """Parses; a leftover becomes a Problem with the best advice there is.

    `others` are all parsers by the name of their sub-command.
    """
    values, leftovers = parser.parse_known_args(list(arguments))
    for word in leftovers:
        if word.startswith("-"):
            raise _unknown_option(parser, word.split("=")[0], others)
    if leftovers:
        mend = f"{parser.prog} --help lists what there is"
        if takes_program:
            mend = f"a program goes after two dashes: {parser.prog} -- {' '.join(leftovers)}"
        raise Problem(f"{parser.prog}: `{leftovers[0]}` is not understood", mend, WRONG_USE)
    return values


def _unknown_option(parser: Parser, word: str, others: dict[str, Parser]) -> Problem:
    what = f"{parser.prog}: there is no option {word}"
    owners = [name for name, other in others.items() if word in option_names(other)]
    if owners:
        return Problem(what, f"{word} belongs to: {', '.join(f'./corral {name}' for name in owners)}", WRONG_USE)
    # Without the dashes, which would make all options alike.
    if near := nearest(word.lstrip("-"), [name.lstrip("-") for name in option_names(parser)]):
        return Problem(what, f"did you mean --{near}?", WRONG_USE)
    return Problem(what, f"{parser.prog} --help lists what there is", WRONG_USE)


def again(command: str, declare: Callable[[Parser], None], values: argparse.Namespace, leave_out: Sequence[str] = ()) -> str:
    """The command line that gives these values: what is as usual is not said. `leave_out`: names of values that do not count."""
    parser = Parser()
    declare(parser)
    words = ["./corral", *command.split()]
    for action in parser._actions:
        value = getattr(values, action.dest, None)
        if action.dest in leave_out or value is None or value == action.default or action.dest == "help":
            continue
        several = isinstance(action, argparse._AppendAction) or action.nargs == "*"
        for one in value if several else [value]:
            words += action.option_strings[:1] + ([] if one is True else [_word(one)])
    return shlex.join(words)


def _word(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


MOST = 1_000_000  # of whatever is counted: more is a slip of the keyboard, and its list would fill the memory


def positive(text: str) -> int:
    """An argparse type: a whole number from 1 on."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"`{text}` is no whole number from 1 on")
    if value > MOST:
        raise argparse.ArgumentTypeError(f"`{text}` is more than {MOST}")
    return value


LONGEST = 1e7  # seconds: four months. Beyond lie times that no clock can wait for


def seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= LONGEST:
        raise argparse.ArgumentTypeError(f"`{text}` is no number above 0, and at most {LONGEST:g}")
    return value


def seed(text: str) -> int:
    try:
        value = int(text, 0)
    except ValueError:
        value = -1
    if not 1 <= value < 2**32:  # the kernel takes 0 for "none"
        raise argparse.ArgumentTypeError(f"`{text}` is no seed (1 to {2**32 - 1})")
    return value


def numbers(text: str) -> list[int]:
    """`1,2,4`, `1-4` or `1..4`: an argparse type."""
    values: list[int] = []
    for part in text.split(","):
        low, dash, high = part.replace("..", "-").partition("-")
        try:
            some = range(int(low), int(high) + 1) if dash else [int(low)]
        except ValueError:
            raise argparse.ArgumentTypeError(f"`{text}` is no list of numbers such as 1,2,4 or 1-4") from None
        if dash and int(high) - int(low) >= MOST:
            raise argparse.ArgumentTypeError(f"`{text}` are more than {MOST} numbers")
        values += some
    if not values or min(values) < 1:
        raise argparse.ArgumentTypeError(f"`{text}` is no list of numbers from 1 on")
    return sorted(set(values))
