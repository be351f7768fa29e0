"""Pictures of joins, with the results of topologies."""

from collections.abc import Callable, Mapping
from datetime import timedelta

from kafka_groups import serdes
from kafka_groups.streams import JoinWindows, KStream, KTable, StreamsBuilder
from tests.docs.timelines.arrivals import Build, drawn
from tests.docs.timelines.drawing import Bar

__all__ = ["JOIN_PICTURES"]

WINDOWS = JoinWindows(before=timedelta(minutes=1), after=timedelta(minutes=3), grace=timedelta(minutes=1))


def _pair(left: str | None, right: str | None) -> str:
    return f"{left or 'None'}+{right or 'None'}"


def _stream(builder: StreamsBuilder, topic: str) -> KStream[str, str]:
    return builder.stream(topic, key=serdes.string, value=serdes.string)


def _table(builder: StreamsBuilder, topic: str) -> KTable[str, str]:
    return builder.table(topic, key=serdes.string, value=serdes.string)


STREAMS: Mapping[str, Build] = {
    "join": lambda builder: _stream(builder, "left").join(_stream(builder, "right"), _pair, windows=WINDOWS),
    "left_join": lambda builder: _stream(builder, "left").left_join(_stream(builder, "right"), _pair, windows=WINDOWS),
    "outer_join": lambda builder: _stream(builder, "left").outer_join(
        _stream(builder, "right"), _pair, windows=WINDOWS
    ),
}
WITH_TABLE: Mapping[str, Build] = {
    "join": lambda builder: _stream(builder, "stream").join(_table(builder, "table"), _pair),
    "left_join": lambda builder: _stream(builder, "stream").left_join(_table(builder, "table"), _pair),
}
TABLES: Mapping[str, Build] = {
    "join": lambda builder: _table(builder, "left").join(_table(builder, "right"), _pair).to_stream(),
    "left_join": lambda builder: _table(builder, "left").left_join(_table(builder, "right"), _pair).to_stream(),
    "outer_join": lambda builder: _table(builder, "left").outer_join(_table(builder, "right"), _pair).to_stream(),
}


def _global(builder: StreamsBuilder) -> KStream[str, str]:
    names = builder.global_table("customers", key=serdes.string, value=serdes.string)
    return _stream(builder, "orders").left_join(names, _pair, on=lambda _, customer: customer)


def _foreign(builder: StreamsBuilder) -> KTable[str, str]:
    return _table(builder, "orders")


FOREIGN: Mapping[str, Build] = {
    "join": lambda builder: (
        _foreign(builder)
        .join(_table(builder, "customers"), lambda _, name: name, on=lambda _, customer: customer, value=serdes.string)
        .to_stream()
    ),
    "left_join": lambda builder: (
        _foreign(builder)
        .left_join(
            _table(builder, "customers"),
            lambda _, name: f"{name}",
            on=lambda _, customer: customer,
            value=serdes.string,
        )
        .to_stream()
    ),
}

JOIN_PICTURES: Mapping[str, Callable[[], str]] = {
    "stream-stream": lambda: drawn(
        14,
        [
            ("left", "k", "a", 3),
            ("right", "k", "x", 2),
            ("right", "k", "y", 6),
            ("right", "k", "z", 7),
            ("left", "k", "b", 9),
            ("left", "k", "c", 14),
            ("right", "k", "w", 8),
        ],
        STREAMS,
        {0: Bar(2, 6, "]", 1), 4: Bar(8, 12, "]", 1)},
    ),
    "stream-table": lambda: drawn(
        6,
        [
            ("stream", "k", "a", 1),
            ("table", "k", "x", 2),
            ("stream", "k", "b", 3),
            ("table", "k", "y", 4),
            ("stream", "k", "c", 5),
            ("stream", "k", "d", 3),
            ("table", "k", None, 6),
            ("stream", "k", "e", 6),
        ],
        WITH_TABLE,
    ),
    "stream-global": lambda: drawn(
        4,
        [
            ("orders", "1", "ann", 1),
            ("customers", "ann", "Ann", 2),
            ("orders", "2", "ann", 3),
            ("orders", "3", "bob", 4),
        ],
        {"left_join": _global},
    ),
    "table-table": lambda: drawn(
        6,
        [
            ("left", "k", "a", 1),
            ("right", "k", "x", 2),
            ("left", "k", "b", 3),
            ("right", "k", "y", 4),
            ("right", "k", None, 5),
            ("left", "k", None, 6),
        ],
        TABLES,
    ),
    "foreign-key": lambda: drawn(
        6,
        [
            ("orders", "1", "ann", 1),
            ("customers", "ann", "Ann", 2),
            ("orders", "2", "ann", 3),
            ("customers", "ann", "Anna", 4),
            ("orders", "1", "bob", 5),
            ("customers", "bob", "Bob", 6),
        ],
        FOREIGN,
    ),
}
