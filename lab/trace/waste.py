"""How long cores idled while threads waited for others, from the records of switches and wake-ups.

A core idles when it runs nobody and nobody is in its queue; a thread waits when it is in the queue of a core that has somebody else
to run. Each thread that waits is set against one idle core, at every moment: the time of cores that was thrown away. A thread on its
way to another core is neither here nor there.
"""

from __future__ import annotations

from collections.abc import Iterable

from lab.trace.records import Migration, Record, Switch, Wake


def idle_beside_waiting(found: Iterable[Record], cores: int) -> int:
    """Nanoseconds of cores. `found` is in the order of time; before its first record everybody sleeps."""
    running = dict.fromkeys(range(cores), 0)  # by core: a thread's number; 0: none
    queued: dict[int, int] = {}  # by thread that waits: its core
    sent: set[int] = set()  # threads that left for another core, while what they ran on has not told of its next one
    total, last = 0, 0
    for record in found:
        total += _wasted_now(running, queued) * (record.time - last)
        last = record.time
        match record:
            case Switch(core=core, previous=previous, state=state, next=following):
                if previous.number > 0 and state.startswith("R") and previous.number not in sent:
                    queued[previous.number] = core
                sent.discard(previous.number)
                queued.pop(following.number, None)
                running[core] = following.number
            case Wake(kind="woken" | "created", core=core, thread=thread):
                if running[core] != thread.number:
                    queued[thread.number] = core
            case Migration(thread=thread):
                queued.pop(thread.number, None)
                if thread.number in running.values():
                    sent.add(thread.number)
    return total


def _wasted_now(running: dict[int, int], queued: dict[int, int]) -> int:
    """Pairs of an idle core and a waiting thread."""
    here = dict.fromkeys(running, 0)
    for core in queued.values():
        here[core] += 1
    idle = sum(running[core] == 0 and here[core] == 0 for core in running)
    waiting = sum(here[core] - (1 if running[core] == 0 and here[core] else 0) for core in running)
    return min(idle, waiting)
