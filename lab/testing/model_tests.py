"""The Promela models of the protocols: those that must hold, and the mutations that must be found out."""

from __future__ import annotations

import re
import subprocess

from lab import paths
from lab.testing.selection import Selection
from lab.testing.tally import Tally

SUITE = "models"
RUNNER = paths.ROOT / "tests" / "models" / "run"
LIMIT_SECONDS = 3600.0
LINE = re.compile(r"^(\S[^:]*: .*?): (ok|FAILED)(.*)$", re.MULTILINE)


def parse(output: str) -> list[tuple[str, bool, str]]:
    """Name, passed, and what the checker said, for each model."""
    return [(name, word == "ok", rest.strip(" :")) for name, word, rest in LINE.findall(output)]


def run(selection: Selection, tally: Tally) -> None:
    if selection.text and not selection.wants(SUITE, SUITE):
        return
    tally.running(SUITE, "checking")
    done = subprocess.run([RUNNER], capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
    results = parse(done.stdout)
    for name, passed, reason in results:
        if passed:
            tally.ok(SUITE, name)
        else:
            tally.fail(SUITE, name, reason + "\n" + done.stdout[-2000:])
    if done.returncode != 0 and all(passed for _, passed, _ in results):
        tally.fail(SUITE, "run", done.stdout[-2000:] + done.stderr[-2000:])
