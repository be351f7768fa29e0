"""Versioned stores, and tables that have one."""

from collections.abc import Iterator

from kafka_groups.streams import (
    KStream,
    KTable,
    Optimization,
    Record,
    StreamsBuilder,
    Suppressed,
    VersionedKeyValueStore,
    VersionedRecord,
    stores,
)
from kafka_groups.streams.state.stores import VersionedDefinition
from tests.topologies.catalogue.functions import (
    LONG,
    TEXT,
    added,
    by_letter,
    concatenated,
    has_a,
    joined,
    joined_with_key,
    letter,
    letter_of,
    ms,
    removed,
    start,
    table,
    tagged,
    texts,
    upper,
    without_it,
)
from tests.topologies.catalogue.registry import Twins

__all__ = ["twins"]

HISTORY, SEGMENT, GRACE = ms(100), ms(40), ms(60)
VERSIONS = stores.versioned("versions", TEXT, TEXT, history=HISTORY, segment=SEGMENT)

twins = Twins()


def kept(name: str) -> VersionedDefinition[str, str]:
    """A store of texts."""
    return stores.versioned(name, TEXT, TEXT, history=HISTORY, segment=SEGMENT)


def versioned(builder: StreamsBuilder, topic: str) -> KTable[str, str]:
    """A versioned table of a topic."""
    return builder.table(topic, key=TEXT, value=TEXT, store=kept(f"{topic}-versions"))


def source(builder: StreamsBuilder) -> KStream[str, str]:
    """The stream of the topic "in"."""
    return texts(builder, "in")


def rows(builder: StreamsBuilder) -> KTable[str, str]:
    """The versioned table that is the left or the only one."""
    return versioned(builder, "table")


def other(builder: StreamsBuilder) -> KTable[str, str]:
    """The right table, which is not versioned."""
    return table(builder, "other-table")


def out(stream: KStream[str, str]) -> None:
    """Write texts."""
    stream.to("out", value=TEXT)


def rows_out(found: KTable[str, str]) -> None:
    """Write the rows of a table."""
    out(found.to_stream())


def tagged_if_there(key: str, value: str | None) -> str:
    """The value with its key, if there is one."""
    return None if value is None else tagged(key, value)  # type: ignore[return-value]


def told(found: VersionedRecord[str] | None) -> str:
    """A version as text, without its end, which Java's `get` does not tell."""
    return "-" if found is None else f"{found.value}@{found.timestamp_ms}"


def answers(record: Record[str, str], store: VersionedKeyValueStore[str, str]) -> Iterator[Record[str, str]]:
    """What a versioned store answers about a record, and then about many times."""
    key, time_ms = record.key, record.timestamp_ms
    if record.value == "ab":
        first = f"was {told(store.delete(key, time_ms))}"
    else:
        first = f"ends {store.put(key, record.value, time_ms)}"
    times = (time_ms - back for back in range(-20, 150, 10) if time_ms >= back)
    found = [f"{first}, now {told(store.get(key))}", *(told(store.get(key, at_ms)) for at_ms in times)]
    yield record.with_value(" ".join(found))


def added_or_none(key: str, value: str, found: str) -> str:
    """The aggregate with the value; None for an empty value."""
    return added(key, value, found) if value else None  # type: ignore[return-value]


def suppressed(found: KTable[str, str]) -> None:
    """Hold updates back."""
    rows_out(found.suppress(Suppressed.until_time_limit(ms(50))))


twins.dsl("versioned_table", lambda builder: rows_out(rows(builder)))
twins.dsl("versioned_filter", lambda builder: rows_out(rows(builder).filter(has_a)))
twins.dsl(
    "versioned_filter_not_to_table",
    lambda builder: rows_out(rows(builder).filter_not(has_a).to_stream().to_table(store="plain")),
)
twins.dsl("versioned_filter_kept", lambda builder: rows_out(rows(builder).filter(has_a, store="plain")))
twins.dsl(
    "versioned_filter_versioned",
    lambda builder: rows_out(table(builder, "table").filter(has_a, store=kept("filtered"))),
)
twins.dsl("versioned_map_values", lambda builder: rows_out(rows(builder).map_values(upper, store=kept("mapped"))))
twins.dsl(
    "versioned_to_table",
    lambda builder: rows_out(source(builder).select_key(letter, key=TEXT).to_table(store=kept("letters"))),
)
twins.dsl(
    "versioned_from_source",
    lambda builder: out(source(builder).join(rows(builder), joined)),
    optimization=Optimization.SOURCE_TOPICS_AS_CHANGELOGS,
)
twins.dsl("versioned_stream_join", lambda builder: out(source(builder).join(rows(builder), joined)))
twins.dsl(
    "versioned_stream_left_join",
    lambda builder: out(source(builder).left_join(rows(builder), with_key=joined_with_key)),
)
twins.dsl(
    "versioned_stream_join_computed",
    lambda builder: out(
        source(builder).left_join(
            rows(builder).filter(has_a).map_values(upper, value=TEXT).transform_values(tagged_if_there, value=TEXT),
            joined,
        )
    ),
)
twins.dsl(
    "versioned_stream_join_kept",
    lambda builder: out(source(builder).left_join(rows(builder).filter(has_a, store="plain"), joined)),
)
twins.dsl(
    "versioned_stream_join_counted",
    lambda builder: out(
        source(builder).left_join(
            texts(builder, "other").group_by_key().aggregate(start, added, store=kept("texts")), joined
        )
    ),
)
twins.dsl("versioned_grace_join", lambda builder: out(source(builder).join(rows(builder), joined, grace=GRACE)))
twins.dsl(
    "versioned_grace_left_join",
    lambda builder: out(
        source(builder)
        .filter(lambda key, _value: key is not None)
        .left_join(rows(builder).map_values(upper, value=TEXT), with_key=joined_with_key, name="waiting", grace=GRACE)
    ),
)
twins.dsl(
    "versioned_grace_repartitioned",
    lambda builder: rows_out(
        source(builder)
        .select_key(letter, key=TEXT)
        .join(rows(builder), joined, value=TEXT, grace=GRACE)
        .group_by_key()
        .reduce(concatenated)
    ),
)
twins.dsl(
    "versioned_grace_none",
    lambda builder: out(source(builder).join(rows(builder), joined, name="at-once", grace=ms(0))),
)
twins.dsl(
    "versioned_grace_plain",
    lambda builder: out(source(builder).join(table(builder, "table"), joined, name="waiting", grace=GRACE)),
)
twins.dsl(
    "versioned_grace_long",
    lambda builder: out(source(builder).join(rows(builder), joined, name="waiting", grace=HISTORY + ms(1))),
)
twins.dsl("versioned_join", lambda builder: rows_out(rows(builder).join(other(builder), joined)))
twins.dsl(
    "versioned_join_right",
    lambda builder: rows_out(table(builder, "table").left_join(versioned(builder, "other-table"), joined)),
)
twins.dsl(
    "versioned_outer_join",
    lambda builder: rows_out(
        rows(builder)
        .filter(has_a)
        .outer_join(versioned(builder, "other-table"), joined, name="joining", store=kept("both"))
    ),
)
twins.dsl(
    "versioned_join_then_group",
    lambda builder: rows_out(
        rows(builder)
        .outer_join(other(builder), joined, store=kept("both"))
        .group_by(by_letter, key=TEXT, value=TEXT)
        .aggregate(start, added, removed, value=TEXT)
    ),
)
twins.dsl(
    "versioned_foreign_key_join",
    lambda builder: rows_out(
        rows(builder).join(other(builder), joined, on=lambda _key, value: letter_of(value), value=TEXT)
    ),
)
twins.dsl(
    "versioned_foreign_key_left_join",
    lambda builder: rows_out(
        rows(builder).left_join(
            versioned(builder, "other-table"),
            joined,
            on=lambda _key, value: letter_of(value),
            name="lookup",
            store=kept("both"),
        )
    ),
)
twins.dsl(
    "versioned_group",
    lambda builder: rows_out(
        rows(builder).group_by(by_letter, key=TEXT, value=TEXT).aggregate(start, added, removed, value=TEXT)
    ),
)
twins.dsl(
    "versioned_group_versioned",
    lambda builder: rows_out(
        rows(builder)
        .map_values(upper, value=TEXT)
        .group_by(by_letter, key=TEXT, value=TEXT, name="letters")
        .reduce(concatenated, without_it, store=kept("reduced"))
    ),
)
twins.dsl(
    "versioned_count",
    lambda builder: (
        source(builder)
        .group_by_key()
        .count(store=stores.versioned("counts", TEXT, LONG, history=HISTORY, segment=SEGMENT))
        .filter(lambda _key, count: count != 2)
        .to_stream()
        .to("out", value=LONG)
    ),
)
twins.dsl(
    "versioned_aggregate_to_null",
    lambda builder: (
        source(builder)
        .group_by_key()
        .aggregate(start, added_or_none, store=kept("texts"))
        .group_by(by_letter, key=TEXT, value=TEXT)
        .count()
        .to_stream()
        .to("out", value=LONG)
    ),
)
twins.dsl(
    "versioned_reduce",
    lambda builder: rows_out(source(builder).group_by_key().reduce(concatenated, store=kept("reduced"))),
)
twins.dsl(
    "versioned_process",
    lambda builder: (
        source(builder)
        .filter(lambda key, _value: key is not None)
        .process(answers, stores=[VERSIONS])
        .to("out", key=TEXT, value=TEXT)
    ),
)
twins.dsl("versioned_suppress", lambda builder: suppressed(rows(builder)))
twins.dsl("versioned_filter_suppress", lambda builder: suppressed(rows(builder).filter(has_a)))
twins.dsl(
    "versioned_global",
    lambda builder: builder.global_table("table", key=TEXT, value=TEXT, store=kept("kept")),  # type: ignore[arg-type]
)
