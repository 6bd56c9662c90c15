"""Runs unittest files: the lab's own, and the whole-system tests."""

from __future__ import annotations

import importlib.util
import os
import sys
import traceback
import unittest
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from lab.testing import lanes
from lab.testing.selection import Selection
from lab.testing.tally import Results, Tally


class _Result(unittest.TestResult):
    """Hands every outcome to the tally; an expected failure is no success either."""

    def __init__(self, suite: str, results: Results) -> None:
        super().__init__()
        self._suite = suite
        self._results = results
        self._broken = False

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self._broken = False
        self._results.running(self._suite, name_of(test))

    def stopTest(self, test: unittest.TestCase) -> None:
        super().stopTest(test)

    def addSuccess(self, test: unittest.TestCase) -> None:
        if not self._broken:
            self._results.ok(self._suite, name_of(test))

    def addError(self, test: unittest.TestCase, err: object) -> None:
        self._fail(test, told(err))

    def addFailure(self, test: unittest.TestCase, err: object) -> None:
        self._fail(test, told(err))

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: object) -> None:
        if err is not None:
            self._fail(subtest, told(err))

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        self._broken = True
        self._results.skipped(self._suite, name_of(test), reason)

    def addExpectedFailure(self, test: unittest.TestCase, err: object) -> None:
        self._fail(test, "a failure was expected, so nothing was shown")

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:
        self._fail(test, "a failure was expected, and it passed: take the mark away")

    def _fail(self, test: unittest.TestCase, reason: str) -> None:
        self._broken = True
        self._results.fail(self._suite, name_of(test), reason)


def told(error: object) -> str:
    """The traceback without the frames of unittest itself, which say nothing about the test."""
    told = traceback.TracebackException(*error)  # type: ignore[misc]
    told.stack = traceback.StackSummary.from_list(
        [frame for frame in told.stack if not frame.filename.startswith(os.path.dirname(unittest.__file__))]
    )
    return "".join(told.format())


def name_of(test: unittest.TestCase) -> str:
    """`file.Class.method`, with a subtest's parameters when it is one."""
    return str(test.id())


def _load(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    return module


def _flat(suite: unittest.TestSuite) -> Iterator[unittest.TestCase]:
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from _flat(test)
        else:
            yield test


def _chosen(suite: str, module: ModuleType, selection: Selection, left_out: Counter[str]) -> unittest.TestSuite:
    chosen = unittest.TestSuite()
    for test in _flat(unittest.defaultTestLoader.loadTestsFromModule(module)):
        if not selection.wants(suite, name_of(test)):
            continue
        if why := selection.left_out(test, getattr(test, test._testMethodName, None)):
            left_out[why] += 1
        else:
            chosen.addTest(test)
    return chosen


def _piece(suite: str, name: str, tests: unittest.TestSuite) -> lanes.Piece:
    def work(results: Results) -> None:
        tests.run(_Result(suite, results))

    return lanes.Piece(suite, name, work)


def run(suite: str, directory: Path, selection: Selection, tally: Tally, jobs: int = 1) -> None:
    """Every `test_*.py` of `directory`, so many at a time; a file that cannot be loaded is a failure.

    Those that say `LONG = True` begin first, so that at the end no lane is left alone with one of them.
    """
    left_out: Counter[str] = Counter()
    long: list[lanes.Piece] = []
    others: list[lanes.Piece] = []
    for file in sorted(directory.glob("test_*.py")):
        try:
            module = _load(file)
        except Exception:
            tally.fail(suite, file.stem, traceback.format_exc())
            continue
        chosen = _chosen(suite, module, selection, left_out)
        if chosen.countTestCases():
            (long if getattr(module, "LONG", False) else others).append(_piece(suite, file.stem, chosen))
    lanes.run(long + others, jobs, tally)
    for why, count in left_out.items():
        tally.note(f"        {suite}: {count} {why}")
