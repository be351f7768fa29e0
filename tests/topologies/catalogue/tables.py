"""Tables and their operators, but for joins and aggregations."""

from kafka_groups.streams import KeyValueStore, KTable, StreamsBuilder, stores
from tests.topologies.catalogue.functions import (
    LONG,
    TEXT,
    has_a,
    length,
    letter,
    letter_of,
    table,
    tagged,
    texts,
    upper,
)
from tests.topologies.catalogue.registry import Twins

__all__ = ["twins"]

NUMBERS = stores.key_value("numbers", TEXT, LONG)

twins = Twins()


def read(builder: StreamsBuilder, store: str | None = None) -> KTable[str, str]:
    """The table of the topic "table"."""
    return builder.table("table", key=TEXT, value=TEXT, store=store)


def out(found: KTable[str, str]) -> None:
    """Write texts."""
    found.to_stream().to("out", value=TEXT)


def named(builder: StreamsBuilder) -> None:
    """Names for all."""
    found = builder.table("table", key=TEXT, value=TEXT, name="reading", store="kept")
    found.to_stream(name="streaming").to("out", value=TEXT)


def tagged_if_there(key: str, value: str | None) -> str:
    """The value with its key, as a stateless transformer of values makes it."""
    return None if value is None else tagged(key, value)  # type: ignore[return-value]


def numbered(key: str, value: str | None, numbers: KeyValueStore[str, int]) -> str:
    """The value with a number of its own for each key."""
    if value is None:
        return None  # type: ignore[return-value]
    number = (numbers.get(key) or 0) + 1
    numbers.put(key, number)
    return f"{value}{number}"


def two_streams(builder: StreamsBuilder) -> None:
    """Three ways to go on."""
    found = read(builder)
    found.to_stream().to("out")
    found.filter(has_a).to_stream().to("filtered")
    found.map_values(upper, value=TEXT).to_stream().map_values(upper, value=TEXT).to("mapped")


twins.dsl("table", lambda builder: out(table(builder, "table")))
twins.dsl("table_materialized", lambda builder: out(read(builder, "kept")))
twins.dsl("table_named", named)
twins.dsl("table_filter", lambda builder: out(read(builder).filter(has_a)))
twins.dsl("table_filter_not", lambda builder: out(read(builder).filter_not(has_a)))
twins.dsl("table_filter_materialized", lambda builder: out(read(builder).filter(has_a, store="filtered")))
twins.dsl("table_filter_of_kept", lambda builder: out(read(builder, "kept").filter(has_a)))
twins.dsl("table_filter_unnamed_store", lambda builder: out(read(builder).filter(has_a, caching=True)))
twins.dsl("table_map_values", lambda builder: out(read(builder).map_values(upper, value=TEXT)))
twins.dsl(
    "table_map_values_with_key",
    lambda builder: out(read(builder).map_values(with_key=tagged, value=TEXT, store="mapped")),
)
twins.dsl(
    "table_map_to_null",
    lambda builder: out(
        read(builder).map_values(lambda value: None if value == "bad" else upper(value), value=TEXT)  # type: ignore[arg-type, return-value]
    ),
)
twins.dsl(
    "table_chain",
    lambda builder: out(
        read(builder)
        .filter(has_a)
        .map_values(upper, value=TEXT)
        .filter_not(lambda _key, value: len(value) > 5, store="last")
    ),
)
twins.dsl(
    "table_transform_values",
    lambda builder: out(read(builder).transform_values(tagged_if_there, value=TEXT)),
)
twins.dsl(
    "table_transform_values_materialized",
    lambda builder: out(read(builder).transform_values(tagged_if_there, value=TEXT, store="numbered")),
)
twins.dsl(
    "table_transform_values_store",
    lambda builder: out(read(builder).transform_values(numbered, stores=(NUMBERS,), value=TEXT, name="numbering")),
)
twins.dsl(
    "table_to_stream_key",
    lambda builder: (
        read(builder).to_stream().select_key(lambda _key, value: letter_of(value), key=TEXT).to("out", value=TEXT)
    ),
)
twins.dsl("table_two_streams", two_streams)
twins.dsl("to_table", lambda builder: out(texts(builder, "in").to_table()))
twins.dsl("to_table_materialized", lambda builder: out(texts(builder, "in").to_table(name="tabling", store="kept")))
twins.dsl(
    "to_table_repartitioned",
    lambda builder: out(texts(builder, "in").select_key(letter, key=TEXT).to_table(store="kept").filter(has_a)),
)
twins.dsl(
    "to_table_filtered",
    lambda builder: out(
        texts(builder, "in").map_values(upper, value=TEXT).to_table().filter(lambda _key, value: length(value) < 4)
    ),
)
