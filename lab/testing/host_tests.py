"""The host's unit tests: built by CMake, run by ctest, one result per GoogleTest case."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

from lab import build, paths
from lab.testing.selection import Selection
from lab.testing.tally import Tally

SUITE = "host"
LIMIT_SECONDS = 1200


@dataclass(frozen=True)
class Case:
    name: str
    outcome: str  # passed, failed, skipped
    reason: str = ""


def parse(xml: str) -> list[Case]:
    """The cases of ctest's JUnit report. What is not plainly a pass is none."""
    cases = []
    for case in ElementTree.fromstring(xml).iter("testcase"):
        name, status = case.get("name", "?"), case.get("status", "")
        output = (case.findtext("system-out") or "").strip()
        if status == "run" and case.find("failure") is None and case.find("skipped") is None:
            cases.append(Case(name, "passed"))
        elif case.find("skipped") is not None or status in ("notrun", "disabled"):
            cases.append(Case(name, "skipped", (case.findtext("skipped") or status).strip()))
        else:
            cases.append(Case(name, "failed", "\n".join(output.splitlines()[-60:])))
    return cases


def name_pattern(selection: Selection) -> str:
    """ctest's regular expression for the selection; "" when all must be looked at.

    A text that may match the suite's own name is left to `Selection.wants`.
    """
    if not selection.text or selection.wants(SUITE, ""):
        return ""
    if ":" in selection.text:
        return ""
    return "".join(f"[{c.lower()}{c.upper()}]" if c.isalpha() else re.escape(c) for c in selection.text)


def run(selection: Selection, tally: Tally, *, verbose: bool) -> None:
    build.build(build.HOST_TESTS, verbose=verbose)
    with tempfile.TemporaryDirectory(prefix="corral-ctest-") as name:
        report = Path(name) / "report.xml"
        command = ["ctest", "--test-dir", str(paths.HOST_TESTS_BUILD), "--output-junit", str(report),
                   "--timeout", str(LIMIT_SECONDS), "--parallel", str(os.cpu_count() or 1)]
        if selection.quick:
            command += ["--label-exclude", "slow"]
        if pattern := name_pattern(selection):
            command += ["--tests-regex", pattern]
        tally.running(SUITE, "ctest")
        ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if not report.is_file():
            if selection.text and ended.returncode == 0:
                return  # no name matches, so ctest wrote no report
            tally.fail(SUITE, "ctest", ended.stdout[-1500:] + ended.stderr[-1500:])
            return
        cases = parse(report.read_text(encoding="utf-8", errors="replace"))
    for case in cases:
        if not selection.wants(SUITE, case.name):
            continue
        if case.outcome == "passed":
            tally.ok(SUITE, case.name)
        elif case.outcome == "skipped":
            tally.skipped(SUITE, case.name, case.reason)
        else:
            tally.fail(SUITE, case.name, case.reason)
    if ended.returncode != 0 and all(case.outcome == "passed" for case in cases):
        tally.fail(SUITE, "ctest", f"exit status {ended.returncode}\n{ended.stdout[-1500:]}{ended.stderr[-1500:]}")
