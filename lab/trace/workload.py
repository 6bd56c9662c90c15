"""A workload for the simulator of what threads did while they were traced (docs/simulation.md): the JSON, and what is to be said of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lab.problem import Problem
from lab.trace.lives import Await, Compute, Deed, Life, Lives, Make, Rouse, Sleep, Yield, lives
from lab.trace.records import Record, Switch

IN_A_PHASE = 64  # actions; it is one line of the file
USUAL_PRIORITY, LOWEST_OF_REAL_TIME = 120, 99  # kernel/trace/head.h
MEND = "record with ./corral trace -- PROGRAM"


@dataclass(frozen=True)
class Derived:
    text: str  # the JSON
    notes: list[str]  # what it has, and what is not as it was


def derived(found: Sequence[Record]) -> Derived:
    """A Problem when the records do not tell what threads did."""
    if not any(isinstance(record, Switch) for record in found):
        raise Problem("no switches between threads are recorded", MEND)
    known = lives(found)
    # Without losses, who was there before is not of the program that was traced.
    ours = [life for life in known.threads if life.made or known.lost]
    if not ours:
        raise Problem("no thread is recorded that began meanwhile", MEND)
    names = _names(ours)
    return Derived(_text(ours, names, known.cores), _notes(ours, names, known))


def _names(ours: Sequence[Life]) -> dict[Life, str]:
    """By number, and a third part where a number was used again."""
    taken: dict[str, Life] = {}
    for life in ours:
        name = wanted = f"{life.name}-{life.number}"
        again = 1
        while name in taken:
            again += 1
            name = f"{wanted}-{again}"
        taken[name] = life
    return {life: name for name, life in taken.items()}


def _us(ns: int) -> int | float:
    return ns // 1000 if ns % 1000 == 0 else ns / 1000


def _priority(life: Life) -> dict[str, object]:
    """That with which it computed longest."""
    found = life.priorities.most_common(1)[0][0] if life.priorities else USUAL_PRIORITY
    if found < LOWEST_OF_REAL_TIME:  # -1: with a deadline
        return {"policy": "SCHED_FIFO", "priority": LOWEST_OF_REAL_TIME - max(found, 0)}
    return {"priority": found - USUAL_PRIORITY} if found != USUAL_PRIORITY else {}


def _actions(life: Life, names: dict[Life, str]) -> Iterator[tuple[str, object]]:
    computed = 0
    for deed in (*life.deeds, None):
        if isinstance(deed, Compute):
            computed += deed.ns  # those next to each other are one: what was between them came to nothing
            continue
        action = None if deed is None else _action(deed, life, names)
        if deed is not None and action is None:
            continue
        if computed:
            yield "run", _us(computed)
            computed = 0
        if action is not None:
            yield action


def _action(deed: Deed, life: Life, names: dict[Life, str]) -> tuple[str, object] | None:
    match deed:
        case Await(waker=waker) if waker in names:
            return "down", names[life]
        case (Sleep(ns=ns) | Await(ns=ns)) if ns:
            return "sleep", _us(ns)
        case Rouse(whom=whom, awaited=True) if whom in names:
            return "up", names[whom]
        case Make(whom=whom) if whom in names:
            return "fork", names[whom]
        case Yield():
            return "yield", ""
    return None


def _phases(actions: Sequence[tuple[str, object]]) -> dict[str, dict[str, object]]:
    lines = [actions[at : at + IN_A_PHASE] for at in range(0, len(actions), IN_A_PHASE)]
    return {str(number): {f"{kind}{at}": value for at, (kind, value) in enumerate(line)} for number, line in enumerate(lines)}


def _text(ours: Sequence[Life], names: dict[Life, str], cores: int) -> str:
    begin = min(life.begin for life in ours)
    tasks = []
    for life in ours:
        head: dict[str, object] = {"loop": 1, **_priority(life)}
        if life.maker in names:
            head["instance"] = 0  # until it is made
        elif life.begin > begin:
            head["delay"] = _us(life.begin - begin)
        phases = _phases(list(_actions(life, names)) or [("run", 0)])
        lines = ",\n".join(f"   {json.dumps(name)}: {json.dumps(actions)}" for name, actions in phases.items())
        tasks.append(f'  {json.dumps(names[life])}: {json.dumps(head)[:-1]}, "phases": {{\n{lines}\n  }}}}')
    return f'{{\n "machine": {{"cores": {cores}}},\n "tasks": {{\n' + ",\n".join(tasks) + "\n }\n}\n"


def _notes(ours: Sequence[Life], names: dict[Life, str], known: Lives) -> list[str]:
    deeds = [deed for life in ours for deed in life.deeds]
    waits = sum(isinstance(deed, Await) and deed.waker in names for deed in deeds)
    sleeps = sum(isinstance(deed, Sleep | Await) for deed in deeds) - waits
    length = max(known.end - min(life.begin for life in ours), 0)
    notes = [f"{len(ours)} threads in {length / 1e6:.3f} ms: {sum(life.computed() for life in ours) / 1e6:.3f} ms of computing, "
             f"{sleeps} sleeps, {waits} waits for each other"]
    if known.lost:
        notes.append(f"{known.lost} records were lost: what came before those that every core has is missing, "
                     f"and who was there already has its end only")
    if not known.wakers:
        notes.append("interrupts and messages are not recorded, so nobody knows who woke whom: all waits are sleeps of the length that they had")
    unmade = sum(life.made and life.maker not in names for life in ours)
    if unmade > 1:  # the first one's is who traces
        notes.append(f"{unmade} threads begin when they did, as it is not known which of the others made them")
    if any(-1 in life.priorities for life in ours):
        notes.append("threads with a deadline are SCHED_FIFO here, with the highest priority")
    changed = sum(len(life.priorities) > 1 for life in ours)
    if changed:
        notes.append(f"{changed} threads changed their priority: each has the one with which it computed longest")
    return notes
