"""The records of /dev/trace: 64 bytes each, laid out in kernel/trace/record.h."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lab.problem import Problem

SIZE = 64
HEAD = struct.Struct("<QBBHi")
NO_CORE = 256  # of a message that was taken
NOT_BY_ITSELF = 0x80
PLACEMENT_REASONS = ("created", "woken")
REASON_BITS = 4  # of a placement's detail; above them the unit
SCORE_UNITS = ("", "threads", "weight", "pages", "points", "priority")
SCORES = 11  # as many a record has
HIGHEST_SCORE = 0xFF_FFFF  # of one that is higher, too
MIGRATION_REASONS = ("placed", "mask", "real_time", "pushed", "pulled", "offered", "global")
DECISIONS = range(14, 21)  # for the simulator (docs/replay.md)
LOST = 13
CALLED, CALLED_WITH_ARGUMENTS = 21, 22
WITH_ARGUMENTS = 1  # of a call that begins
MESSAGES = ("none", "thread", "arrive", "drop_translations", "remote_call", "deferred_call", "shared_timer",
            "reschedule", "real_time_room", "pull_request", "pull_refused", "core_groups", "queues", "wall_clock", "stop")


@dataclass(frozen=True)
class Label:
    """A thread as it was then; number 0: the core sleeps."""

    name: str
    number: int
    priority: int


@dataclass(frozen=True)
class Record:
    time: int  # nanoseconds
    core: int


@dataclass(frozen=True)
class Switch(Record):
    previous: Label
    state: str  # R S X, and R+: it would have gone on
    next: Label


@dataclass(frozen=True)
class Wake(Record):
    kind: str  # waking woken created
    thread: Label
    target: int


@dataclass(frozen=True)
class Migration(Record):
    thread: Label
    origin: int
    target: int
    reason: str


@dataclass(frozen=True)
class Placement(Record):
    thread: int
    reason: str
    chosen: int
    candidates: int
    unit: str  # of SCORE_UNITS; "": the choice went by no score
    scores: dict[int, int]  # of the first candidates and of the chosen one, the least is best; without scores: their threads


@dataclass(frozen=True)
class Message(Record):
    sent: bool
    type: str
    target: int | None


@dataclass(frozen=True)
class Interrupt(Record):
    begins: bool
    vector: int
    name: str


@dataclass(frozen=True)
class Call(Record):
    begins: bool
    thread: int
    number: int
    values: tuple[int, ...]  # the arguments, if they were wanted; at the end the answer


@dataclass(frozen=True)
class PolicyChange(Record):
    what: str
    name: str


@dataclass(frozen=True)
class Loss(Record):
    records: int


def _text(data: bytes) -> str:
    return data.split(b"\0", 1)[0].decode("utf-8", "replace")


def _state(detail: int) -> str:
    return chr(detail & 0x7F) + ("+" if detail & NOT_BY_ITSELF else "")


def _switch(time: int, core: int, detail: int, thread: int, data: bytes) -> Record:
    next_name, next_priority, following, name, priority = struct.unpack_from("<16sii16si", data)
    return Switch(time, core, Label(_text(name), thread, priority), _state(detail or ord("R")),
                  Label(_text(next_name), following, next_priority))


def _wake(kind: str, time: int, core: int, thread: int, data: bytes) -> Record:
    name, priority, target = struct.unpack_from("<16siI", data)
    return Wake(time, core, kind, Label(_text(name), thread, priority), target)


def _migration(time: int, core: int, detail: int, thread: int, data: bytes) -> Record:
    name, priority, origin, target = struct.unpack_from("<16siII", data)
    return Migration(time, core, Label(_text(name), thread, priority), origin, target, MIGRATION_REASONS[detail])


def _placement(time: int, core: int, detail: int, thread: int, data: bytes) -> Record:
    chosen, candidates, *words = struct.unpack_from(f"<2H{SCORES}I", data)
    scores = {word & 0xFF: word >> 8 for word in words[:candidates]}
    unit, reason = divmod(detail, 1 << REASON_BITS)
    return Placement(time, core, thread, PLACEMENT_REASONS[reason], chosen, candidates, SCORE_UNITS[unit], scores)


def _message(sent: bool, time: int, core: int, data: bytes) -> Record:
    kind, target = struct.unpack_from("<II", data)
    return Message(time, core, sent, MESSAGES[kind], None if target == NO_CORE else target)


def _called(with_arguments: bool, time: int, core: int, thread: int, data: bytes) -> Iterator[Record]:
    number_and_time, answer, *arguments = struct.unpack_from("<6Q", data)
    number = number_and_time & 0xFFFF
    yield Call(time - (number_and_time >> 16), core, True, thread, number, tuple(arguments) if with_arguments else ())
    yield Call(time, core, False, thread, number, (answer,))


def _decoded(record: bytes) -> Record:
    time, event, detail, core, thread = HEAD.unpack_from(record)
    data = record[HEAD.size :]
    match event:
        case 0:
            return _switch(time, core, detail, thread, data)
        case 1 | 2 | 3:
            return _wake(("waking", "woken", "created")[event - 1], time, core, thread, data)
        case 4:
            return _migration(time, core, detail, thread, data)
        case 5:
            return _placement(time, core, detail, thread, data)
        case 6 | 7:
            return _message(event == 6, time, core, data)
        case 8 | 9:
            return Interrupt(time, core, event == 8, struct.unpack_from("<I", data)[0], _text(data[4:20]))
        case 10 | 11:
            number, *values = struct.unpack_from("<6Q", data)
            known = len(values) if detail == WITH_ARGUMENTS else 0
            return Call(time, core, event == 10, thread, number, tuple(values[: known if event == 10 else 1]))
        case 12:
            return PolicyChange(time, core, _text(data[:16]), _text(data[16:48]))
        case 13:
            return Loss(time, core, struct.unpack_from("<Q", data)[0])
        case _:
            raise Problem(f"a record of the kind {event}, which this version does not know",
                          "use the kernel and the lab of the same version")


def decoded(data: bytes) -> list[Record]:
    """All records for people in the order of time; those of one core stay in theirs."""
    if len(data) % SIZE:
        raise Problem(f"{len(data)} bytes are not whole records of {SIZE}", "trace again: the file was cut off, or is no trace")
    try:
        return sorted(_each(data), key=lambda record: record.time)
    except IndexError:  # a reason, or a kind of message, that has no name here
        raise Problem("these are no records of a trace, or another version's", "use the kernel and the lab of the same version") from None


def _each(data: bytes) -> Iterator[Record]:
    for at in range(0, len(data), SIZE):
        record = data[at : at + SIZE]
        time, event, _, core, thread = HEAD.unpack_from(record)
        if event in (CALLED, CALLED_WITH_ARGUMENTS):
            yield from _called(event == CALLED_WITH_ARGUMENTS, time, core, thread, record[HEAD.size :])
        elif event not in DECISIONS:
            yield _decoded(record)


def read(file: Path) -> list[Record]:
    return decoded(file.read_bytes())
