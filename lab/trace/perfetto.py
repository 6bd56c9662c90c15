"""The trace as Chrome's JSON, which ui.perfetto.dev opens: a row for each core and one for each thread.

Format: "Trace Event Format" (Google). Times are microseconds. Wake-ups are arrows from the waker to the first run.
"""

from __future__ import annotations

import json
from typing import Any

from lab.trace.records import (
    Call,
    Interrupt,
    Label,
    Loss,
    Message,
    Migration,
    Placement,
    PolicyChange,
    Record,
    Switch,
    Wake,
)

CORES, THREADS = 1, 2  # the two groups of rows
STATES = {"S": "sleeps", "R": "gave way", "R+": "preempted", "X": "ended"}

Event = dict[str, Any]


def _us(time: int) -> float:
    return time / 1000


class Timeline:
    def __init__(self, calls: dict[int, str]) -> None:
        self.events: list[Event] = []
        self._calls = calls
        self._running: dict[int, tuple[Label, int]] = {}  # by core: who, since when
        self._names: dict[int, str] = {}
        self._arrows: dict[int, int] = {}  # by thread: the arrow that ends when it runs
        self._arrow = 0

    def _add(self, kind: str, name: str, time: int, group: int, row: int, **more: object) -> None:
        self.events.append({"ph": kind, "name": name, "ts": _us(time), "pid": group, "tid": row, **more})

    def _instant(self, name: str, record: Record, **arguments: object) -> None:
        self._add("i", name, record.time, CORES, record.core, s="t", args=arguments)

    def _ran(self, record: Switch) -> None:
        who, since = self._running.get(record.core, (record.previous, record.time))
        if who.number == record.previous.number:
            who = record.previous  # it may be called otherwise by now (execve)
        self._slice(record.core, who, since, record.time, STATES.get(record.state, record.state))
        self._running[record.core] = (record.next, record.time)
        arrow = self._arrows.pop(record.next.number, None)
        if arrow is not None:
            self._add("f", "wake-up", record.time, CORES, record.core, id=arrow, bp="e", cat="wake-up")

    def _slice(self, core: int, who: Label, since: int, until: int, end: str) -> None:
        if who.number <= 0:
            return
        self._names[who.number] = who.name
        how = {"end": end, "priority": who.priority, "core": core}
        self._add("X", f"{who.name} {who.number}", since, CORES, core, dur=_us(until - since), args=how)
        self._add("X", f"core {core}", since, THREADS, who.number, dur=_us(until - since), args=how)

    def stop(self, time: int) -> None:
        """Nothing is told of what follows: who ran until then goes on, as far as one can see."""
        for core, (who, since) in sorted(self._running.items()):
            self._slice(core, who, since, time, "the trace ends")

    def _woke(self, record: Wake) -> None:
        if record.kind == "woken":
            return
        self._arrow += 1
        self._arrows[record.thread.number] = self._arrow
        self._add("s", "wake-up", record.time, CORES, record.core, id=self._arrow, cat="wake-up")
        what = "is new" if record.kind == "created" else "is woken"
        self._instant(f"{record.thread.name} {record.thread.number} {what}", record)

    def add(self, record: Record) -> None:
        match record:
            case Switch():
                self._ran(record)
            case Wake():
                self._woke(record)
            case Migration():
                self._instant(f"migrates {record.thread.name} {record.thread.number}", record,
                              origin=record.origin, target=record.target, reason=record.reason)
            case Placement():
                numbers = {f"core {core}": score for core, score in record.scores.items()}
                what = f"score in {record.unit}" if record.unit else "threads, not its score"
                self._instant(f"places {record.thread} on core {record.chosen}", record, reason=record.reason,
                              candidates=record.candidates, **{what: numbers})
            case Message():
                self._instant(f"{'sends' if record.sent else 'takes'} {record.type}", record,
                              **({} if record.target is None else {"to": record.target}))
            case Interrupt():
                name = record.name or f"vector {record.vector}"
                self._add("B" if record.begins else "E", name, record.time, CORES, record.core)
            case Call():
                self._call(record)
            case PolicyChange():
                self._instant(f"{record.what} {record.name}", record)
            case Loss():
                self._instant(f"{record.records} records lost", record)

    def _call(self, record: Call) -> None:
        name = self._calls.get(record.number, f"call {record.number}")
        arguments = {"answer": record.values[0]} if not record.begins else {
            f"argument {at}": hex(value) for at, value in enumerate(record.values)}
        self._add("B" if record.begins else "E", name, record.time, THREADS, record.thread, args=arguments)

    def rows(self, cores: int) -> list[Event]:
        """Names and order of the rows."""
        def name(kind: str, group: int, row: int, text: str) -> Event:
            return {"ph": "M", "name": kind, "pid": group, "tid": row, "args": {"name": text}}

        rows = [name("process_name", CORES, 0, "cores"), name("process_name", THREADS, 0, "threads")]
        rows += [name("thread_name", CORES, core, f"core {core}") for core in range(cores)]
        rows += [name("thread_name", THREADS, thread, f"{text} {thread}") for thread, text in sorted(self._names.items())]
        return rows


def text(records: list[Record], cores: int, calls: dict[int, str]) -> str:
    """`calls`: names of system calls by their numbers."""
    timeline = Timeline(calls)
    for record in records:
        timeline.add(record)
    if records:
        timeline.stop(records[-1].time)
    shown = {"traceEvents": timeline.rows(cores) + timeline.events, "displayTimeUnit": "ns"}
    return json.dumps(shown, separators=(",", ":"))
