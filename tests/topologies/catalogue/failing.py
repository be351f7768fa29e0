"""Functions that raise an error for the value "bad", and records that cannot be read."""

from functools import partial

from kafka_groups.streams import Processor, ProcessorContext, PunctuationType, Record, StreamsBuilder
from tests.topologies.catalogue.aggregates import grouped
from tests.topologies.catalogue.functions import (
    LONG,
    TEXT,
    added,
    by_letter,
    is_large,
    joined,
    letter,
    ms,
    numbers,
    removed,
    start,
    table,
    tagged,
    texts,
    upper,
    words,
)
from tests.topologies.catalogue.registry import Twins
from tests.topologies.catalogue.stream_joins import graceful, left, right
from tests.topologies.catalogue.windowed import hopping, timed_texts

__all__ = ["twins"]

twins = Twins()


def checked(value: str | None) -> str:
    """The value, unless it is bad."""
    if value == "bad":
        raise ValueError("bad value")
    return value  # type: ignore[return-value]


class FailingPunctuations(Processor[str, str, str, str]):
    """Forwards records, and the last value at each punctuation, which then fails every second time."""

    def init(self, context: ProcessorContext[str, str]) -> None:
        """Schedule both."""
        super().init(context)
        self.last: str | None = None
        self.ticks = 0
        for clock in (PunctuationType.STREAM_TIME, PunctuationType.WALL_CLOCK_TIME):
            context.schedule(ms(70), clock, partial(self.tick, clock))

    def process(self, record: Record[str, str]) -> None:
        """Process one record."""
        self.last = record.value
        self.context.forward(record)

    def tick(self, clock: PunctuationType, now_ms: int) -> None:
        """Tell the value, and fail."""
        self.context.forward(Record(clock.name, self.last, now_ms))  # type: ignore[arg-type]
        self.ticks += 1
        if self.ticks % 2 == 1:
            raise ValueError("in a punctuation")


def branches(builder: StreamsBuilder) -> None:
    """A node that fails between others."""
    read = texts(builder, "in")
    read.map_values(upper, value=TEXT).to("before")
    good = read.map_values(checked, value=TEXT)
    good.to("out")
    good.map_values(upper, value=TEXT).to("out")
    read.map_values(with_key=tagged, value=TEXT).to("after")


def behind_aggregate(builder: StreamsBuilder) -> None:
    """A node that fails behind a store."""
    reduced = grouped(builder).reduce(lambda _old, value: value)
    reduced.to_stream().map_values(checked, value=TEXT).to("out")
    reduced.map_values(upper, value=TEXT).to_stream().to("after")


def in_table(builder: StreamsBuilder) -> None:
    """A table's nodes that fail."""
    read = table(builder, "table")
    read.filter(lambda _key, value: checked(value) is not None).to_stream().to("out")
    grouping = read.group_by(lambda key, value: by_letter(key, checked(value)), key=TEXT, value=TEXT)
    grouping.aggregate(start, added, removed, value=TEXT).to_stream().to("grouped", value=TEXT)


def only_large(builder: StreamsBuilder) -> None:
    """Numbers."""
    numbers(builder, "numbers").filter(is_large).to("out", value=LONG)


twins.dsl("fails", branches)
twins.dsl("fails_and_goes_on", branches, resumes=True)
twins.dsl(
    "fails_among_words",
    lambda builder: texts(builder, "in").flat_map_values(words, value=TEXT).map_values(checked, value=TEXT).to("out"),
    resumes=True,
)
twins.dsl(
    "fails_in_aggregator",
    lambda builder: (
        grouped(builder)
        .aggregate(start, lambda key, value, old: added(key, checked(value), old), value=TEXT)
        .to_stream()
        .to("out", value=TEXT)
    ),
    resumes=True,
)
twins.dsl("fails_behind_aggregate", behind_aggregate, resumes=True)
twins.dsl(
    "fails_in_hopping_aggregator",
    lambda builder: timed_texts(
        grouped(builder)
        .windowed_by(hopping())
        .aggregate(
            start, lambda key, value, old: added(key, checked(value) if len(old) > 6 else value, old), value=TEXT
        )
    ),
    resumes=True,
)
twins.dsl(
    "fails_in_stream_join",
    lambda builder: (
        left(builder)
        .outer_join(right(builder), lambda one, other: joined(checked(one), other), windows=graceful())
        .to("out", value=TEXT)
    ),
    resumes=True,
)
twins.dsl(
    "fails_in_table_join",
    lambda builder: (
        table(builder, "table")
        .left_join(table(builder, "other-table"), lambda one, other: joined(one, checked(other)))
        .to_stream()
        .to("out", value=TEXT)
    ),
    resumes=True,
)
twins.dsl("fails_in_table", in_table, resumes=True)
twins.dsl(
    "fails_behind_repartition",
    lambda builder: (
        texts(builder, "in").select_key(letter, key=TEXT).repartition().map_values(checked, value=TEXT).to("out")
    ),
    resumes=True,
)
twins.dsl(
    "fails_in_punctuation",
    lambda builder: (
        texts(builder, "in")
        .process(factory=FailingPunctuations, key=TEXT, value=TEXT)
        .map_values(checked, value=TEXT)
        .to("out")
    ),
    resumes=True,
)
twins.dsl("unreadable_skipped", only_large, skips_unreadable=True)
twins.dsl("unreadable", only_large)
