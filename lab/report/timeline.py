"""A run as a picture to look into: a row for each core, a colour for each thread, wake-ups and migrations between the rows.

From the records of `corral trace`. What the mouse points at tells what happened and why: how long a thread ran and how it
ended, whom a placement chose for which reason and what score each candidate had.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lab.trace.perfetto import STATES
from lab.trace.records import HIGHEST_SCORE, Label, Migration, Placement, Record, Switch, Wake

# Of 20 colours that are told apart; the next thread begins again.
COLOURS = ("#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#edc948", "#b07aa1", "#ff9da7", "#9c755f", "#7f7f7f",
           "#1f77b4", "#ffbb78", "#2ca02c", "#d62728", "#17becf", "#bcbd22", "#9467bd", "#e377c2", "#8c564b", "#aec7e8")
MOST_RECORDS = 20_000  # that a browser moves smoothly
HEIGHT = 0.64  # of a row's bars


@dataclass(frozen=True)
class Slice:
    thread: Label
    core: int
    begin: int  # nanoseconds
    end: int
    state: str  # how it ended


@dataclass(frozen=True)
class Arrow:
    """From a core to a core: a wake-up until the thread ran, or a migration."""

    thread: Label
    begin: int
    origin: int
    end: int
    target: int
    text: str


@dataclass(frozen=True)
class Run:
    """What the picture shows."""

    cores: int
    slices: tuple[Slice, ...]
    wakes: tuple[Arrow, ...]
    migrations: tuple[Arrow, ...]
    placements: tuple[Placement, ...]
    left_out: int  # records, after the last one that is shown

    @property
    def names(self) -> dict[int, str]:
        """By a thread's number what it was called last, in the order in which they first ran."""
        return {one.thread.number: one.thread.name for one in self.slices}


def understood(found: Sequence[Record]) -> Run:
    found = [record for record in found if isinstance(record, (Switch, Wake, Migration, Placement))]
    shown = found[:MOST_RECORDS]
    slices: list[Slice] = []
    wakes: list[Arrow] = []
    migrations: list[Arrow] = []
    since: dict[int, int] = {}  # by core
    woken: dict[int, Wake | Placement] = {}  # by thread that has not run yet: the first that was told of it
    for record in shown:
        match record:
            case Switch(time=time, core=core, previous=previous, next=following):
                if previous.number > 0 and core in since:
                    slices.append(Slice(previous, core, since[core], time, record.state))
                since[core] = time
                if first := woken.pop(following.number, None):
                    how = "created" if "created" in (getattr(first, "kind", ""), getattr(first, "reason", "")) else "woken"
                    text = f"{how} on core {first.core}, ran on core {core} {_us(time - first.time)} later"
                    wakes.append(Arrow(following, first.time, first.core, time, core, text))
            case Wake(thread=thread):
                woken.setdefault(thread.number, record)
            case Placement(thread=number):
                woken.setdefault(number, record)
            case Migration(time=time, thread=thread, origin=origin, target=target):
                migrations.append(Arrow(thread, time, origin, time, target, f"migrates from core {origin} to {target}: {record.reason}"))
    placements = tuple(record for record in shown if isinstance(record, Placement))
    return Run(1 + max((record.core for record in found), default=0), tuple(slices), tuple(wakes), tuple(migrations), placements,
               len(found) - len(shown))


def _us(ns: int) -> str:
    return f"{ns / 1000:,.3f} µs"


def _name(thread: Label) -> str:
    return f"{thread.name} {thread.number}"


def figure(run: Run) -> Any:
    """Times are milliseconds since the first record that is shown."""
    from plotly import graph_objects

    begin = min((*(slice.begin for slice in run.slices), *(wake.begin for wake in run.wakes), *(migration.begin for migration in run.migrations),
                 *(placement.time for placement in run.placements)), default=0)

    def ms(time: int) -> float:
        return round((time - begin) / 1e6, 6)

    drawn = graph_objects.Figure()
    for index, (number, name) in enumerate(run.names.items()):
        own = [one for one in run.slices if one.thread.number == number]
        drawn.add_bar(orientation="h", name=f"{name} {number}", base=[ms(one.begin) for one in own], y=[one.core for one in own],
                      x=[ms(one.end) - ms(one.begin) for one in own], width=HEIGHT, marker={"color": COLOURS[index % len(COLOURS)], "line": {"width": 0}},
                      customdata=[_slice_text(one) for one in own], hovertemplate="%{customdata}<extra></extra>", legendgroup="threads")
    for title, arrows, colour, symbol in (("wake-ups", run.wakes, "rgba(40,40,40,0.6)", "triangle-right"), ("migrations", run.migrations, "#c00000", "star")):
        x = [end for arrow in arrows for end in (ms(arrow.begin), ms(arrow.end), None)]
        y = [end for arrow in arrows for end in (arrow.origin, arrow.target, None)]  # None: a gap between two lines
        drawn.add_scatter(x=x, y=y, mode="lines", name=title, legendgroup=title, line={"color": colour, "width": 1.2}, hoverinfo="skip")
        # Only its end tells of it: at its beginning is the placement.
        drawn.add_scatter(x=[ms(arrow.end) for arrow in arrows], y=[arrow.target for arrow in arrows], mode="markers", legendgroup=title,
                          showlegend=False, name=title, marker={"symbol": symbol, "size": 8, "color": colour},
                          customdata=[f"<b>{_name(arrow.thread)}</b><br>{arrow.text}" for arrow in arrows], hovertemplate="%{customdata}<extra></extra>")
    names = run.names
    drawn.add_scatter(x=[ms(one.time) for one in run.placements], y=[one.core for one in run.placements], mode="markers", name="placements",
                      marker={"symbol": "diamond-open", "size": 7, "color": "#202020"}, hovertemplate="%{customdata}<extra></extra>",
                      customdata=[_placement_text(one, names) for one in run.placements])
    drawn.update_layout(
        template="plotly_white", barmode="overlay", hovermode="closest", dragmode="pan", height=160 + 60 * run.cores,
        margin={"l": 70, "r": 20, "t": 20, "b": 50}, xaxis={"title": "ms"},
        yaxis={"tickmode": "array", "tickvals": list(range(run.cores)), "ticktext": [f"core {core}" for core in range(run.cores)],
               "range": [run.cores - 0.4, -0.6], "fixedrange": True})  # fmt: skip
    return drawn


def _slice_text(one: Slice) -> str:
    return (f"<b>{_name(one.thread)}</b> on core {one.core}<br>ran {_us(one.end - one.begin)}, then {STATES.get(one.state, one.state)}"
            f"<br>priority {one.thread.priority}")


def _placement_text(one: Placement, names: dict[int, str]) -> str:
    by = f"the least score, in {one.unit}" if one.unit else "no score; there were, in threads"
    listed = "".join(f"<br>{'→ ' if core == one.chosen else ''}core {core}: {'≥ ' if score == HIGHEST_SCORE else ''}{score:,}"
                     for core, score in one.scores.items())
    more = f"<br>… of {one.candidates} candidates" if one.candidates > len(one.scores) else ""
    return f"<b>{names.get(one.thread, 'thread')} {one.thread}</b> ({one.reason}) is placed on core {one.chosen}, by {by}{listed}{more}"


def summary(run: Run) -> Iterator[str]:
    """For readers who see no picture."""
    if not run.slices:
        yield "No thread ran from beginning to end while the trace was on."
        return
    first, last = min(one.begin for one in run.slices), max(one.end for one in run.slices)
    yield (f"{(last - first) / 1e6:.3f} ms of {run.cores} cores and {len(run.names)} threads: {len(run.slices)} turns, {len(run.wakes)} wake-ups, "
           f"{len(run.placements)} placements, {len(run.migrations)} migrations.")
    for core in range(run.cores):
        busy = sum(one.end - one.begin for one in run.slices if one.core == core)
        yield f"Core {core} was busy for {100 * busy / (last - first or 1):.1f} % of it."
    if run.left_out:
        yield f"The first {MOST_RECORDS} records are shown, {run.left_out} later ones are not: trace less, or fewer events."
