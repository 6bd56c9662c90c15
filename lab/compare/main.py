"""`corral compare A B`: which figures of B differ from A's. Status 1 when any is worse, or changed where nothing is better."""

from __future__ import annotations

import json
from argparse import ArgumentTypeError, Namespace
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lab import files, packages
from lab.bench import table
from lab.compare import judge, sets
from lab.compare.judge import WORDS, Verdict
from lab.compare.sets import Place, Set
from lab.options import Parser
from lab.problem import WRONG_USE, Problem

ALARMS = ("worse", "changed")
# What makes times of two machines differ whatever was measured.
MACHINE = ("processor", "cores", "system", "qemu")


@dataclass(frozen=True)
class Line:
    place: Place
    before: float
    after: float
    verdict: Verdict


def per_cent(text: str) -> float:
    """An argparse type."""
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0 <= value < 100:
        raise ArgumentTypeError(f"`{text}` is no number of per cent below 100")
    return value


def declare(parser: Parser) -> None:
    what = "a file of ./corral bench --json or ./corral sweep, or FILE@OPTION=VALUE for what was measured with that option"
    parser.add_argument("a", metavar="A", help=what)
    parser.add_argument("b", metavar="B", help="the same, to be judged against A")
    parser.add_argument("--tolerance", type=per_cent, default=0.0, metavar="PERCENT",
                        help="changes of figures that repeat count from there on (default 0: any)")
    parser.add_argument("--all", action="store_true", help="show also what is the same")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the verdicts there as well")


def execute(values: Namespace, _: list[str]) -> int:
    a, b = sets.load(values.a), sets.load(values.b)
    if any(place.noisy for place in a.rows.keys() & b.rows.keys()):
        packages.ensure(["statistics"], yes=values.yes)
    lines = compared(a, b, values.tolerance / 100)
    print("\n".join(report(a, b, lines, everything=values.all)))
    if values.json is not None:
        _write(values.json, lines)
    return 1 if any(line.verdict.word in ALARMS for line in lines) else 0


def compared(a: Set, b: Set, tolerance: float = 0.0) -> list[Line]:
    """All that both have, in order."""
    places = sets.natural([place for place in a.rows if place in b.rows])
    if not places:
        raise Problem(f"{a.name} and {b.name} have no point in common", _difference(a, b), WRONG_USE)
    noisy = [place for place in places if place.noisy]
    verdicts = dict(zip(noisy, judge.noisy([(a.rows[at].samples, b.rows[at].samples, b.rows[at].better) for at in noisy]) if noisy else []))
    for place in places:
        before, after = a.rows[place], b.rows[place]
        if not place.noisy:
            verdicts[place] = judge.exact(before.samples, after.samples, after.better, tolerance)
    return [Line(place, a.rows[place].value, b.rows[place].value, verdicts[place]) for place in places]


def _difference(a: Set, b: Set) -> str:
    """In which respect all of A is other than all of B."""
    for field in Place._fields:
        ours, theirs = ({str(getattr(place, field)) for place in one.rows} for one in (a, b))
        if not ours & theirs:
            said = [", ".join(sorted(names)[:3]) or "none" for names in (ours, theirs)]
            hint = "; FILE@OPTION=VALUE compares across an option" if field == "options" else ""
            return f"measure the same points: {field} is {said[0] or 'none'} in A and {said[1] or 'none'} in B{hint}"
    return "measure the same points with both"


def report(a: Set, b: Set, lines: Sequence[Line], *, everything: bool) -> list[str]:
    out = [f"{name}: {one.name}, Corral {one.host.get('corral', 'unknown')}: {one.command or 'command unknown'}"
           for name, one in (("A", a), ("B", b))]
    if any(line.place.noisy for line in lines):
        out.append(f"Figures that vary: Mann-Whitney's U with Holm's correction at {judge.ALARM:.1%}, changes of {judge.SMALLEST:.0%} and more.")
        other = [name for name in MACHINE if a.host.get(name) != b.host.get(name)]
        if other:
            out.append(f"Their machines differ ({', '.join(other)}): wall times do not compare.")
    shown = [line for line in lines if everything or line.verdict.word != "same"]
    for word in WORDS:
        body = [_cells(line) for line in shown if line.verdict.word == word]
        width = max((len(cells[-1]) for cells in body), default=0)
        body = [[*cells[:-1], cells[-1].ljust(width)] for cells in body]
        if body:
            out += ["", word.capitalize(), "", *table.lines(["A", "B", "change", "what".ljust(width)], body)]
    counts = Counter(line.verdict.word for line in lines)
    out += ["", f"{len(lines)} compared: " + ", ".join(f"{counts[word]} {word}" for word in reversed(WORDS) if counts[word])]
    missing = [f"{len(one.rows.keys() - other.rows.keys())} only in {name}" for name, one, other in (("A", a, b), ("B", b, a))
               if one.rows.keys() - other.rows.keys()]
    return out + ([", ".join(missing) + ": not compared"] if missing else [])


def _cells(line: Line) -> list[str]:
    change = "-" if line.verdict.ratio is None else f"{100 * (line.verdict.ratio - 1):+.2f} %"
    why = f" ({line.verdict.why})" if line.verdict.why else ""
    return [f"{line.before:g}", f"{line.after:g}", change, f"{line.place}{why}"]


def _write(file: Path, lines: Sequence[Line]) -> None:
    rows = [{**line.place._asdict(), "a": line.before, "b": line.after, "verdict": line.verdict.word, "ratio": line.verdict.ratio,
             "why": line.verdict.why} for line in lines]
    files.write(file, json.dumps({"verdicts": rows}, indent=1) + "\n", "--json")
