"""Draws the pictures of time, which are text on the pages, as SVG in the colours of the page.

A picture is a block of text after a line `<!-- timeline: NAME -->`. Its first line is the axis of minutes, with the
headings of the columns of results. Readers of the source, of a terminal and of the search index keep the text, which is
also the description of the drawing.
"""

import re
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any, Final

from attrs import frozen

__all__ = ["Timeline", "on_page_markdown", "read"]

_PICTURE = re.compile(r"<!-- timeline: (?P<name>[a-z-]+) -->\n```text\n(?P<text>.*?)\n```", re.DOTALL)
_WORDS = re.compile(r"\S+(?: \S+)*")
_MARK = re.compile(r"[^\s\[\]()─▶┄]+")
_BAR = re.compile(r"(?P<opening>[\[(])(?P<inside>[^\[\]()▶]*)(?P<closing>[\])▶])(?P<grace>┄*)")
_COLUMNS_OF_A_MINUTE: Final = 3

_CHARACTER, _MINUTE, _ROW, _GAP = 8, 34, 30, 18
"""The widths of a character and a minute, the height of a row, and the space between columns, in CSS pixels."""


@frozen
class Span:
    """A span of time.

    Attributes:
        start: Its start in minutes.
        end: Its end in minutes.
        opening: `[`, or `(` if the start does not belong to it.
        closing: `]`, or `)` if the end does not belong to it, or `▶` if it has none.
        grace: The minutes after its end in which it takes late records.
    """

    start: float
    end: float
    opening: str
    closing: str
    grace: float


@frozen
class TimelineRow:
    """A row: its name, texts with their minutes, a span of time, and the texts of its columns."""

    name: str
    marks: Sequence[tuple[float, str]]
    span: Span | None
    results: Sequence[str]


@frozen
class Timeline:
    """A picture: the last minute of its axis, the headings of its columns, and its rows."""

    minutes: int
    headings: Sequence[str]
    rows: Sequence[TimelineRow]


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace the pictures of a page with drawings."""
    return _PICTURE.sub(lambda match: _drawn(match["text"]), markdown)


# --------------------------------------------------------------------------------------------- reading


def read(text: str) -> Timeline:
    """Read a picture. Each row has its parts below those of the axis, so positions tell what a text is."""
    axis, *lines = text.splitlines()
    left, minutes = axis.index("0"), 0
    while axis[left + _COLUMNS_OF_A_MINUTE * (minutes + 1) :].startswith(f"{minutes + 1}"):
        minutes += 1
    begin = left + _COLUMNS_OF_A_MINUTE * minutes + len(str(minutes))
    headings = [(match.start(), match[0]) for match in _WORDS.finditer(axis, begin)]
    edges = [start for start, _ in headings]
    return Timeline(minutes, [words for _, words in headings], [_row(line, left, edges) for line in lines])


def _row(line: str, left: int, edges: Sequence[int]) -> TimelineRow:
    time = line[left : edges[0] if edges else None]
    results = [line[start:end].strip() for start, end in zip(edges, [*edges[1:], None], strict=True)]
    return TimelineRow(line[:left].strip(), list(_marks(time)), _span(time), results)


def _marks(time: str) -> Iterator[tuple[float, str]]:
    return ((match.start() / _COLUMNS_OF_A_MINUTE, match[0]) for match in _MARK.finditer(time))


def _span(time: str) -> Span | None:
    found = _BAR.search(time)
    if found is None:
        return None
    start, end, grace = found.start() / _COLUMNS_OF_A_MINUTE, found.start("closing"), len(found["grace"])
    # A span that is a moment is written as a pair of brackets.
    end_minute = start if end == found.start() + 1 else end / _COLUMNS_OF_A_MINUTE
    return Span(start, end_minute, found["opening"], found["closing"], grace / _COLUMNS_OF_A_MINUTE)


# --------------------------------------------------------------------------------------------- drawing


@frozen
class _Layout:
    """Where things are, in CSS pixels."""

    left: float
    columns: Sequence[float]
    width: float

    def at(self, minute: float) -> float:
        return self.left + minute * _MINUTE


def _layout(timeline: Timeline) -> _Layout:
    left = _GAP + _CHARACTER * max(len(name) for name in ("minute", *(row.name for row in timeline.rows)))
    ends = [minute * _MINUTE + _CHARACTER * len(text) for row in timeline.rows for minute, text in row.marks]
    at = left + max([timeline.minutes * _MINUTE + _GAP, *ends]) + _GAP
    columns = []
    for number, heading in enumerate(timeline.headings):
        columns.append(at)
        at += _CHARACTER * max(len(text) for text in (heading, *(row.results[number] for row in timeline.rows))) + _GAP
    return _Layout(left, columns, at)


def _drawn(text: str) -> str:
    timeline = read(text)
    layout, height = _layout(timeline), _ROW * (len(timeline.rows) + 1)
    parts = [*_axis(timeline, layout, height)]
    for number, row in enumerate(timeline.rows, 1):
        parts += _row_parts(row, layout, _ROW * number + _ROW / 2)
    return (
        f'<div class="timeline"><svg role="img" width="{layout.width:g}" height="{height}" '
        f'viewBox="0 0 {layout.width:g} {height}"><desc>{escape(text)}</desc>{"".join(parts)}</svg></div>'
    )


def _axis(timeline: Timeline, layout: _Layout, height: float) -> Iterator[str]:
    yield _text(0, _ROW / 2, "minute", "heading")
    for minute in range(timeline.minutes + 1):
        x = layout.at(minute)
        yield f'<line class="minute" x1="{x:g}" x2="{x:g}" y1="{_ROW}" y2="{height:g}"/>'
        yield _text(x, _ROW / 2, str(minute), "heading middle")
    for x, heading in zip(layout.columns, timeline.headings, strict=True):
        yield _text(x, _ROW / 2, heading, "heading")


def _row_parts(row: TimelineRow, layout: _Layout, y: float) -> Iterator[str]:
    yield _text(0, y, row.name, "name")
    if row.span is not None:
        yield from _span_parts(row.span, layout, y)
    for minute, text in row.marks:
        yield from _mark_parts(layout.at(minute), y, text)
    for x, text in zip(layout.columns, row.results, strict=True):
        yield _text(x, y, text, "result")


def _span_parts(span: Span, layout: _Layout, y: float) -> Iterator[str]:
    start, end, half = layout.at(span.start), layout.at(span.end), _ROW * 0.3
    if span.grace:
        after = layout.at(span.end + span.grace)
        yield f'<rect class="grace" x="{end:g}" y="{y - half:g}" width="{after - end:g}" height="{2 * half:g}"/>'
    yield f'<rect class="span" x="{start:g}" y="{y - half:g}" width="{max(end - start, 3):g}" height="{2 * half:g}"/>'
    if span.opening == "[":
        yield _bound(start, y, half)
    if span.closing == "]":
        yield _bound(end, y, half)
    if span.closing == "▶":
        yield f'<path class="endless" d="M{end:g} {y - half:g} l{half:g} {half:g} l-{half:g} {half:g} z"/>'


def _bound(x: float, y: float, half: float) -> str:
    """Draw the bound of a span that belongs to it."""
    return f'<line class="bound" x1="{x:g}" x2="{x:g}" y1="{y - half:g}" y2="{y + half:g}"/>'


def _mark_parts(x: float, y: float, text: str) -> Iterator[str]:
    radius = _ROW / 3
    # A letter is centred at its minute. A word begins there, as it would cover what is to its left.
    width = 2 * radius if len(text) == 1 else 2 * radius + _CHARACTER * (len(text) - 1)
    at, top = x - radius, y - radius
    yield f'<rect class="mark" x="{at:g}" y="{top:g}" width="{width:g}" height="{2 * radius:g}" rx="{radius:g}"/>'
    yield _text(at + width / 2, y, text, "middle")


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:g}">{escape(text)}</text>' if text else ""
