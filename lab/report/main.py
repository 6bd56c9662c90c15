"""`corral report`: one page with every table, chart and finding, and a run as a timeline."""

from __future__ import annotations

import re
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from lab import files, options, packages, paths
from lab.bench.results import Results
from lab.compare import sets
from lab.options import Parser
from lab.problem import WRONG_USE, Problem
from lab.report import page, timeline
from lab.report.page import Section
from lab.trace import records

TRACE = paths.BUILD / "trace.records"
KINDS = (".json", ".sqlite")


def declare(parser: Parser) -> None:
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE",
                        help="results of ./corral bench and ./corral sweep (default: those in build/results)")
    parser.add_argument("--trace", type=Path, metavar="FILE", help="the run to show: PREFIX.records of ./corral trace (default build/trace.records)")
    parser.add_argument("--output", type=Path, default=paths.BUILD / "report.html", metavar="FILE", help="the page (default build/report.html)")


def execute(values: Namespace, _: list[str]) -> int:
    run = trace(values.trace)
    found = [(file, one) for file in values.files for one in sets.read(file)] if values.files else default()
    if not found and run is None:
        raise Problem("there is nothing to report", "measure something: ./corral bench boot --quick, or ./corral trace -- mandelbrot 4", WRONG_USE)
    packages.ensure(["report"], yes=values.yes)
    again = options.again("report", declare, values, leave_out=("yes", "verbose"))
    files.write(values.output, page.text(sections(found, run), again), "--output")
    print(f"{paths.shown(values.output)}: open it in a browser; {len(found)} sets of results, {'no' if run is None else 'a'} timeline")
    return 0


def default() -> list[tuple[Path, Results]]:
    """What build/results holds. Other files are there as well, such as the record of boots, and older ones: these are named."""
    found: list[tuple[Path, Results]] = []
    for file in sorted(paths.RESULTS.glob("*")):
        if file.suffix not in KINDS:
            continue
        try:
            found += [(file, one) for one in sets.read(file)]
        except Problem as problem:
            print(f"corral: left out: {problem.what}", file=sys.stderr)
    return found


def trace(file: Path | None) -> timeline.Run | None:
    """The run of this file, or of the usual one if there is one."""
    if file is None and not TRACE.is_file():
        return None
    try:
        return timeline.understood(records.read(file or TRACE))
    except OSError as error:
        raise Problem(f"{file}: {error.strerror}", "./corral trace --output PREFIX -- PROGRAM writes PREFIX.records", WRONG_USE) from None
    except Problem as problem:
        raise Problem(f"{paths.shown(file or TRACE)}: {problem.what}", problem.mend, WRONG_USE) from None


def sections(found: Sequence[tuple[Path, Results]], run: timeline.Run | None) -> list[Section]:
    results = []
    for number, (file, one) in enumerate(found, start=1):
        results.append(page.of_results(f"{_anchor(file.stem)}-{number}", one, file.name))
    every = [f"{section.title}: {paragraph}" for section in results for paragraph in section.paragraphs]
    first = [Section("findings", "Findings", every)] if every else []
    shown = [Section("timeline", "Timeline", list(timeline.summary(run)), [timeline.figure(run)])] if run is not None else []
    return [*first, *shown, *results]


def _anchor(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "results"
