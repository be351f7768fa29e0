"""The buffer of a join with a versioned table."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_groups import serdes
from kafka_groups.streams import StreamsError
from kafka_groups.streams.engines.lmdb_engine import LmdbEngine
from kafka_groups.streams.state.engine import Engine, MemoryEngine
from kafka_groups.streams.state.join_buffer import JoinBuffer, JoinBufferDefinition
from kafka_groups.streams.state.opened_state import open_state
from kafka_groups.streams.state.state_store import ChangelogRecord, RecordContext, StoreSurroundings
from kafka_groups.streams.topology.context import open_view
from tests.support.committed_states import commit, restore

BUFFER = JoinBufferDefinition(name="buffer", key=serdes.string, value=serdes.string)


def opened(engine: Engine) -> JoinBuffer:
    record = RecordContext(topic="in", partition=3, offset=7)
    surroundings = StoreSurroundings(topic="t", engine=engine, record=record, is_caching=True)
    found = open_state(BUFFER, surroundings)
    assert isinstance(found, JoinBuffer)
    return found


def taken(buffer: JoinBuffer, last_ms: int) -> list[tuple[str, str, int]]:
    found: list[tuple[str, str, int]] = []
    buffer.take(last_ms, lambda each: found.append((each.key, each.value, each.update.timestamp_ms)))
    return found


@pytest.fixture(params=["memory", "lmdb"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    made = MemoryEngine() if request.param == "memory" else LmdbEngine(tmp_path, map_bytes=1 << 24)
    yield made
    made.close()


def test_records_come_in_the_order_of_time_key_and_arrival(engine: Engine) -> None:
    buffer = opened(engine)
    for key, value, time_ms in [
        ("b", "1", 20),
        ("a", "2", 20),
        ("a", "3", 20),
        ("a\0\0\0\0\0", "4", 10),
        ("c", "5", 30),
    ]:
        buffer.add(key, value, time_ms, ())
        if value == "2":
            commit(buffer, engine)
    assert buffer.time_ms == 30
    assert taken(buffer, 9) == []
    assert taken(buffer, 20) == [("a\0\0\0\0\0", "4", 10), ("a", "2", 20), ("a", "3", 20), ("b", "1", 20)]
    assert taken(buffer, 29) == []
    assert taken(buffer, 30) == [("c", "5", 30)]


def test_what_waits_is_there_after_a_commit_and_a_restoration(engine: Engine) -> None:
    buffer, copy = opened(engine), MemoryEngine()
    log: list[ChangelogRecord] = []
    for value, time_ms in (("a", 10), ("b", 20), ("c", 15)):
        buffer.add("k", value, time_ms, (("x", b"1"),))
    assert taken(buffer, 10) == [("k", "a", 10)]
    log += buffer.changelog()
    commit(buffer, engine)
    restored = opened(copy)
    restore(restored, copy, log)
    for again in (opened(engine), restored, opened(copy)):
        assert again.time_ms == 20
        assert taken(again, 20) == [("k", "c", 15), ("k", "b", 20)]
        # The next row is none of those that there were, so that it does not replace one in the changelog.
        again.add("k", "d", 20, ())
        (added,) = [each.key for each in again.changelog() if each.value is not None]
        assert added.endswith((4).to_bytes(4, "big"))


def test_the_changelog_has_the_place_of_each_record_and_no_time_of_its_own() -> None:
    buffer = opened(MemoryEngine())
    buffer.add("k", "v", 258, ())
    (logged,) = buffer.changelog()
    assert logged.key == b"\0" + (258).to_bytes(8, "big") + b"k" + (1).to_bytes(4, "big")
    assert logged.timestamp_ms is None
    found: list[tuple[str | None, int, int]] = []
    buffer.take(258, lambda each: found.append((each.update.topic, each.update.partition, each.update.offset)))
    assert found == [("in", 3, 7)]
    assert [(each.key, each.value) for each in buffer.changelog()] == [(logged.key, None)]


def test_a_buffer_cannot_be_read() -> None:
    with pytest.raises(StreamsError, match=r"'buffer' is the buffer of a join\. Only its join can read it"):
        open_view(opened(MemoryEngine()), RecordContext())
