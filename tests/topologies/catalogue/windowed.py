"""Windowed aggregations. Windows of 100 ms, sessions with gaps of 50 ms."""

import struct

from kafka_groups.serdes import Serde, Windowed, of, session_windowed, time_windowed
from kafka_groups.streams import (
    EmitStrategy,
    KGroupedStream,
    KTable,
    SessionWindows,
    SlidingWindows,
    StreamsBuilder,
    TimeWindows,
    UnlimitedWindows,
)
from tests.topologies.catalogue.aggregates import cogrouped, grouped
from tests.topologies.catalogue.functions import (
    LONG,
    TEXT,
    added,
    by_length,
    concatenated,
    letter,
    merged,
    ms,
    removed,
    start,
    subtracted,
    summed,
    texts,
    words,
    zero,
)
from tests.topologies.catalogue.registry import Twins

__all__ = [
    "SIZE",
    "hopping",
    "session",
    "session_texts",
    "sliding_with_grace",
    "timed",
    "timed_texts",
    "tumbling",
    "twins",
]

SIZE, GAP, GRACE, LONG_TIME = ms(100), ms(50), ms(70), ms(60_000)


twins = Twins()


def key_and_start(windowed: Windowed[str]) -> bytes:
    """Key and start of a window that has no end, as Java writes them."""
    return windowed.key.encode() + struct.pack(">q", windowed.window.start_ms)


def no_window(_data: bytes) -> Windowed[str]:
    """Nobody reads windows without an end."""
    raise NotImplementedError


UNLIMITED: Serde[Windowed[str]] = of(Windowed, key_and_start, no_window)


def tumbling() -> TimeWindows:
    """One window after the other, without grace."""
    return TimeWindows(SIZE, grace=ms(0))


def tumbling_with_grace() -> TimeWindows:
    """One window after the other."""
    return TimeWindows(SIZE, grace=GRACE)


def hopping() -> TimeWindows:
    """Windows that overlap."""
    return TimeWindows(SIZE, advance=ms(30), grace=GRACE)


def sliding_with_grace() -> SlidingWindows:
    """Windows around records."""
    return SlidingWindows(SIZE, grace=GRACE)


def session() -> SessionWindows:
    """Sessions."""
    return SessionWindows(GAP, grace=GRACE)


def timed(counted: KTable[Windowed[str], int]) -> None:
    """Write numbers of windows."""
    counted.to_stream().to("out", key=time_windowed(TEXT, SIZE), value=LONG)


def timed_texts(table: KTable[Windowed[str], str]) -> None:
    """Write texts of windows."""
    table.to_stream().to("out", key=time_windowed(TEXT, SIZE), value=TEXT)


def session_counts(counted: KTable[Windowed[str], int]) -> None:
    """Write numbers of sessions."""
    counted.to_stream().to("out", key=session_windowed(TEXT), value=LONG)


def session_texts(table: KTable[Windowed[str], str]) -> None:
    """Write texts of sessions."""
    table.to_stream().to("out", key=session_windowed(TEXT), value=TEXT)


def several(_window: object, count: int | None) -> bool:
    """Whether there are more records than one."""
    return count is not None and count > 1


def by_word(builder: StreamsBuilder) -> KGroupedStream[str, str]:
    """The words of records, several with one key and time."""
    return texts(builder, "in").flat_map_values(words, value=TEXT).group_by_key()


def summed_by_key(counted: KTable[Windowed[str], int]) -> None:
    """Sum the counts of all windows of a key."""
    summed_up = counted.group_by(lambda window, count: (window.key, count), key=TEXT, value=LONG).aggregate(
        zero, summed, subtracted, value=LONG
    )
    summed_up.to_stream().to("out", value=LONG)


twins.dsl("tumbling_count", lambda builder: timed(grouped(builder).windowed_by(tumbling()).count()))
twins.dsl(
    "tumbling_grace",
    lambda builder: timed(grouped(builder).windowed_by(tumbling_with_grace()).count(store="counts")),
)
twins.dsl("tumbling_reduce", lambda builder: timed_texts(grouped(builder).windowed_by(tumbling()).reduce(concatenated)))
twins.dsl(
    "tumbling_aggregate",
    lambda builder: timed_texts(
        grouped(builder).windowed_by(tumbling()).aggregate(start, added, value=TEXT, name="adding")
    ),
)
twins.dsl(
    "tumbling_retention",
    lambda builder: timed(grouped(builder).windowed_by(tumbling()).count(store="counts", retention=ms(1000))),
)
twins.dsl(
    "tumbling_by_letter",
    lambda builder: timed(texts(builder, "in").group_by(letter, key=TEXT).windowed_by(tumbling()).count()),
)
twins.dsl("hopping_count", lambda builder: timed(grouped(builder).windowed_by(hopping()).count()))
twins.dsl(
    "hopping_aggregate",
    lambda builder: timed_texts(
        grouped(builder).windowed_by(hopping()).aggregate(start, added, value=TEXT, store="texts")
    ),
)
twins.dsl(
    "unlimited_count",
    lambda builder: (
        grouped(builder)
        .windowed_by(UnlimitedWindows(start_ms=50))
        .count()
        .to_stream()
        .to("out", key=UNLIMITED, value=LONG)
    ),
)
twins.dsl(
    "windowed_chain",
    lambda builder: (
        grouped(builder)
        .windowed_by(hopping())
        .count()
        .filter(several)
        .map_values(lambda count: f"n{count}", value=TEXT)
        .to_stream()
        .select_key(lambda window, _count: f"{window.key}@{window.window.start_ms}", key=TEXT)
        .to("out", value=TEXT)
    ),
)
twins.dsl("windowed_table_grouped", lambda builder: summed_by_key(grouped(builder).windowed_by(tumbling()).count()))
twins.dsl(
    "sliding_count",
    lambda builder: timed(grouped(builder).windowed_by(SlidingWindows(SIZE, grace=ms(0))).count()),
)
twins.dsl(
    "sliding_aggregate",
    lambda builder: timed_texts(
        grouped(builder).windowed_by(sliding_with_grace()).aggregate(start, added, value=TEXT, store="texts")
    ),
)
twins.dsl(
    "sliding_reduce",
    lambda builder: timed_texts(grouped(builder).windowed_by(sliding_with_grace()).reduce(concatenated)),
)
twins.dsl(
    "session_count",
    lambda builder: session_counts(grouped(builder).windowed_by(SessionWindows(GAP, grace=ms(0))).count()),
)
twins.dsl(
    "session_aggregate",
    lambda builder: session_texts(
        grouped(builder).windowed_by(session()).aggregate(start, added, merged, value=TEXT, store="texts")
    ),
)
twins.dsl(
    "session_reduce",
    lambda builder: session_texts(grouped(builder).windowed_by(session()).reduce(concatenated, name="reducing")),
)
twins.dsl(
    "session_retention",
    lambda builder: session_counts(grouped(builder).windowed_by(session()).count(store="counts", retention=ms(1000))),
)
twins.dsl(
    "session_kept",
    lambda builder: session_texts(
        grouped(builder)
        .windowed_by(session())
        .aggregate(start, added, merged, value=TEXT, store="texts", retention=LONG_TIME)
    ),
)
twins.dsl(
    "sliding_kept",
    lambda builder: timed_texts(
        grouped(builder)
        .windowed_by(sliding_with_grace())
        .aggregate(start, added, value=TEXT, store="texts", retention=LONG_TIME)
    ),
)
twins.dsl(
    "sliding_then_group",
    lambda builder: (
        grouped(builder)
        .windowed_by(sliding_with_grace())
        .reduce(concatenated, store="texts", retention=LONG_TIME)
        .group_by(lambda window, text: by_length(window.key, text), key=TEXT, value=TEXT)
        .aggregate(start, added, removed, value=TEXT)
        .to_stream()
        .to("out", value=TEXT)
    ),
)
twins.dsl("session_table_grouped", lambda builder: summed_by_key(grouped(builder).windowed_by(session()).count()))
twins.dsl(
    "tumbling_on_close",
    lambda builder: timed(
        grouped(builder)
        .windowed_by(tumbling_with_grace())
        .emit_strategy(EmitStrategy.on_window_close())
        .count(store="counts", retention=LONG_TIME)
    ),
)
twins.dsl(
    "tumbling_on_close_unkept",
    lambda builder: timed(
        grouped(builder).windowed_by(tumbling_with_grace()).emit_strategy(EmitStrategy.on_window_close()).count()
    ),
)
twins.dsl(
    "hopping_on_close",
    lambda builder: timed_texts(
        grouped(builder)
        .windowed_by(hopping())
        .emit_strategy(EmitStrategy.on_window_close())
        .aggregate(start, added, value=TEXT, store="texts", retention=LONG_TIME)
    ),
)
twins.dsl(
    "sliding_on_close",
    lambda builder: timed_texts(
        grouped(builder)
        .windowed_by(sliding_with_grace())
        .emit_strategy(EmitStrategy.on_window_close())
        .aggregate(start, added, value=TEXT, store="texts", retention=LONG_TIME)
    ),
)
twins.dsl(
    "session_on_close",
    lambda builder: session_texts(
        grouped(builder)
        .windowed_by(session())
        .emit_strategy(EmitStrategy.on_window_close())
        .aggregate(start, added, merged, value=TEXT, store="texts", retention=LONG_TIME)
    ),
)
twins.dsl(
    "cogroup_tumbling",
    lambda builder: timed_texts(cogrouped(builder).windowed_by(tumbling()).aggregate(start, value=TEXT)),
)
twins.dsl(
    "cogroup_hopping",
    lambda builder: timed_texts(
        cogrouped(builder).windowed_by(hopping()).aggregate(start, value=TEXT, store="texts", retention=LONG_TIME)
    ),
)
twins.dsl(
    "cogroup_sliding",
    lambda builder: timed_texts(
        cogrouped(builder).windowed_by(sliding_with_grace()).aggregate(start, value=TEXT, store="texts")
    ),
)
twins.dsl(
    "cogroup_session",
    lambda builder: session_texts(
        cogrouped(builder).windowed_by(session()).aggregate(start, merged, value=TEXT, name="both")
    ),
)
twins.dsl(
    "words_tumbling",
    lambda builder: timed_texts(by_word(builder).windowed_by(tumbling()).aggregate(start, added, value=TEXT)),
)
twins.dsl("words_hopping", lambda builder: timed(by_word(builder).windowed_by(hopping()).count()))
twins.dsl(
    "words_sliding",
    lambda builder: timed_texts(
        by_word(builder)
        .windowed_by(sliding_with_grace())
        .aggregate(start, added, value=TEXT, store="texts", retention=LONG_TIME)
    ),
)
twins.dsl(
    "words_session",
    lambda builder: session_texts(by_word(builder).windowed_by(session()).aggregate(start, added, merged, value=TEXT)),
)
