"""Streams: operators that keep no state, sources and sinks."""

import io
from collections.abc import Sequence

from kafka_groups.streams import KStream, SourceRecord, StreamsBuilder, extractors
from tests.topologies.catalogue.functions import (
    LONG,
    TEXT,
    ByLetter,
    has_a,
    is_short,
    length,
    letter,
    swapped,
    tagged,
    texts,
    upper,
    words,
)
from tests.topologies.catalogue.registry import Twins

__all__ = ["twins"]

twins = Twins()


def source(builder: StreamsBuilder) -> KStream[str, str]:
    """The stream of the topic "in"."""
    return texts(builder, "in")


def out(stream: KStream[str, str], topic: str = "out") -> None:
    """Write texts."""
    stream.to(topic, key=TEXT, value=TEXT)


def by_length(_topic: str, _key: object, value: str | None, count: int) -> int | Sequence[int] | None:
    """No partition for None, the default for the empty text, one by the length otherwise."""
    if value is None:
        return ()
    return len(value) % count if value else None


def both(key: str | None, value: str | None) -> list[str]:
    """Key and value."""
    return ["null" if each is None else each for each in (key, value)]


def peek(builder: StreamsBuilder) -> None:
    """Look at records twice."""
    peeked = source(builder).peek(lambda _key, _value: None)
    peeked.to("out")
    peeked.foreach(lambda _key, _value: None)


def merge_mapped(builder: StreamsBuilder) -> None:
    """Merge three streams of one source."""
    read = source(builder)
    upper_case = read.filter(has_a).merge(read.map_values(upper, value=TEXT), name="both")
    upper_case.merge(read.select_key(letter, key=TEXT)).to("out")


def split(builder: StreamsBuilder) -> None:
    """Branches without names."""
    parts = source(builder).split()
    first, second = parts.branch(has_a), parts.branch(is_short)
    second.to("out-KSTREAM-BRANCH-00000000012")
    first.to("out-KSTREAM-BRANCH-00000000011")


def split_named(builder: StreamsBuilder) -> None:
    """Branches with names, and one without."""
    parts = source(builder).split(name="part-")
    branches = {
        "part-a": parts.branch(has_a, name="a"),
        "part-2": parts.branch(is_short),
        "part-rest": parts.default_branch(name="rest"),
    }
    for name, branch in branches.items():
        branch.to(f"out-{name}")


def split_functions(builder: StreamsBuilder) -> None:
    """Branches that are used before the next one is made."""
    parts = source(builder).split()
    first = parts.branch(has_a).map_values(upper, value=TEXT)
    parts.default_branch().to("out-rest")
    first.to("out")


def siblings(builder: StreamsBuilder) -> None:
    """Three ways into one topic."""
    read = source(builder)
    read.map_values(upper, value=TEXT).to("out")
    read.map_values(with_key=tagged, value=TEXT).to("out")
    read.flat_map_values(words, value=TEXT).to("out")


def time_of(record: SourceRecord, partition_time_ms: int) -> int:
    """A hundred milliseconds for each letter; the partition's time for the empty text, none for None."""
    if record.value is None:
        return -1
    return 100 * len(str(record.value)) if record.value else partition_time_ms


def with_extractor(name: str, timestamp: object) -> None:
    """Add a topology whose source has an extractor."""
    twins.dsl(
        f"timestamps_{name}",
        lambda builder: builder.stream("in", key=TEXT, value=TEXT, timestamp=timestamp).to("out"),  # type: ignore[arg-type]
    )


twins.dsl("filter", lambda builder: source(builder).filter(has_a).to("out"))
twins.dsl("filter_not", lambda builder: source(builder).filter_not(has_a).to("out"))
twins.dsl("map", lambda builder: source(builder).map(swapped, key=TEXT, value=TEXT).to("out"))
twins.dsl(
    "flat_map",
    lambda builder: (
        source(builder)
        .flat_map(lambda key, value: [(word, key) for word in words(value)], key=TEXT, value=TEXT)
        .to("out")
    ),
)
twins.dsl("map_values", lambda builder: source(builder).map_values(upper, value=TEXT).to("out"))
twins.dsl("map_values_with_key", lambda builder: source(builder).map_values(with_key=tagged, value=TEXT).to("out"))
twins.dsl("flat_map_values", lambda builder: source(builder).flat_map_values(words, value=TEXT).to("out"))
twins.dsl(
    "flat_map_values_with_key",
    lambda builder: source(builder).flat_map_values(with_key=both, value=TEXT).to("out"),
)
twins.dsl("select_key", lambda builder: source(builder).select_key(letter, key=TEXT).to("out"))
twins.dsl("map_to_numbers", lambda builder: source(builder).map_values(length).to("out", value=LONG))
twins.dsl("peek_foreach", peek)
twins.dsl("print", lambda builder: source(builder).print(file=io.StringIO()))
twins.dsl("merge", lambda builder: source(builder).merge(texts(builder, "other")).to("out"))
twins.dsl("merge_mapped", merge_mapped)
twins.dsl("split", split)
twins.dsl("split_named", split_named)
twins.dsl("split_functions", split_functions)
twins.dsl("siblings", siblings)
twins.dsl("several_topics", lambda builder: builder.stream("in", "other", key=TEXT, value=TEXT).to("out"))
twins.dsl("repartition", lambda builder: source(builder).repartition().to("out"))
twins.dsl(
    "repartition_named",
    lambda builder: source(builder).select_key(letter, key=TEXT).repartition(name="by-letter", partitions=3).to("out"),
)
twins.dsl(
    "repartition_partitioner",
    lambda builder: source(builder).repartition(name="first", partitioner=by_length).to("out"),
)
twins.dsl("to_dynamic", lambda builder: source(builder).to(ByLetter()))
twins.dsl("to_partitioner", lambda builder: source(builder).to("out", partitioner=by_length))
twins.dsl(
    "to_named", lambda builder: source(builder).map_values(upper, value=TEXT, name="shout").to("out", name="sink")
)
twins.dsl(
    "chain",
    lambda builder: (
        source(builder)
        .filter(has_a)
        .map_values(upper, value=TEXT)
        .select_key(letter, key=TEXT)
        .flat_map_values(words, value=TEXT)
        .to("out")
    ),
)
with_extractor("fail", extractors.fail_on_invalid)
with_extractor("skip", extractors.skip_invalid)
with_extractor("partition_time", extractors.use_partition_time_on_invalid)
with_extractor("wall_clock", extractors.wall_clock)
with_extractor("own", time_of)
