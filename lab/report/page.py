"""The page: one HTML file with everything in it, plotly.js too, so that it opens from disk and without a network."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from lab.bench.results import Results, over_seeds, spread
from lab.report import charts, findings, published

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 1200px; margin: 0 auto; padding: 0 1.5rem 4rem; }
nav { position: sticky; top: 0; background: #fff; border-bottom: 1px solid #ccc; padding: .5rem 0; z-index: 5; }
nav a { margin-right: 1.2rem; }
section { scroll-margin-top: 2.5rem; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid #ddd; }
code { background: #f4f4f4; padding: .1rem .3rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13px; }
th, td { padding: .15rem .7rem; text-align: right; border-bottom: 1px solid #eee; }
th { position: sticky; top: 2.6rem; background: #fff; }
td.words, th.words { text-align: left; }
details { margin: .5rem 0; }
summary { cursor: pointer; }
.table { max-height: 30rem; overflow: auto; }
.table th { top: 0; }
"""
CONFIGURATION = {"scrollZoom": True, "displaylogo": False, "responsive": True}


@dataclass(frozen=True)
class Section:
    name: str  # of its anchor
    title: str
    paragraphs: Sequence[str] = ()  # text
    figures: Sequence[Any] = ()
    table: str = ""  # HTML
    command: str = ""
    facts: dict[str, str] = field(default_factory=dict)


def of_results(name: str, results: Results, file: str) -> Section:
    """`file`: its name, which tells a look and a part from the whole."""
    merged = over_seeds(results)
    return Section(name, f"{results.bench} ({file})", findings.of(results), charts.of(merged), _table(merged), results.command, dict(results.host))


def _table(results: Results) -> str:
    """A line for each point, what others published beside it."""
    ratios = findings.pairs(results)
    columns = published.COLUMNS.get(results.bench, ())
    head = ["metric", "system", "instrument", "options", "cores", "threads", "seed", "median", "runs", "spread", "Corral / Linux"]
    head += [title for title, _ in columns]
    body = []
    for row in results.rows:
        pair = ratios.get((row.instrument, row.cores, row.threads, row.metric, row.options)) if row.system == "corral" else None
        cells = [row.metric, row.system, row.instrument, row.options, str(row.cores), str(row.threads), str(row.seed or ""), f"{row.value:,g}",
                 str(len(row.samples)), f"±{spread(row):.1%}" if len(row.samples) > 1 else "", f"{pair[0] / pair[1]:.3f}" if pair else ""]
        body.append(cells + [cell(row) for _, cell in columns])
    words = 4  # columns of words

    def line(kind: str, cells: Sequence[str]) -> str:
        parts = (f'<{kind}{" class=words" if at < words else ""}>{html.escape(cell)}</{kind}>' for at, cell in enumerate(cells))
        return f"<tr>{''.join(parts)}</tr>"

    rows = "\n".join(line("td", cells) for cells in body)
    return f"<table>\n<thead>{line('th', head)}</thead>\n<tbody>\n{rows}\n</tbody>\n</table>"


def text(sections: Sequence[Section], made: str) -> str:
    """The whole page; `made`: the command that writes it."""
    from plotly.offline import get_plotlyjs

    links = "".join(f'<a href="#{section.name}">{html.escape(section.title)}</a>' for section in sections)
    parts = [_section(section) for section in sections]
    return "\n".join([
        "<!DOCTYPE html>", '<html lang="en">', "<head>", '<meta charset="utf-8">', "<title>Corral: what was measured</title>",
        f"<style>{STYLE}</style>", f"<script>{get_plotlyjs()}</script>", "</head>", "<body>", f"<nav>{links}</nav>",
        "<h1>Corral: what was measured</h1>", f"<p>Written by <code>{html.escape(made)}</code>.</p>", *parts, "</body>", "</html>", "",
    ])  # fmt: skip


def _section(section: Section) -> str:
    out = [f'<section id="{section.name}">', f"<h2>{html.escape(section.title)}</h2>"]
    out += ["<ul>", *(f"<li>{html.escape(paragraph)}</li>" for paragraph in section.paragraphs), "</ul>"]
    out += [_figure(figure, f"{section.name}-{number}") for number, figure in enumerate(section.figures, start=1)]
    if section.table:
        out.append(f'<details><summary>The figures</summary><div class="table">{section.table}</div></details>')
    if section.command:
        out.append(f"<p>Again: <code>{html.escape(section.command)}</code></p>")
    if section.facts:
        out.append(f"<p>Measured on: {html.escape(_facts(section.facts.items()))}</p>")
    return "\n".join([*out, "</section>"])


def _facts(facts: Iterable[tuple[str, str]]) -> str:
    return "; ".join(f"{name} {fact}" for name, fact in facts)


def _figure(figure: Any, name: str) -> str:
    described = figure.to_json().replace("</", "<\\/")  # no text in it may end the script
    return (f'<div id="{name}" class="chart"></div>\n<script>(function (chart) {{ '
            f'Plotly.newPlot("{name}", chart.data, chart.layout, {json.dumps(CONFIGURATION)}); }})({described});</script>')
