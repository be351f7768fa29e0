"""Processors in the DSL."""

from collections.abc import Callable, Iterator
from typing import Any

from kafka_groups.streams import (
    Cancellable,
    FixedKeyProcessor,
    FixedKeyProcessorContext,
    FixedKeyRecord,
    KeyValueStore,
    Processor,
    ProcessorContext,
    PunctuationType,
    Record,
    SessionStore,
    StreamsBuilder,
    TimestampedKeyValueStore,
    Windowed,
    WindowStore,
    stores,
)
from tests.topologies.catalogue.chiming import Chiming
from tests.topologies.catalogue.functions import LONG, TEXT, joined, letter_of, ms, texts, upper
from tests.topologies.catalogue.registry import Twins

__all__ = ["HELD", "SEEN", "Holding", "Keeping", "LookingUp", "first_only", "looking_up", "twins", "upper_value"]

SEEN = stores.key_value("seen", TEXT, TEXT)
HELD = stores.key_value("held", TEXT, TEXT)
ALL = stores.key_value("all", TEXT, TEXT)
PREVIOUS = stores.key_value("previous", TEXT, TEXT)
LATEST = stores.timestamped_key_value("latest", TEXT, TEXT)
RECENT = stores.window("recent", TEXT, TEXT, size=ms(100), retention=ms(300))
DUPLICATES = stores.window("recent", TEXT, TEXT, size=ms(100), retention=ms(300), retain_duplicates=True)
SPANS = stores.session("spans", TEXT, TEXT, retention=ms(300))

Texts = Record[Any, Any]
"""Records of texts, whose keys and values may be None."""

twins = Twins()


def first_only(record: Texts, seen: KeyValueStore[str, str]) -> Iterator[Texts]:
    """The first record of each key, and those that were deleted in between by a None."""
    if record.key is None:
        return
    if record.value is None:
        seen.delete(record.key)
    elif seen.put_if_absent(record.key, record.value) is None:
        yield record


def stamped(record: Texts) -> Iterator[Texts]:
    """The record with a header and another time, then with another key."""
    was = None if record.value is None else record.value.encode()
    changed = record.with_value(upper(record.value)).with_headers(*record.headers, ("was", was))
    yield changed.with_timestamp(record.timestamp_ms + 5)
    yield record.with_key(letter_of(record.value))


class Placed(Processor[str, str, str, str]):
    """Tells where the record is from, and the times of the context."""

    def process(self, record: Texts) -> None:
        """Process one record."""
        context, place = self.context, self.context.record_metadata
        assert place is not None
        times = f"{context.current_stream_time_ms} {context.current_system_time_ms}"
        told = f"{place.topic}/{place.partition}/{place.offset} {times} {context.task_id} {context.application_id}"
        context.forward(record.with_value(told))


class Holding(Processor[str, str, str, str]):
    """Keeps values, and forwards them every 50 ms of the stream's time or every 100 ms of the wall clock's."""

    interval_ms, clock = 50, PunctuationType.STREAM_TIME

    def init(self, context: ProcessorContext[str, str]) -> None:
        """Schedule the release."""
        super().init(context)
        self.held = context.store(HELD)
        context.schedule(ms(self.interval_ms), self.clock, self.release)

    def process(self, record: Texts) -> None:
        """Process one record."""
        if record.key is not None:
            self.held.put(record.key, record.value)

    def release(self, now_ms: int) -> None:
        """Forward all that is held."""
        for key, value in self.held.all():
            self.context.forward(Record(key, f"{value}@{now_ms}", now_ms))
            self.held.delete(key)


class Reminding(FixedKeyProcessor[str, str, str]):
    """Tells where the record is from and the times of the context, and repeats the last record at each punctuation."""

    last: FixedKeyRecord[Any, Any] | None = None

    def init(self, context: FixedKeyProcessorContext[str, str]) -> None:
        """Schedule both."""
        super().init(context)
        context.schedule(ms(60), PunctuationType.STREAM_TIME, self.remind)
        context.schedule(ms(90), PunctuationType.WALL_CLOCK_TIME, self.remind)

    def process(self, record: FixedKeyRecord[str, str]) -> None:
        """Process one record."""
        self.last = record
        context, place = self.context, self.context.record_metadata
        assert place is not None
        times = f"{context.current_stream_time_ms} {context.current_system_time_ms}"
        context.forward(record.with_value(f"{place.topic}/{place.offset} {times}"))

    def remind(self, now_ms: int) -> None:
        """Repeat the last record."""
        if self.last is not None:
            value = "null" if self.last.value is None else self.last.value
            self.context.forward(self.last.with_value(f"{value}@{now_ms}").with_timestamp(now_ms))


class HoldingByClock(Holding):
    """The same by the wall clock."""

    interval_ms, clock = 100, PunctuationType.WALL_CLOCK_TIME


class Ticking(Processor[str, str, str, str]):
    """Counts three ticks of each clock, then cancels them."""

    def init(self, context: ProcessorContext[str, str]) -> None:
        """Schedule both."""
        super().init(context)
        self.ticks = {"stream": 0, "clock": 0}
        self.scheduled: dict[str, Cancellable] = {
            "stream": context.schedule(ms(40), PunctuationType.STREAM_TIME, lambda now_ms: self.tick("stream", now_ms)),
            "clock": context.schedule(
                ms(100), PunctuationType.WALL_CLOCK_TIME, lambda now_ms: self.tick("clock", now_ms), start_ms=30
            ),
        }

    def process(self, record: Texts) -> None:
        """Process one record."""
        self.context.forward(record)

    def tick(self, name: str, now_ms: int) -> None:
        """Tell the time."""
        self.context.forward(Record(name, str(now_ms), now_ms))
        self.ticks[name] += 1
        if self.ticks[name] == 3:
            self.scheduled[name].cancel()


def _told(pairs: Iterator[tuple[str, str]]) -> str:
    return "".join(f" {key}={value}" for key, value in pairs)


def listing(record: Texts, store: KeyValueStore[str, str]) -> Iterator[Texts]:
    """What is in the store, in several ways."""
    if record.key is None:
        return
    store.put(f"{record.key}{letter_of(record.value) or 'null'}", record.value)
    yield record.with_value("all" + _told(store.all()))
    yield record.with_value("reverse" + _told(store.all(reverse=True)))
    yield record.with_value("range" + _told(store.range("a", f"{record.key}n")))
    yield record.with_value("reverse range" + _told(store.range(record.key, None, reverse=True)))
    yield record.with_value("prefix" + _told(store.prefix(record.key.encode())))


def _window(found: tuple[Windowed[str], str]) -> str:
    windowed, value = found
    return f" {windowed.key}@{windowed.window.start_ms}-{windowed.window.end_ms}={value}"


def recent(record: Texts, store: WindowStore[str, str]) -> Iterator[Texts]:
    """What the store has in the 100 ms before and after."""
    if record.key is None:
        return
    store.put(record.key, record.value, record.timestamp_ms)
    first, last = max(0, record.timestamp_ms - 100), record.timestamp_ms + 100
    own = "".join(f" {start_ms}={value}" for start_ms, value in store.fetch(record.key, first, last))
    backward = "".join(f" {start_ms}" for start_ms, _ in store.fetch(record.key, first, last, reverse=True))
    every = "".join(map(_window, store.fetch_all(first, record.timestamp_ms)))
    keys = "".join(map(_window, store.fetch_range("a", "c", first, record.timestamp_ms)))
    yield record.with_value(f"own{own} backward{backward} all{every} keys{keys}")


def spanning(record: Texts, store: SessionStore[str, str]) -> Iterator[Texts]:
    """Unite sessions of a key that are less than 50 ms apart; a None removes them."""
    if record.key is None:
        return
    found = list(store.find_sessions(record.key, record.timestamp_ms - 50, record.timestamp_ms + 50))
    first = min([record.timestamp_ms, *(windowed.window.start_ms for windowed, _ in found)])
    last = max([record.timestamp_ms, *(windowed.window.end_ms for windowed, _ in found)])
    for windowed, _ in found:
        store.remove(windowed)
    if record.value is not None:
        store.put(record.key, first, last, record.value)
    yield record.with_value(f"{first}-{last} " + "".join(f"{value}," for _, value in found))


def latest(record: Texts, store: TimestampedKeyValueStore[str, str]) -> Iterator[Texts]:
    """The record that was kept before it, with its time, unless the new one is older."""
    if record.key is None:
        return
    before = store.get(record.key)
    if before is not None and before.timestamp_ms > record.timestamp_ms:
        return
    store.put(record.key, record.value, record.timestamp_ms)
    if before is not None:
        yield record.with_value(before.value).with_timestamp(before.timestamp_ms)


def with_previous(record: Texts, previous: KeyValueStore[str, str]) -> Iterator[Texts]:
    """Each value with the one before it of the same key."""
    before = None if record.key is None else previous.get(record.key)
    if record.key is not None:
        previous.put(record.key, record.value)
    yield record.with_value(joined(before, record.value))


def upper_value(record: Texts) -> Iterator[Texts]:
    """The value in capitals."""
    yield record.with_value(upper(record.value))


def looking_up(record: Texts, seen: KeyValueStore[str, str]) -> Iterator[Texts]:
    """The value with that of the store."""
    found = None if record.key is None else seen.get(record.key)
    yield record.with_value(joined(record.value, found))


class LookingUp(Processor[str, str, str, str]):
    """As `looking_up`, in a store that every processor may read."""

    def process(self, record: Texts) -> None:
        """Process one record."""
        for result in looking_up(record, self.context.store(SEEN)):
            self.context.forward(result)


class Keeping(Processor[str, str, None, None]):
    """Keeps values in the store of the topic that it reads."""

    def process(self, record: Texts) -> None:
        """Process one record."""
        if record.key is not None:
            self.context.store(SEEN).put(record.key, record.value)


def processed(
    name: str,
    function: Callable[..., Iterator[Texts]] | None = None,
    store: stores.StoreDefinition | None = None,
    factory: Callable[[], Processor[str, str, str, str]] | None = None,
) -> None:
    """Add a topology with one processor."""

    def build(builder: StreamsBuilder) -> None:
        if store is not None:
            builder.add_state_store(store)
        used = () if store is None else (store.name,)
        read = texts(builder, "in")
        if factory is not None:
            read.process(factory=factory, stores=used, key=TEXT, value=TEXT).to("out")
        else:
            read.process(function, stores=used, key=TEXT, value=TEXT).to("out")

    twins.dsl(name, build)


def process_values(builder: StreamsBuilder) -> None:
    """Processors that keep keys."""
    builder.add_state_store(PREVIOUS)
    pairs = texts(builder, "in").process_values(with_previous, stores=("previous",), value=TEXT, name="pairing")
    pairs.group_by_key().count().to_stream().to("out", value=LONG)
    texts(builder, "other").process_values(with_previous, stores=("previous",), value=TEXT).to("other-out")


def shared_store(builder: StreamsBuilder) -> None:
    """Two processors with one store."""
    builder.add_state_store(SEEN)
    firsts = texts(builder, "in").process(first_only, stores=("seen",), key=TEXT, value=TEXT, name="first")
    firsts.to("out")
    texts(builder, "other").process(looking_up, stores=("seen",), key=TEXT, value=TEXT).to("found")


def global_store(builder: StreamsBuilder) -> None:
    """A store that all tasks read."""
    builder.add_global_store(SEEN, "global", factory=Keeping, key=TEXT, value=TEXT)
    texts(builder, "in").process(factory=LookingUp, key=TEXT, value=TEXT).to("out")


processed("process", first_only, SEEN)
processed("process_headers", stamped)
processed("process_metadata", factory=Placed)
processed("process_stream_time", factory=Holding, store=HELD)
processed("process_wall_clock", factory=HoldingByClock, store=HELD)
processed("process_cancelled", factory=Ticking)
processed("process_chiming", factory=Chiming)
processed("process_iterators", listing, ALL)
processed("process_window_store", recent, RECENT)
processed("process_window_duplicates", recent, DUPLICATES)
processed("process_session_store", spanning, SPANS)
processed("process_timestamped_store", latest, LATEST)
processed("process_cached_store", first_only, stores.key_value("seen", TEXT, TEXT, caching=True))
twins.dsl("process_values", process_values)
twins.dsl(
    "process_values_timers",
    lambda builder: (
        texts(builder, "in")
        .process_values(factory=Reminding, value=TEXT, name="remind")
        .group_by_key()
        .count()
        .to_stream()
        .to("out", value=LONG)
    ),
)
twins.dsl(
    "process_values_metadata",
    lambda builder: texts(builder, "in").process_values(factory=Reminding, value=TEXT).to("out"),
)
twins.dsl(
    "process_then_count",
    lambda builder: (
        texts(builder, "in")
        .process(stamped, key=TEXT, value=TEXT)
        .group_by_key()
        .count()
        .to_stream()
        .to("out", value=LONG)
    ),
)
twins.dsl("shared_store", shared_store)
twins.dsl("global_store", global_store)
