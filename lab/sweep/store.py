"""A sweep's results: one SQLite file. Each point is one transaction, so that an interruption loses only what was under way.

To be asked by anybody's tools: the view `measurements` has a line for each figure (docs/sweeps.md).
"""

from __future__ import annotations

import fcntl
import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path

from lab import paths
from lab.bench.results import VERSION, Results, Row, check_version, medians
from lab.problem import WRONG_USE, Problem
from lab.sweep.measure import Outcome
from lab.sweep.origin import different
from lab.sweep.points import Point

MAGIC = b"SQLite format 3\0"
SCHEMA = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE points (
  key TEXT PRIMARY KEY, workload TEXT NOT NULL, definition TEXT NOT NULL, system TEXT NOT NULL, instrument TEXT NOT NULL,
  cores INTEGER NOT NULL, options TEXT NOT NULL, seed INTEGER NOT NULL, repeat INTEGER NOT NULL,
  failure TEXT NOT NULL, seconds REAL NOT NULL, ended TEXT NOT NULL);
CREATE TABLE figures (
  key TEXT NOT NULL REFERENCES points, threads INTEGER NOT NULL, metric TEXT NOT NULL, value REAL NOT NULL, better TEXT NOT NULL);
CREATE VIEW measurements AS
  SELECT workload, system, instrument, cores, options, seed, repeat, threads, metric, value, better, ended
  FROM points JOIN figures USING (key) WHERE failure = '';
"""


OF_LAST_RUN = ("command", "grid")  # facts
LATER = ", later "


def _history(before: str | None, fact: str) -> str:
    """What a fact was in each run, without saying the same twice in a row."""
    return fact if before is None else before if before.split(LATER)[-1] == fact else f"{before}{LATER}{fact}"


def is_store(file: Path) -> bool:
    with open(file, "rb") as opened:
        return opened.read(len(MAGIC)) == MAGIC


class Store:
    """One file, opened for one sweep: another one that wants to write there is refused."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.kept = 0  # points, by this process
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            # Opened before and closed after the database: to close a file gives back SQLite's locks on it.
            self._lock = open(file, "ab")
        except OSError as error:
            raise Problem(f"{file} cannot be written: {error.strerror}", "give --output another place", WRONG_USE) from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._lock.close()
            raise Problem(f"another sweep is writing {paths.shown(file)}", "wait for it, or give --output another place") from None
        self._database = sqlite3.connect(file, isolation_level=None)
        try:
            with self._explained():
                self._prepare()
        except Problem:
            self.close()
            raise

    def _prepare(self) -> None:
        if not self._database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            self._database.executescript(f"BEGIN;{SCHEMA}PRAGMA user_version = {VERSION};COMMIT;")
        check_version(self._database.execute("PRAGMA user_version").fetchone()[0], paths.shown(self.file))

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """What the disk refuses, or has changed, is said as something to mend; what is kept stays kept."""
        try:
            yield
        except ValueError as error:  # what stands there is not what this class writes
            raise self._damaged(error) from None
        except sqlite3.DatabaseError as error:
            code = getattr(error, "sqlite_errorcode", 0)
            if code == sqlite3.SQLITE_NOTADB:
                raise Problem(f"{paths.shown(self.file)} is no file of results", "give --output another place", WRONG_USE) from None
            if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR):  # the latter: it lacks a table
                raise self._damaged(error) from None
            raise Problem(f"{paths.shown(self.file)} cannot be written: {error}; {self.kept} points of this run are kept there",
                          "make room on the disk, then the same command again goes on") from None

    def _damaged(self, error: Exception) -> Problem:
        return Problem(f"{paths.shown(self.file)} is damaged, or another program's: {error}; nothing is written to it",
                       "give --output another file; `sqlite3 FILE .recover` may save what stands in this one")

    def close(self) -> None:
        self._database.close()
        self._lock.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def begin(self, facts: Mapping[str, str], origin: Mapping[str, str]) -> None:
        """Before anything is kept. What the figures depend on (lab/sweep/origin.py) must be the same in all runs of a file; of other facts
        each is kept that there was, in the order of time, but of those of the last run.
        """
        with self._explained():
            kept = dict(self._database.execute("SELECT name, value FROM facts"))
            before: dict[str, str] = json.loads(kept.get("origin", "{}"))
        mend = "give --output another file, and ./corral compare the two"
        if "origin" not in kept and self.done():
            raise Problem(f"{paths.shown(self.file)}: an older Corral wrote it, without what its results depend on", mend, WRONG_USE)
        if changed := different(before, ((name, digest) for name, digest in origin.items() if name in before)):
            raise Problem(f"{paths.shown(self.file)}: its results are of another {changed}", mend, WRONG_USE)
        now = {name: fact if name in OF_LAST_RUN else _history(kept.get(name), fact) for name, fact in facts.items()}
        with self._explained():
            self._database.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)",
                                       [*now.items(), ("origin", json.dumps({**before, **origin}))])

    def done(self) -> set[str]:
        """Keys of the points that have figures."""
        with self._explained():
            return {key for (key,) in self._database.execute("SELECT key FROM points WHERE failure = ''")}

    def keep(self, point: Point, outcome: Outcome) -> None:
        ended = datetime.now(timezone.utc).isoformat(timespec="seconds")
        values = {**asdict(point), "key": point.key, "failure": outcome.failure, "seconds": outcome.seconds, "ended": ended}
        names = ", ".join(values)
        with self._explained():
            self._database.execute("BEGIN IMMEDIATE")
            try:
                self._database.execute("DELETE FROM figures WHERE key = ?", (point.key,))
                self._database.execute(f"INSERT OR REPLACE INTO points ({names}) VALUES ({', '.join('?' * len(values))})",
                                       tuple(values.values()))
                self._database.executemany("INSERT INTO figures VALUES (?, ?, ?, ?, ?)",
                                           [(point.key, row.threads, row.metric, row.value, row.better) for row in outcome.rows])
                self._database.execute("COMMIT")
            except sqlite3.Error:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise
        self.kept += 1

    def failures(self, keys: set[str]) -> list[tuple[str, str]]:
        """Of these points: key and reason, in the order of time."""
        with self._explained():
            rows = self._database.execute("SELECT key, failure FROM points WHERE failure != '' ORDER BY ended, key")
            return [(key, failure) for key, failure in rows if key in keys]


def load(file: Path) -> list[Results]:
    """A file's results, those of each workload by themselves. A Problem when it is none or of another version."""
    # Not read-only: who was killed while writing has left a journal, by which SQLite first takes back what is half written.
    database = sqlite3.connect(f"{file.resolve().as_uri()}?mode=rw", uri=True)
    try:
        check_version(database.execute("PRAGMA user_version").fetchone()[0], paths.shown(file))
        facts = dict(database.execute("SELECT name, value FROM facts"))
        columns = "workload, system, instrument, cores, threads, metric, value, options, seed, better"
        rows: dict[str, list[Row]] = {}
        for workload, *values in database.execute(f"SELECT {columns} FROM measurements ORDER BY workload, repeat"):
            rows.setdefault(workload, []).append(Row(*values))
        host = {name: value for name, value in facts.items() if name not in (*OF_LAST_RUN, "origin", "products")}
        return [Results(workload, medians(found), facts.get("command", ""), host) for workload, found in rows.items()]
    except (sqlite3.DatabaseError, ValueError, TypeError) as error:
        raise Problem(f"{paths.shown(file)} cannot be read: {error}", "name a file that ./corral sweep wrote", WRONG_USE) from None
    finally:
        database.close()
