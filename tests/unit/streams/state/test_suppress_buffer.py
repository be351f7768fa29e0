"""The buffers of suppressed tables, against a dictionary, and the bytes of their changelogs."""

import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from kafka_groups import serdes
from kafka_groups.errors import DeserializationError
from kafka_groups.streams.state.engine import MemoryEngine
from kafka_groups.streams.state.state_store import ChangelogRecord, RecordContext, StoreSurroundings, batch_of
from kafka_groups.streams.state.stores import SuppressDefinition
from kafka_groups.streams.state.suppress_buffer import SuppressBuffer
from kafka_groups.types import Headers
from tests.support.committed_states import commit, restore

DEFINITION = SuppressDefinition(name="waiting", key=serdes.string, value=serdes.string)
VERSION_3 = (("v", b"\x03"),)
HEADERS = st.sampled_from([(), (("trace", b"1"),), (("trace", b""), ("empty", None))])
VALUES = st.sampled_from([None, "", "x", "xy"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from(["", "a", "ab", "é"]), VALUES, VALUES, st.integers(0, 20), HEADERS),
        st.tuples(st.sampled_from(["take", "commit", "crash", "restore"])),
    ),
    max_size=40,
)


@frozen
class Waiting:
    """What a dictionary has of an update."""

    due_ms: int
    prior: str | None
    old: str | None
    new: str | None
    timestamp_ms: int
    headers: Headers
    offset: int


def opened(engine: MemoryEngine, record: RecordContext | None = None) -> SuppressBuffer:
    context = RecordContext() if record is None else record
    return SuppressBuffer(DEFINITION, StoreSurroundings(topic="t", engine=engine, record=context, is_caching=False))


def text(value: str | None) -> bytes | None:
    return None if value is None else value.encode()


def size(key: str, update: Waiting) -> int:
    """As Java counts: two times, offset, partition, topic, headers, and each value that is no copy."""
    values = [update.prior, update.new, None if update.old == update.prior else update.old]
    headers = sum(len(name) + len(value or b"") for name, value in update.headers)
    return len(key.encode()) + 28 + len("topic") + headers + sum(len(value or "") for value in values)


class Model:
    """A buffer, a dictionary with what it must have, and the changelog so far."""

    def __init__(self) -> None:
        self.engine = MemoryEngine()
        self.record = RecordContext("topic", 7, 0)
        self.buffer = opened(self.engine, self.record)
        self.waiting: dict[str, Waiting] = {}
        self.committed: dict[str, Waiting] = {}
        self.changelog: dict[bytes, ChangelogRecord] = {}

    def put(self, key: str, new: str | None, old: str | None, time_ms: int, headers: Headers) -> None:
        self.record.offset += 1
        self.buffer.put(key.encode(), new, old, time_ms, headers, due_ms=time_ms)
        known = self.waiting.get(key)
        due_ms, prior = (time_ms, old) if known is None else (known.due_ms, known.prior)
        self.waiting[key] = Waiting(due_ms, prior, old, new, time_ms, headers, self.record.offset)

    def take(self) -> None:
        if not self.waiting:
            with pytest.raises(LookupError, match="is empty"):
                self.buffer.take()
            return
        first = min(self.waiting, key=lambda key: (self.waiting[key].due_ms, key.encode()))
        assert self.buffer.first_ms == self.waiting[first].due_ms
        key, update = self.buffer.take()
        expected = self.waiting.pop(first)
        assert key.decode() == first
        assert (update.new, update.old, update.prior) == (text(expected.new), text(expected.old), text(expected.prior))
        assert (update.timestamp_ms, update.headers) == (expected.timestamp_ms, expected.headers)
        assert (update.topic, update.partition, update.offset) == ("topic", 7, expected.offset)

    def commit(self) -> None:
        records = list(self.buffer.changelog())
        assert len({record.key for record in records}) == len(records)
        self.changelog |= {record.key: record for record in records}
        commit(self.buffer, self.engine)
        assert list(self.buffer.changelog()) == []
        self.committed = dict(self.waiting)

    def crash(self) -> None:
        self.buffer, self.waiting = opened(self.engine, self.record), dict(self.committed)

    def restore(self) -> None:
        self.engine = MemoryEngine()
        buffer = opened(self.engine)
        restore(buffer, self.engine, self.changelog.values())
        self.crash()


@given(STEPS)
def test_buffers_keep_order_and_sizes_through_commits_crashes_and_restoration(steps: list[tuple[object, ...]]) -> None:
    model = Model()
    for name, *arguments in [*steps, ("commit",), ("restore",), *[("take",)] * 5]:
        getattr(model, str(name))(*arguments)
        assert len(model.buffer) == len(model.waiting)
        assert model.buffer.size_bytes == sum(size(*each) for each in model.waiting.items())
        for key, waiting in model.waiting.items():
            found = model.buffer.get(key.encode())
            assert found is not None
            assert found.prior == text(waiting.prior)
    assert model.buffer.first_ms is None


def test_changelog_records_have_the_bytes_that_java_writes() -> None:
    engine = MemoryEngine()
    buffer = opened(engine, RecordContext("in", 0, 5))
    buffer.put(b"a", "two", "one", 10, (("h", b"x"), ("n", None)), due_ms=300)
    head = b"\0\0\0\0\0\0\0\x0a\0\0\0\0\0\0\0\x05\0\0\0\x02in\0\0\0\0"
    headers = b"\0\0\0\x02\0\0\0\x01h\0\0\0\x01x\0\0\0\x01n\xff\xff\xff\xff"
    first = head + headers + b"\0\0\0\x03one\xff\xff\xff\xfe\0\0\0\x03two\0\0\0\0\0\0\x01\x2c"
    assert list(buffer.changelog()) == [ChangelogRecord(b"a", first, None, VERSION_3)]
    commit(buffer, engine)
    buffer.put(b"a", None, "two", 10, (), due_ms=400)
    second = head + b"\0\0\0\0\0\0\0\x03one\0\0\0\x03two\xff\xff\xff\xff\0\0\0\0\0\0\x01\x2c"
    assert list(buffer.changelog()) == [ChangelogRecord(b"a", second, None, VERSION_3)]
    buffer.take()
    assert list(buffer.changelog()) == [ChangelogRecord(b"a", None, None)]


def test_an_update_of_a_punctuation_has_no_topic_after_a_restart_either() -> None:
    engine = MemoryEngine()
    buffer = opened(engine)
    buffer.put(b"a", "x", None, 10, (), due_ms=10)
    commit(buffer, engine)
    _, update = opened(engine).take()
    assert (update.topic, update.partition, update.offset) == (None, -1, -1)


@pytest.mark.parametrize(
    ("record", "told"),
    [
        (ChangelogRecord(b"a", b"", 0, (("v", b"\x02"),)), "Only version 3 is supported"),
        (ChangelogRecord(b"a", b"", 0), "Only version 3 is supported"),
        (ChangelogRecord(b"a", b"\0\0", 0, VERSION_3), "cut off or broken"),
    ],
)
def test_unknown_changelog_records_are_refused(record: ChangelogRecord, told: str) -> None:
    with pytest.raises(DeserializationError, match=told):
        opened(MemoryEngine()).restore(batch_of([record]))
