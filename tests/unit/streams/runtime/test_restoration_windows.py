"""Restoration of windows: records of windows that have expired are not read."""

import random
from collections.abc import Iterable
from datetime import timedelta

import pytest

from kafka_groups.errors import NetworkError
from kafka_groups.streams import JoinWindows, Record, StreamsBuilder, TimeWindows, Topology, serdes, stores
from kafka_groups.streams.state.window_stores import StoredWindow, WindowState
from kafka_groups.testing.clock import ManualClock
from kafka_groups.types import OffsetAndMetadata, TaskId, TopicPartition
from tests.support.fake_kafka import FakeKafka
from tests.unit.streams.runtime.counting import Process
from tests.unit.streams.runtime.test_task_timeout import failing

TASK = TaskId("0", 0)
LOGGED = TopicPartition("app-per-minute-changelog", 0)
MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
NOW_MS = ManualClock().wall_ms()


def per_minute() -> Topology:
    builder = StreamsBuilder()
    words = builder.stream("words", key=serdes.string, value=serdes.string).group_by_key()
    windows = TimeWindows(timedelta(minutes=1), grace=timedelta(minutes=59))
    words.windowed_by(windows).count(store="per-minute")
    return builder.build()


def topics() -> FakeKafka:
    return FakeKafka({"words": 1, LOGGED.topic: 1})


async def counted(kafka: FakeKafka, times_ms: list[int]) -> Process:
    """A worker that has counted records with these times, one commit for each few of them."""
    for at, time_ms in enumerate(times_ms):
        kafka.produce("words", f"w{at % 3}", "", timestamp_ms=time_ms)
    process = await started(kafka, max_poll_records=7)
    await process.turn_until(lambda: process.has_committed(len(times_ms)))
    return process


async def started(kafka: FakeKafka, max_poll_records: int = 1_000) -> Process:
    process = Process(kafka, topology=per_minute(), max_poll_records=max_poll_records)
    process.member.assign("0_0")
    await process.worker.start()
    return process


async def restored(kafka: FakeKafka) -> tuple[Process, int]:
    """A new worker that has restored the store, and the first offset that it read."""
    process = await started(kafka)
    starts: list[int] = []
    assign = process.plane.assign_restoring

    async def noted(given: dict[TopicPartition, int]) -> None:
        starts.append(given[LOGGED])
        await assign(given)

    process.plane.assign_restoring = noted  # type: ignore[method-assign, assignment]
    await process.turn_until(lambda: TASK in process.worker.tasks and process.worker.is_running)
    return process, starts[0]


def windows_of(process: Process) -> list[StoredWindow]:
    state = process.worker.tasks[TASK].task.states["per-minute"]
    assert isinstance(state, WindowState)
    return state.all()


def times_up_to(last_ms: int, seed: int) -> list[int]:
    """Six hours of records, somewhat out of order."""
    draw = random.Random(seed)
    return [last_ms - 6 * HOUR_MS + at * MINUTE_MS - draw.randrange(0, 20 * MINUTE_MS) for at in range(360)] + [last_ms]


@pytest.mark.parametrize("seed", range(3))
async def test_the_windows_that_a_store_keeps_are_restored_from_a_part_of_the_changelog(seed: int) -> None:
    kafka = topics()
    before = await counted(kafka, times_up_to(NOW_MS, seed))
    after, start = await restored(kafka)
    assert windows_of(after) == windows_of(before)
    assert len(windows_of(after)) > 30
    assert start > len(kafka.logs[LOGGED]) // 2


@pytest.mark.parametrize("age_ms", [0, HOUR_MS, 30 * HOUR_MS])
async def test_windows_are_complete_however_old_the_last_record_is(age_ms: int) -> None:
    kafka = topics()
    before = await counted(kafka, times_up_to(NOW_MS - age_ms, seed=0))
    after, start = await restored(kafka)
    assert windows_of(after) == windows_of(before)
    assert start > len(kafka.logs[LOGGED]) // 2


async def test_the_changelog_of_a_group_that_committed_no_times_is_read_from_its_first_record() -> None:
    kafka = topics()
    before = await counted(kafka, times_up_to(NOW_MS, seed=0))
    kafka.committed = {place: OffsetAndMetadata(each.offset) for place, each in kafka.committed.items()}
    after, start = await restored(kafka)
    assert windows_of(after) == windows_of(before)
    assert start == 0


async def test_a_record_that_is_too_late_is_so_for_the_next_owner_of_the_task_too() -> None:
    kafka = topics()
    before = await counted(kafka, times_up_to(NOW_MS, seed=0))
    kafka.produce("words", "late", "", timestamp_ms=NOW_MS - 2 * HOUR_MS)
    after, _ = await restored(kafka)
    await after.turn_until(lambda: after.worker.tasks[TASK].task.dropped_records)
    assert windows_of(after) == windows_of(before)


async def test_a_changelog_that_was_cleaned_is_read_from_its_first_record() -> None:
    kafka = topics()
    await counted(kafka, times_up_to(NOW_MS, seed=0))
    kafka.begins[LOGGED] = len(kafka.logs[LOGGED]) - 5
    _, start = await restored(kafka)
    assert start == kafka.begins[LOGGED]


async def test_brokers_that_do_not_tell_offsets_by_time_are_asked_again() -> None:
    kafka = topics()
    before = await counted(kafka, times_up_to(NOW_MS, seed=0))
    process = await started(kafka)
    failures = failing(process, "offsets_for_times", NetworkError("the brokers are away"), 2)
    await process.turn_until(lambda: TASK in process.worker.tasks and process.worker.is_running)
    assert failures() == 2
    assert windows_of(process) == windows_of(before)


def unchanged(record: Record[str, str], _store: object) -> Iterable[Record[str, str]]:
    return [record]


def test_only_operators_whose_windows_start_before_their_records_restore_a_part() -> None:
    builder = StreamsBuilder()
    sides = [builder.stream(topic, key=serdes.string, value=serdes.string) for topic in ("left", "right")]
    hour = timedelta(hours=1)
    joined = JoinWindows(before=hour, after=hour, grace=hour)
    pairs = sides[0].join(sides[1], lambda left, right: left + right, windows=joined, name="pairs")
    own = stores.window("own", serdes.string, serdes.string, size=hour, retention=2 * hour)
    pairs.process_values(unchanged, stores=(own,))
    kept = {name: place.definition.restored_ms for name, place in builder.build().graph.stores.items()}
    assert kept.pop("own") is None
    assert set(kept.values()) == {5 * HOUR_MS}
