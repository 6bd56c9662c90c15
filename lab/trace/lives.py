"""What each thread did, from the records of switches and wake-ups: for how long it computed, what it slept for, whom it woke and made.

A sleep ends when the thread is woken, not when it runs: what lies between depends on policies. Who woke it is the thread that the
core ran then, unless it handled an interrupt or a message of another core; so without records of these nobody is known to have woken
anybody. After a message the thread acts again when one of its calls is told, or a switch; until then it is rather nobody.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from lab.trace.records import Call, Interrupt, Label, Loss, Message, Placement, Record, Switch, Wake


@dataclass
class Compute:
    ns: int


@dataclass
class Sleep:
    """Until something else than a known thread wakes it."""

    ns: int


@dataclass
class Await:
    """Until another thread wakes it, which has a Rouse for that."""

    waker: Life
    ns: int  # that it took


@dataclass
class Rouse:
    waker: Life
    whom: Life
    awaited: bool = False  # a sleep ended by it; else it came to nothing


@dataclass
class Make:
    whom: Life


@dataclass
class Yield:
    pass


Deed = Compute | Sleep | Await | Rouse | Make | Yield


@dataclass(eq=False)
class Life:
    """Of one thread."""

    number: int
    name: str
    begin: int
    made: bool  # in the records; else it was there before them
    maker: Life | None = None
    deeds: list[Deed] = field(default_factory=list)
    priorities: Counter[int] = field(default_factory=Counter)  # nanoseconds of computing with each, as Linux shows them
    ended: bool = False
    # While the records are gone through:
    priority: int = 120
    since: int | None = None  # it runs, and has deeds up to then
    asleep: int | None = None  # since when
    woken: tuple[int, Rouse | None] | None = None  # when, and by whom if that is known; not asleep: for the sleep that begins next

    def computes_until(self, time: int) -> None:
        assert self.since is not None
        if time > self.since:
            self.priorities[self.priority] += time - self.since
            if self.deeds and isinstance(self.deeds[-1], Compute):
                self.deeds[-1].ns += time - self.since
            else:
                self.deeds.append(Compute(time - self.since))
        self.since = time

    def computed(self) -> int:
        return sum(deed.ns for deed in self.deeds if isinstance(deed, Compute))

    def wakes_up(self, time: int) -> None:
        """It is about to run, or waits for that. Of a thread that slept: that is over; `time`, if nothing has told when."""
        if self.asleep is None:
            return
        when, rouse = self.woken or (time, None)
        slept = max(when - self.asleep, 0)
        if rouse is not None:
            rouse.awaited = True
            self.deeds.append(Await(rouse.waker, slept))
        elif slept:
            self.deeds.append(Sleep(slept))
        self.asleep = None


@dataclass
class Lives:
    threads: list[Life]  # in the order in which they were first seen
    end: int
    cores: int  # as far as the records tell
    lost: int  # records
    wakers: bool  # whether the records can tell who woke whom


def lives(found: Sequence[Record]) -> Lives:
    """`found` is in the order of time. Where records were lost, what counts is that from which on all cores have theirs."""
    losses = [record for record in found if isinstance(record, Loss)]
    begin = max((record.time for record in losses), default=found[0].time if found else 0)
    cores = max((core for record in found for core in _cores_in(record)), default=0) + 1
    kinds = {type(record) for record in found}
    wakers = Interrupt in kinds and (cores == 1 or Message in kinds)
    reader = _Reader(begin, wakers)
    for record in found:
        reader.take(record)
    end = found[-1].time if found else 0
    known = reader.finish()
    return Lives(known, end, cores, sum(record.records for record in losses), wakers)


def _cores_in(record: Record) -> tuple[int, ...]:
    match record:
        case Wake(core=core, target=target):
            return core, target
        case Placement(core=core, chosen=chosen, scores=scores):
            return core, chosen, *scores
        case _:
            return (record.core,)


class _Reader:
    def __init__(self, begin: int, wakers: bool) -> None:
        self.begin = begin  # of what counts; before that is only looked at who runs
        self.wakers = wakers
        self.known: dict[int, Life] = {}
        self.all: list[Life] = []
        self.current: dict[int, Label] = {}  # by core
        self.last: dict[int, int] = {}  # record of a core: its time
        self.handled: defaultdict[int, int] = defaultdict(int)  # interrupts, by core: how many, one within the other
        self.for_others: set[int] = set()  # cores that took a message, and have not told of their thread since
        self.begun = False

    def life(self, label: Label, time: int, made: bool = False) -> Life:
        life = self.known.get(label.number)
        if life is None or (made and life.ended):  # a number may be used again
            life = Life(label.number, label.name, time, made)
            self.known[label.number] = life
            self.all.append(life)
        life.name = label.name or life.name
        return life

    def take(self, record: Record) -> None:
        if record.time >= self.begin and not self.begun:
            self.begun = True
            for label in self.current.values():
                if label.number > 0:
                    self.life(label, self.begin).since = self.begin
        self.last[record.core] = record.time
        match record:
            case Interrupt(core=core, begins=begins):
                self.handled[core] = self.handled[core] + 1 if begins else max(self.handled[core] - 1, 0)
            case Message(core=core, sent=False):
                self.for_others.add(core)
            case Call(core=core):
                self.for_others.discard(core)
            case Switch(core=core, next=following):
                self.for_others.discard(core)
                if self.begun:
                    self.switch(record)
                self.current[core] = following
            case Wake() if self.begun:
                self.wake(record)
            case Placement(reason="created") if self.begun:
                self.created(record)

    def switch(self, record: Switch) -> None:
        if record.previous.number > 0:
            self.leaves(record)
        if record.next.number > 0:
            life = self.life(record.next, self.begin)
            life.wakes_up(record.time)
            life.since, life.woken, life.priority = record.time, None, record.next.priority

    def leaves(self, record: Switch) -> None:
        life = self.life(record.previous, self.begin)
        if life.since is None:  # it ran before the first record of this core
            life.since, life.priority = record.time if life.deeds else self.begin, record.previous.priority
        life.computes_until(record.time)
        life.since = None
        if record.state == "X":
            life.ended = True
        elif record.state == "R":
            life.deeds.append(Yield())
        elif not record.state.startswith("R"):
            life.asleep = record.time

    def waker(self, core: int) -> Life | None:
        """Who runs there and acts by itself."""
        label = self.current.get(core)
        if not self.wakers or self.handled[core] or core in self.for_others or label is None or label.number <= 0:
            return None
        return self.life(label, self.begin)

    def wake(self, record: Wake) -> None:
        if record.kind == "created":
            self.life(record.thread, record.time, made=True)
            return
        if record.thread.number not in self.known:  # it has slept since before the records
            self.life(record.thread, self.begin).asleep = self.begin
        life = self.life(record.thread, self.begin)
        if record.kind == "waking":
            self.waking(life, record)
        else:
            life.wakes_up(record.time)

    def waking(self, life: Life, record: Wake) -> None:
        if life.asleep is not None and life.woken is not None and life.woken[0] >= life.asleep:
            return  # it is awake already
        rouse = None
        waker = self.waker(record.core)
        if waker is not None and waker is not life and waker.since is not None:
            waker.computes_until(record.time)
            rouse = Rouse(waker, life)
            waker.deeds.append(rouse)
        life.woken = record.time, rouse

    def created(self, record: Placement) -> None:
        life = self.life(Label("", record.thread, 0), record.time, made=True)
        maker = self.waker(record.core)
        if maker is not None and maker.since is not None:
            maker.computes_until(record.time)
            maker.deeds.append(Make(life))
            life.maker = maker

    def finish(self) -> list[Life]:
        """Who runs at the end has computed as far as its core tells: the trace may end before it tells that somebody left."""
        for core, label in self.current.items():
            life = self.known.get(label.number)
            if life is not None and life.since is not None:
                life.computes_until(self.last[core])
        return [life for life in self.all if life.deeds or life.made]
