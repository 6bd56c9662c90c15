"""The trace as the text that Linux's ftrace prints (Linux: Documentation/trace/ftrace.rst), so that its tools read it too:
sched_switch, sched_waking, sched_wakeup, sched_wakeup_new and sched_migrate_task.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lab.trace.records import Label, Migration, Record, Switch, Wake

HEADER = """\
# tracer: nop
#
# entries-in-buffer/entries-written: {entries}/{entries}   #P:{cores}
#
#                                _-----=> irqs-off/BH-disabled
#                               / _----=> need-resched
#                              | / _---=> hardirq/softirq
#                              || / _--=> preempt-depth
#                              ||| / _-=> migrate-disable
#                              |||| /     delay
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
#              | |         |   |||||     |         |
"""
FLAGS = "d..2."  # interrupts off, not preemptible: as the kernel always is
WAKES = {"waking": "sched_waking", "woken": "sched_wakeup", "created": "sched_wakeup_new"}


def _name(label: Label, core: int) -> str:
    return f"swapper/{core}" if label.number == 0 else label.name


def _event(record: Record) -> str | None:
    match record:
        case Switch(core=core, previous=previous, state=state, next=following):
            return (f"sched_switch: prev_comm={_name(previous, core)} prev_pid={previous.number} prev_prio={previous.priority} "
                    f"prev_state={state} ==> next_comm={_name(following, core)} next_pid={following.number} "
                    f"next_prio={following.priority}")
        case Wake(kind=kind, thread=thread, target=target):
            return f"{WAKES[kind]}: comm={thread.name} pid={thread.number} prio={thread.priority} target_cpu={target:03d}"
        case Migration(thread=thread, origin=origin, target=target):
            return (f"sched_migrate_task: comm={thread.name} pid={thread.number} prio={thread.priority} "
                    f"orig_cpu={origin} dest_cpu={target}")
    return None


def _first_running(records: Iterable[Record]) -> dict[int, Label]:
    """Who ran on each core before its first switch."""
    first: dict[int, Label] = {}
    for record in records:
        if isinstance(record, Switch):
            first.setdefault(record.core, record.previous)
    return first


def lines(records: list[Record]) -> Iterator[str]:
    running = _first_running(records)
    for record in records:
        event = _event(record)
        if event is not None:
            task = running.get(record.core)
            name, number = (task.name, task.number) if task is not None and task.number > 0 else ("<idle>", 0)
            seconds, rest = divmod(record.time, 1_000_000_000)
            yield f"{name:>16}-{number:<7} [{record.core:03d}] {FLAGS} {seconds:>5}.{rest // 1000:06d}: {event}"
        if isinstance(record, Switch):
            running[record.core] = record.next


def text(records: list[Record], cores: int) -> str:
    body = list(lines(records))
    return HEADER.format(entries=len(body), cores=cores) + "".join(line + "\n" for line in body)
