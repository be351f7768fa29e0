"""Statuses of the group that a worker waits out, and those that end it."""

from collections import Counter

import pytest

from kafka_groups.errors import ApplicationShutdownError
from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatStatus, StreamsStatus
from kafka_groups.streams import StreamsError
from kafka_groups.streams.runtime.statuses import GroupStatuses
from tests.unit.streams.runtime.counting import INPUT, Process, brokers, restored


async def started() -> Process:
    process = Process(brokers(), commit_interval_ms=10**9)
    await process.worker.start()
    return process


async def passed(process: Process, time_ms: int) -> None:
    end_ms = process.clock.now_ms() + time_ms
    await process.turn_until(lambda: process.clock.now_ms() >= end_ms)


async def test_source_topics_that_are_missing_for_long_end_the_worker() -> None:
    process = await started()
    process.member.tell(StreamsStatus.MISSING_SOURCE_TOPICS, "words is missing")
    await passed(process, 9_000)
    with pytest.raises(StreamsError, match=r"MISSING_SOURCE_TOPICS: words is missing\. Create the topics"):
        await passed(process, 9_000)


async def test_source_topics_that_come_in_time_are_waited_for() -> None:
    process = await started()
    process.member.tell(StreamsStatus.MISSING_SOURCE_TOPICS, "words is missing")
    await passed(process, 9_000)
    process.member.tell(None)
    await passed(process, 60_000)
    assert not process.member.events


async def test_wrong_numbers_of_partitions_end_the_worker_at_once() -> None:
    process = await started()
    process.member.tell(StreamsStatus.INCORRECTLY_PARTITIONED_TOPICS, "words has 3")
    with pytest.raises(StreamsError, match=r"INCORRECTLY_PARTITIONED_TOPICS: words has 3\. Create the topics"):
        await process.worker.turn()


async def test_a_worker_commits_before_it_shuts_down_with_all_others() -> None:
    process = await started()
    for word in ("to", "be"):
        process.kafka.produce("words", word, "")
    process.member.assign("0_0")
    await process.turn_until(lambda: process.plane.sources.positions.get(INPUT) == 2)
    assert not process.kafka.committed
    process.member.tell(StreamsStatus.SHUTDOWN_APPLICATION)
    with pytest.raises(ApplicationShutdownError):
        await process.turn_until(lambda: process.has_committed(0))
    assert process.has_committed(2)
    assert restored(process.kafka) == Counter(["to", "be"])


@pytest.mark.parametrize(
    ("code", "level"), [(StreamsStatus.ASSIGNMENT_DELAYED, "INFO"), (StreamsStatus.MISSING_SOURCE_TOPICS, "WARNING")]
)
def test_what_every_group_says_at_its_start_is_no_warning(
    code: StreamsStatus, level: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO"):
        GroupStatuses().changed((StreamsGroupHeartbeatStatus(status_code=code, status_detail=""),), 0)
    assert [record.levelname for record in caplog.records] == [level]
