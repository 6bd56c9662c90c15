"""Charts of results: bars by cores and threads for each system and choice of options, a menu for the metric."""

from __future__ import annotations

import statistics
from collections import defaultdict
from typing import Any

from lab.bench.plot import COLOURS
from lab.bench.results import Results, Row
from lab.machine import told_cores
from lab.report import findings

Series = tuple[str, str, tuple[str, ...]]  # system, instrument, options
MANY = 3  # metrics, from which on their ratios are a chart of their own


def of(results: Results) -> list[Any]:
    ratios = findings.pairs(results)
    metrics = {metric for _, _, _, metric, _ in ratios}
    return ([_ratios(ratios)] if len(metrics) >= MANY else []) + [_values(results)]


def _ratios(found: dict[tuple[str, int, int, str, str], tuple[float, float]]) -> Any:
    from plotly import graph_objects

    drawn = graph_objects.Figure()
    groups: dict[str, list[tuple[str, float, str]]] = defaultdict(list)
    for (instrument, cores, threads, metric, options), (ours, theirs) in found.items():
        told = f"{metric}: Corral {ours:,g}, Linux {theirs:,g}<br>{cores} cores, {threads} threads {options}"
        groups[f"{instrument}, {cores} cores {options}".strip()].append((metric, ours / theirs, told))
    for name, rows in groups.items():
        drawn.add_bar(orientation="h", name=name, y=[row[0] for row in rows], x=[row[1] for row in rows], customdata=[row[2] for row in rows],
                      hovertemplate="%{customdata}<br>ratio %{x:.3f}<extra></extra>")
    drawn.add_vline(x=1.0, line={"color": COLOURS["linux"], "width": 2})
    rows = max(len(rows) for rows in groups.values()) * max(1, len(groups))
    return _laid_out(drawn, "Corral / Linux", height=140 + 18 * rows, yaxis={"autorange": "reversed"})


def _values(results: Results) -> Any:
    from plotly import graph_objects

    drawn = graph_objects.Figure()
    metrics = list(dict.fromkeys(row.metric for row in results.rows))
    names = _names(results)
    shown: list[str] = []  # the metric of each series
    for metric in metrics:
        series: dict[Series, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
        for row in sorted((row for row in results.rows if row.metric == metric), key=lambda row: (row.cores, row.threads)):
            series[_series(row)][_place(row)].append(row)
        for one, places in series.items():
            samples = {place: [value for row in rows for value in row.samples] for place, rows in places.items()}
            middle = {place: statistics.median(values) for place, values in samples.items()}
            colour = {"color": COLOURS[one[0]]} if not one[2] else None
            drawn.add_bar(name=names[one], x=list(places), y=list(middle.values()), visible=metric == metrics[0], marker=colour,
                          error_y=_spread(middle, samples), hovertemplate="%{y:,g} at %{x}<extra>%{fullData.name}</extra>")
            shown.append(metric)
    if len(metrics) > 1:
        menu = [{"label": metric, "method": "update", "args": [{"visible": [one == metric for one in shown]}, {"yaxis.title.text": metric}]}
                for metric in metrics]
        drawn.update_layout(updatemenus=[{"buttons": menu, "x": 0, "xanchor": "left", "y": 1.18, "yanchor": "top"}])
    return _laid_out(drawn, "", height=440, showlegend=len(names) > 1, yaxis={"title": {"text": metrics[0] if metrics else ""}, "rangemode": "tozero"})


def _series(row: Row) -> Series:
    return row.system, row.instrument, tuple(row.options.split())


def _names(results: Results) -> dict[Series, str]:
    """Each series by the words that not all others have as well; where it has no such words, it has the kernel as it comes."""
    words = {_series(row): {row.system, row.instrument, *row.options.split()} for row in results.rows}
    common = set.intersection(*words.values()) if len(words) > 1 else set()
    return {one: " ".join(word.removeprefix("sched.") for word in (*one[:2], *one[2]) if word not in common) or "as it comes" for one in words}


def _spread(middle: dict[str, float], samples: dict[str, list[float]]) -> dict[str, Any] | None:
    """From the lowest figure to the highest; none where there is one figure."""
    above, below = ([abs(end(samples[place]) - middle[place]) for place in middle] for end in (max, min))
    return {"type": "data", "symmetric": False, "array": above, "arrayminus": below} if any(above + below) else None


def _place(row: Row) -> str:
    return told_cores(row.cores) + (f", {row.threads} threads" if row.threads > 1 else "")


def _laid_out(drawn: Any, title: str, **more: Any) -> Any:
    drawn.update_layout(template="plotly_white", margin={"l": 70, "r": 20, "t": 60, "b": 50}, xaxis_title=title, **more)
    return drawn
