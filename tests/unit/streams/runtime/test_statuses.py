"""Statuses of the group that a worker waits out, and those that end it."""

from collections import Counter

import pytest

from kafka_groups.errors import ApplicationShutdownError
from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatStatus, StreamsStatus
from kafka_groups.streams import StreamsError
from kafka_groups.streams.runtime.statuses import GroupStatuses
from kafka_groups.streams.topology.internal_topics import InternalTopics
from tests.unit.streams.runtime.counting import INPUT, Process, brokers, restored

TOPICS = InternalTopics({"app-counts-changelog": "counts"}, frozenset({"app-words-repartition"}))
FAILED = "Internal topics are missing: app-counts-changelog; Creation failed: app-counts-changelog (Invalid value)."


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


async def test_source_topics_that_the_leader_of_a_classic_group_misses_are_not_waited_for() -> None:
    process = await started()
    process.member.tell(StreamsStatus.MISSING_SOURCE_TOPICS, "words is missing", is_final=True)
    with pytest.raises(StreamsError, match=r"MISSING_SOURCE_TOPICS: words is missing\. Create the topics"):
        await process.worker.turn()


async def test_wrong_numbers_of_partitions_end_the_worker_at_once() -> None:
    process = await started()
    process.member.tell(StreamsStatus.INCORRECTLY_PARTITIONED_TOPICS, "words has 3")
    with pytest.raises(
        StreamsError, match=r"INCORRECTLY_PARTITIONED_TOPICS: words has 3\. Let the application repartition"
    ):
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
        GroupStatuses(TOPICS).changed((StreamsGroupHeartbeatStatus(status_code=code, status_detail=""),), 0)
    assert [record.levelname for record in caplog.records] == [level]


@pytest.mark.parametrize(
    ("detail", "advice"),
    [
        (
            "Existing topic app-counts-changelog has different number of partitions: expected 4, found 2",  # Kafka 4.4
            r"Do not delete the changelog: it has the only copy of store 'counts'.*another application_id",
        ),
        (
            "Topic app-counts-changelog has 2 partitions, but the topology needs 4.",
            r"needs 4\. Do not delete the changelog: it has the only copy of store 'counts'",
        ),
        ("Existing topic app-words-repartition has …", "Do not delete the repartition topic: .*not processed yet"),
        ("Following topics do not have the same number of partitions: [a, b]", r"Let the application repartition"),
    ],
)
def test_no_advice_about_partitions_leads_to_the_loss_of_state(detail: str, advice: str) -> None:
    status = StreamsGroupHeartbeatStatus(status_code=StreamsStatus.INCORRECTLY_PARTITIONED_TOPICS, status_detail=detail)
    with pytest.raises(StreamsError, match=advice):
        GroupStatuses(TOPICS).changed((status,), 0)


def test_topics_that_cannot_be_created_are_a_warning_once(caplog: pytest.LogCaptureFixture) -> None:
    statuses = GroupStatuses(TOPICS)
    with caplog.at_level("INFO"):
        for detail in ("Internal topics are missing: app-counts-changelog.", FAILED) * 3:
            status = StreamsGroupHeartbeatStatus(
                status_code=StreamsStatus.MISSING_INTERNAL_TOPICS, status_detail=detail
            )
            statuses.changed((status,), 0)
    assert [record.levelname for record in caplog.records] == ["INFO", "WARNING"]
    assert "(Invalid value). The group's coordinator creates them, and tries again." in caplog.messages[1]
    assert "Invalid value" in statuses.obstacles[0]  # also after a status that does not say so
    statuses.changed((), 0)
    assert not statuses.obstacles


def test_topics_that_the_member_may_not_create_are_named_with_the_command_that_grants_it() -> None:
    statuses = GroupStatuses(TOPICS)
    detail = "Internal topics are missing: a, b; Unauthorized to CREATE on topics a, b."
    status = StreamsGroupHeartbeatStatus(status_code=StreamsStatus.MISSING_INTERNAL_TOPICS, status_detail=detail)
    statuses.changed((status,), 0)
    (obstacle,) = statuses.obstacles
    assert obstacle.endswith(
        "on topics a, b. Grant it: kafka-groups acls add --allow User:NAME --topic a --topic b --operation CREATE"
    )


async def test_a_worker_that_does_not_run_says_what_it_waits_for(caplog: pytest.LogCaptureFixture) -> None:
    process = await started()
    process.member.tell(StreamsStatus.MISSING_INTERNAL_TOPICS, FAILED)
    await passed(process, 9_000)
    assert "has not been RUNNING" not in caplog.text
    await passed(process, 122_000)
    warned = [each for each in caplog.messages if "has not been RUNNING" in each]
    assert len(warned) == 4  # after 10, 30, 70 and 130 s
    assert "for 10 s: the streams group says MISSING_INTERNAL_TOPICS: Internal topics are missing:" in warned[0]
    assert "a key topic.… of the application" in warned[0]
    process.member.tell(None)
    process.member.assign("0_0")
    with caplog.at_level("INFO"):
        await process.turn_until(lambda: process.worker.is_running)
        await passed(process, 100)
    assert "All tasks run, after" in caplog.text


def test_a_changelog_that_is_missing_after_the_start_is_a_warning_that_names_the_store(
    caplog: pytest.LogCaptureFixture,
) -> None:
    statuses = GroupStatuses(TOPICS)
    statuses.has_worked = True
    status = StreamsGroupHeartbeatStatus(status_code=StreamsStatus.MISSING_INTERNAL_TOPICS, status_detail=FAILED)
    statuses.changed((status,), 0)
    assert "The changelog of store 'counts' was deleted while the application ran" in caplog.text
    assert "start the application with another application_id" in caplog.text
