"""The page about a run: what the application computed, how it went, and its topology."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Final

import plotly.graph_objects as plotly
from plotly.subplots import make_subplots

from kafka_groups.cli.demo.streams.outcome import RunEvent, StreamsOutcome
from kafka_groups.cli.demo.streams.topology import Sums
from kafka_groups.streams import Topology

__all__ = ["mean_by_day", "write_page"]

_TITLES: Final = ("Mean delay by day", "Mean delay by airline", "Committed results while the processes came and went")
_PAGE: Final = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>kafka-groups streams demo</title>
<style>
body {{ font-family: system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }}
pre {{ overflow: auto; }}
</style>
</head>
<body>
<h1>Delays of {flights:,} flights, exactly once</h1>
<p>{verdict}</p>
{figure}
<h2>The topology</h2>
<p>A browser that is online draws it with Mermaid; without a network you see its text.</p>
<pre class="mermaid">
{topology}
</pre>
<script type="module">
import mermaid from "https://cdn.jsdelivr.net/npm/mermaid@11/dist/mermaid.esm.min.mjs";
mermaid.initialize({{ startOnLoad: true }});
</script>
</body>
</html>
"""


def write_page(path: Path, outcome: StreamsOutcome, topology: Topology) -> None:
    """Write the page. It holds all that its plots need.

    Raises:
        OSError: The file cannot be written.
    """
    figure = _figure(outcome).to_html(full_html=False, include_plotlyjs=True)
    verdict = "Every flight has exactly one committed result." if outcome.holds else "; ".join(outcome.faults()) + "."
    drawing = escape(topology.to_mermaid())
    page = _PAGE.format(flights=outcome.published, verdict=escape(verdict), figure=figure, topology=drawing)
    path.write_text(page, encoding="utf-8")


def mean_by_day(sums: Mapping[str, Sums]) -> list[tuple[datetime, float]]:
    """Return the mean delay of all airlines, in minutes, day by day."""
    days: defaultdict[int, Sums] = defaultdict(Sums)
    for key, each in sums.items():
        day_ms = int(key.rpartition("|")[2])
        days[day_ms] = days[day_ms].and_also(each)
    return [(datetime.fromtimestamp(day / 1_000, UTC), days[day].mean_minutes) for day in sorted(days)]


def _figure(outcome: StreamsOutcome) -> plotly.Figure:
    layout = [[{}, {}], [{"colspan": 2}, None]]
    figure = make_subplots(rows=2, cols=2, specs=layout, subplot_titles=_TITLES)
    days, means = zip(*mean_by_day(outcome.sums), strict=True)
    figure.add_trace(plotly.Scatter(x=days, y=means, name="minutes"), row=1, col=1)
    airlines = sorted(outcome.by_airline.items(), key=lambda item: item[1].mean_minutes)
    names, minutes = [name for name, _ in airlines], [each.mean_minutes for _, each in airlines]
    figure.add_trace(plotly.Bar(x=minutes, y=names, orientation="h", name="minutes"), row=1, col=2)
    seconds, results = zip(*outcome.timeline, strict=True)
    figure.add_trace(plotly.Scatter(x=seconds, y=results, name="results"), row=2, col=1)
    _mark(figure, outcome.events)
    figure.update_layout(height=900, showlegend=False)
    return figure


def _mark(figure: plotly.Figure, events: Sequence[RunEvent]) -> None:
    for event in events:
        figure.add_vline(x=event.second, line_dash="dot", annotation_text=event.text, row=2, col=1)
