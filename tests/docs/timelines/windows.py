"""Pictures of windows, with the results of topologies."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta

from kafka_groups import serdes
from kafka_groups.serdes import Serde, Windowed
from kafka_groups.streams import (
    EmitStrategy,
    KTable,
    SessionWindows,
    SlidingWindows,
    StreamsBuilder,
    Suppressed,
    TimeWindows,
    UnlimitedWindows,
)
from tests.docs.timelines.arrivals import Brought, brought_by
from tests.docs.timelines.drawing import MINUTE_MS, Bar, Drawing, Row

__all__ = ["WINDOW_PICTURES"]

Windows = TimeWindows | SlidingWindows | SessionWindows | UnlimitedWindows
Records = Sequence[tuple[str, float]]
"""Values and their minutes, in the order in which they arrive."""

GRACE = timedelta(minutes=1)
FIVE = timedelta(minutes=5)
TUMBLING = TimeWindows(FIVE, grace=GRACE)
SESSIONS = SessionWindows(timedelta(minutes=3), grace=GRACE)

ON_TIME: Records = [("a", 1), ("b", 3), ("c", 5), ("d", 8)]
LATE: Records = [("a", 1), ("b", 5.5), ("c", 4), ("d", 6), ("e", 3)]
MERGING: Records = [("a", 1), ("b", 3), ("c", 6.5), ("d", 5)]


def of_all(windows: Windows, records: Records, minutes: int, closing: str = ")") -> str:
    """Draw the windows that there are in the end, with the records in each."""
    found: dict[Windowed[str], str] = {}
    for results in outputs(windows, records):
        for key, value in results.records:
            found.pop(key, None)
            if value is not None:
                found[key] = value
    rows = [
        Row(_interval(key, closing), bar=_bar(key, closing), results=[found[key]])
        for key in sorted(found, key=lambda key: (key.window.start_ms, key.window.end_ms))
    ]
    marks = [(minute, value) for value, minute in records]
    return Drawing(minutes, [Row("records", marks), *rows], ["contains"]).text()


def of_arrivals(
    windows: Windows, records: Records, minutes: int, shown: Sequence[Row], strategies: Mapping[str, EmitStrategy]
) -> str:
    """Draw records in the order of their arrival, and the results that each brings."""
    columns = [outputs(windows, records, strategy) for strategy in strategies.values()]
    rows = [
        Row(f"{value} arrives", [(minute, value)], results=[_results(column[number]) for column in columns])
        for number, (value, minute) in enumerate(records)
    ]
    return Drawing(minutes, [*shown, *rows], list(strategies)).text()


def outputs(windows: Windows, records: Records, strategy: EmitStrategy | None = None) -> list[Brought[Windowed[str]]]:
    """Return the results that each record brings, as keys and values."""
    emitted = EmitStrategy.on_window_update() if strategy is None else strategy
    return _piped(_table(windows, emitted), _key(windows), records)


def suppressed_outputs(windows: Windows, records: Records) -> list[Brought[Windowed[str]]]:
    """Return the results that each record brings if the table is suppressed until windows close."""

    def table(builder: StreamsBuilder) -> KTable[Windowed[str], str]:
        made = _table(windows, EmitStrategy.on_window_update())(builder)
        return made.suppress(Suppressed.until_window_closes())

    return _piped(table, _key(windows), records)


def _table(windows: Windows, strategy: EmitStrategy) -> Callable[[StreamsBuilder], KTable[Windowed[str], str]]:
    def table(builder: StreamsBuilder) -> KTable[Windowed[str], str]:
        grouped = builder.stream("records", key=serdes.string, value=serdes.string).group_by_key()
        if isinstance(windows, SessionWindows):
            sessions = grouped.windowed_by(windows).emit_strategy(strategy)
            return sessions.aggregate(str, _add, lambda _, one, other: _sorted(one, other), value=serdes.string)
        return grouped.windowed_by(windows).emit_strategy(strategy).aggregate(str, _add, value=serdes.string)

    return table


def _add(_key: str, value: str, found: str) -> str:
    return _sorted(found, value)


def _sorted(*texts: str) -> str:
    return " ".join(sorted(" ".join(texts).split()))


def _key(windows: Windows) -> Serde[Windowed[str]]:
    if isinstance(windows, SessionWindows):
        return serdes.session_windowed(serdes.string)
    return serdes.time_windowed(serdes.string, max(windows.size_ms, 1))


def _piped(
    table: Callable[[StreamsBuilder], KTable[Windowed[str], str]], key: Serde[Windowed[str]], records: Records
) -> list[Brought[Windowed[str]]]:
    builder = StreamsBuilder()
    table(builder).to_stream().to("results", key=key, value=serdes.string)
    arrivals = [("records", "key", value, minute) for value, minute in records]
    return brought_by(builder.build(), arrivals, key)


def _results(brought: Brought[Windowed[str]]) -> str:
    return brought.shown(lambda key, value: f"{_span(key)}: {value}")


def _span(key: Windowed[str]) -> str:
    return f"{_minute(key.window.start_ms)}-{_minute(key.window.end_ms)}"


def _interval(key: Windowed[str], closing: str) -> str:
    return f"{_opening(key)}{_minute(key.window.start_ms)}, {_minute(key.window.end_ms)}{closing}"


def _opening(key: Windowed[str]) -> str:
    """Return the character at the start. The right window of a record begins 1 ms after it."""
    return "(" if key.window.start_ms % 1000 == 1 else "["


def _minute(time_ms: int) -> str:
    return "∞" if time_ms > 2**60 else f"{round(time_ms / MINUTE_MS, 3):g}"


def _bar(key: Windowed[str], closing: str) -> Bar:
    end = None if key.window.end_ms > 2**60 else key.window.end_ms / MINUTE_MS
    return Bar(key.window.start_ms / MINUTE_MS, end, closing, opening=_opening(key))


UPDATE_AND_CLOSE = {"on update": EmitStrategy.on_window_update(), "on close": EmitStrategy.on_window_close()}

WINDOW_PICTURES: Mapping[str, Callable[[], str]] = {
    "tumbling": lambda: of_all(TUMBLING, ON_TIME, 10),
    "hopping": lambda: of_all(TimeWindows(FIVE, advance=timedelta(minutes=2), grace=GRACE), ON_TIME, 13),
    "sliding": lambda: of_all(SlidingWindows(timedelta(minutes=3), grace=GRACE), ON_TIME, 12, "]"),
    "sessions": lambda: of_all(SESSIONS, [("a", 1), ("b", 3), ("c", 7), ("d", 9)], 10, "]"),
    "unlimited": lambda: of_all(UnlimitedWindows(start_ms=2 * MINUTE_MS), ON_TIME, 10),
    "late": lambda: of_arrivals(TUMBLING, LATE, 7, [Row("window 0-5", bar=Bar(0, 5, grace=1))], UPDATE_AND_CLOSE),
    "merging": lambda: of_arrivals(SESSIONS, MERGING, 8, [], {"results": EmitStrategy.on_window_update()}),
}
