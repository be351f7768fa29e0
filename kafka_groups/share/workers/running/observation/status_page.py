"""The page that shows the status of a running worker in a browser, without scripts and without other files."""

import html
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from kafka_groups.errors.texts import counted
from kafka_groups.share.workers.rules.window import NOT_READY_AT
from kafka_groups.share.workers.status import FailureStatus, HandlerStatus, RetryTopicStatus, WindowStatus, WorkerStatus

__all__ = ["status_page"]

_REFRESH_S: Final = 5
_NOTHING: Final = "-"
# The policy forbids whatever the page might load or run, should a name ever get past the escapes.
_PAGE: Final = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta http-equiv="refresh" content="{refresh}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font-family: system-ui, sans-serif; margin: 1.5rem; }}
div {{ overflow-x: auto; }}
table {{ border-collapse: collapse; }}
th, td {{ padding: 0.3rem 0.6rem; border-bottom: 1px solid #8886; text-align: left; vertical-align: top; }}
td.number {{ text-align: right; font-variant-numeric: tabular-nums; }}
.bad {{ color: #d33; font-weight: 600; }}
</style>
</head>
<body>
<h1>{title}</h1>
<p>{state}. {processes}. {time}.</p>
{reasons}
<div><table>
<thead><tr>{headings}</tr></thead>
<tbody>
{rows}
</tbody>
</table></div>
<p>{left_out}This page reloads every {refresh} seconds. <a href="/status">/status</a> has it as JSON, \
<a href="/metrics">/metrics</a> for Prometheus.</p>
</body>
</html>
"""
_HEADINGS: Final = (
    "Handler",
    "Topics",
    "Records/s",
    "Running",
    "Held",
    "Waiting",
    "Delayed",
    "Writing",
    "Fullest window",
    "Retry topics",
    "Unconfirmed outputs",
    "Breaker",
    "Last error",
)


def status_page(status: WorkerStatus) -> str:
    """Return the page."""
    restarts = f", {counted(status.restarts, 'restart')}" if status.restarts else ""
    return _PAGE.format(
        refresh=_REFRESH_S,
        title=_text(f"Worker of {status.group}"),
        state=_state(status),
        processes=_text(counted(status.processes, "process") + restarts),
        time=_time(status.at_ms),
        reasons=_reasons(status.reasons),
        headings="".join(f"<th>{each}</th>" for each in _HEADINGS),
        rows="\n".join(map(_row, status.handlers)),
        left_out=f"Handlers and reasons left out: {status.left_out}. " if status.left_out else "",
    )


def _state(status: WorkerStatus) -> str:
    if status.is_ready:
        return "Ready"
    return _bad("Not ready" if status.is_live else "Not live: it needs a restart")


def _reasons(reasons: Iterable[str]) -> str:
    items = "".join(f"<li>{_text(each)}</li>" for each in reasons)
    return f"<ul>{items}</ul>" if items else ""


def _row(handler: HandlerStatus) -> str:
    flight = handler.in_flight
    numbers = [_rate(handler), flight.running, flight.held, flight.waiting, flight.delayed, flight.writing]
    cells = [
        _cell(_text(handler.name)),
        _cell(_lines(map(_text, handler.topics))),
        *map(_number, numbers),
        _cell(_window(handler.fullest_window)),
        _cell(_lines(map(_retry_topic, handler.retry_topics))),
        _number(handler.unconfirmed_outputs),
        _cell(_bad("open") if handler.is_breaker_open else "closed"),
        _cell(_failure(handler.last_error)),
    ]
    return f"<tr>{''.join(cells)}</tr>"


def _rate(handler: HandlerStatus) -> str:
    limit = "" if handler.rate_limit is None else f", limited to {handler.rate_limit:g}"
    return f"{handler.rate:.1f}{limit}"


def _cell(shown: str) -> str:
    return f"<td>{shown}</td>"


def _number(number: object) -> str:
    return f'<td class="number">{number}</td>'


def _lines(lines: Iterable[str]) -> str:
    return "<br>".join(lines) or _NOTHING


def _window(window: WindowStatus | None) -> str:
    if window is None:
        return _NOTHING
    text = f"{window.used:.0%} of {_text(window.topic)}-{window.partition}, from offset {window.oldest_offset} on"
    return _bad(text) if window.used >= NOT_READY_AT else text


def _retry_topic(topic: RetryTopicStatus) -> str:
    return f"{_text(topic.topic)}: {topic.waiting} waiting, {topic.due} due"


def _failure(failure: FailureStatus | None) -> str:
    if failure is None:
        return _NOTHING
    place = f"{_text(failure.topic)}-{failure.partition}@{failure.offset}"
    return f"{_text(failure.error_type)}, {failure.count} times, last at {place}, {_time(failure.at_ms)}"


def _bad(shown: str) -> str:
    return f'<span class="bad">{shown}</span>'


def _time(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(sep=" ", timespec="seconds").replace("+00:00", " UTC")


def _text(text: str) -> str:
    """Return a text for the page. Control characters would move the cursor of a terminal that shows its source."""
    return html.escape("".join(each if each.isprintable() else repr(each)[1:-1] for each in text))
