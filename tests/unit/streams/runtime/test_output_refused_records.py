"""Records of sinks that brokers refuse after the task has gone on: the production handler decides before the commit."""

from collections.abc import Callable
from typing import Any

import pytest

from kafka_groups.errors import (
    ClusterAuthorizationFailedError,
    DeliveryFailedError,
    InvalidRecordError,
    KafkaGroupsError,
    MessageTooLargeError,
    NetworkError,
    OperationTimeoutError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.records.producing.refusal_texts import with_remedy
from kafka_groups.streams import ErrorContext, ErrorResponse, Record, StreamsBuilder, StreamsError, Topology, serdes
from kafka_groups.streams.tasks.error_context import ErrorHandlers
from kafka_groups.types import TopicPartition
from tests.support.fake_kafka import FakeKafka, LogEntry
from tests.unit.streams.runtime.counting import CHANGELOG, Process, brokers, restored

REFUSALS = [
    (MessageTooLargeError("501 bytes"), "Make records smaller, or allow larger ones"),
    (TopicAuthorizationFailedError("no"), "Allow the application's user to write to totals"),
]
UNKNOWN = UnknownTopicOrPartitionError("deleted")


class Answers:
    """A handler that gives answers in turn, the last one again and again, and notes what it is asked."""

    def __init__(self, *answers: ErrorResponse) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[ErrorContext, Record[Any, Any], Exception]] = []

    def __call__(self, context: ErrorContext, record: Record[Any, Any], error: Exception) -> ErrorResponse:
        self.asked.append((context, record, error))
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def copying() -> Topology:
    builder = StreamsBuilder()
    words = builder.stream("words", key=serdes.string, value=serdes.string)
    words.to("totals", name="write")
    return builder.build()


def refusing(error: KafkaGroupsError, key: bytes = b"bad", topic: str = "totals", times: float = float("inf")) -> Any:
    left = times

    def refusal(place: TopicPartition, entry: LogEntry) -> KafkaGroupsError | None:
        nonlocal left
        if (place.topic, entry.key) != (topic, key) or not left:
            return None
        left -= 1
        return error

    return refusal


async def started(
    refusal: Callable[[TopicPartition, LogEntry], KafkaGroupsError | None],
    *answers: ErrorResponse,
    task_timeout_ms: int = 300_000,
) -> tuple[Process, Answers]:
    """A worker that copies three records, of which the brokers refuse the second one."""
    kafka = FakeKafka({"words": 1, "totals": 1, "dead": 1})
    for at, key in enumerate(("a", "bad", "c")):
        kafka.produce("words", key, key, timestamp_ms=at)
    kafka.refusal = refusal
    handler = Answers(*answers)
    handlers = ErrorHandlers(production=handler if answers else None, dead_letter_topic="dead")
    process = Process(kafka, topology=copying(), handlers=handlers, task_timeout_ms=task_timeout_ms)
    process.member.assign("0_0")
    await process.worker.start()
    return process, handler


def keys(process: Process, topic: str = "totals") -> list[bytes | None]:
    return [entry.key for entry in process.kafka.values(topic)]


@pytest.mark.parametrize(("error", "cure"), REFUSALS)
async def test_a_refused_record_ends_the_worker_and_says_what_to_do(error: KafkaGroupsError, cure: str) -> None:
    process, _ = await started(refusing(error))
    text = rf"write in task 0_0 cannot write to totals what follows from words-0 offset 1: .*{error}\. {cure}.*"
    with pytest.raises(StreamsError, match=text + "set production_exception_handler"):
        await process.turn_until(lambda: process.has_committed(3))
    assert not process.kafka.committed


@pytest.mark.parametrize("error", [UNKNOWN, *(error for error, _ in REFUSALS)])
async def test_the_handler_is_asked_about_the_record_and_may_skip_it(error: KafkaGroupsError) -> None:
    process, handler = await started(refusing(error), ErrorResponse.RESUME)
    await process.turn_until(lambda: process.has_committed(3))
    assert keys(process) == [b"a", b"c"]
    ((context, record, asked_about),) = handler.asked
    assert (context.node, context.output_topic, context.place) == ("write", "totals", "words-0 offset 1")
    assert (context.source_raw_key, context.source_raw_value) == (b"bad", b"bad")
    assert record == Record(b"bad", b"bad", 1)
    assert asked_about is error


@pytest.mark.parametrize("error", [REFUSALS[0][0], REFUSALS[1][0], UNKNOWN])
async def test_a_refusal_that_says_what_to_do_gets_no_second_remedy(error: KafkaGroupsError) -> None:
    given = with_remedy(type(error)("Do what is told here."))
    process, _ = await started(refusing(given), ErrorResponse.FAIL)
    with pytest.raises(StreamsError, match=r"Do what is told here\.$"):
        await process.turn_until(lambda: process.has_committed(3))


def refusing_the_batch(error: KafkaGroupsError) -> Any:
    return lambda place, _entry: error if place.topic == "totals" else None


async def test_the_handler_is_asked_about_each_record_of_a_batch_with_the_error_of_its_own() -> None:
    process, handler = await started(refusing_the_batch(InvalidRecordError("null key")), ErrorResponse.RESUME)
    await process.turn_until(lambda: process.has_committed(3))
    assert [context.offset for context, _, _ in handler.asked] == [0, 1, 2]
    assert {str(error) for _, _, error in handler.asked} == {"null key"}


async def test_records_of_a_topic_that_may_not_be_written_to_are_wrong_one_by_one() -> None:
    process, handler = await started(refusing_the_batch(TopicAuthorizationFailedError("no")), ErrorResponse.RESUME)
    await process.turn_until(lambda: process.has_committed(3))
    assert {str(error) for _, _, error in handler.asked} == {"no"}


async def test_a_dead_letter_is_written_before_the_commit() -> None:
    process, _ = await started(refusing(MessageTooLargeError("large")), ErrorResponse.DEAD_LETTER)
    await process.turn_until(lambda: process.has_committed(3))
    (letter,) = process.kafka.values("dead")
    assert (letter.key, letter.value) == (b"bad", b"bad")
    assert dict(letter.headers)["__streams.errors.offset"] == b"1"


async def test_a_dead_letter_that_is_refused_ends_the_worker() -> None:
    error = MessageTooLargeError("large")
    process, _ = await started(
        lambda place, entry: error if place.topic == "dead" or entry.key == b"bad" else None, ErrorResponse.DEAD_LETTER
    )
    with pytest.raises(DeliveryFailedError, match="dead-0"):
        await process.turn_until(lambda: process.has_committed(3))
    assert not process.kafka.committed


async def test_a_dead_letter_topic_that_does_not_exist_ends_the_worker() -> None:
    process, _ = await started(refusing(MessageTooLargeError("large")), ErrorResponse.DEAD_LETTER)
    del process.kafka.counts["dead"]
    text = r"The dead letter about write at words-0 offset 1 cannot be written to dead: .*does not exist.*Create dead"
    with pytest.raises(StreamsError, match=text):
        await process.turn_until(lambda: process.has_committed(3))


async def test_a_record_whose_error_may_pass_is_written_again() -> None:
    refusal = refusing(UnknownTopicOrPartitionError("not yet"), times=3)
    process, handler = await started(refusal, ErrorResponse.RETRY)
    await process.turn_until(lambda: process.has_committed(3))
    assert keys(process) == [b"a", b"c", b"bad"]
    assert len(handler.asked) == 3


async def test_a_record_is_not_written_again_for_longer_than_the_task_timeout() -> None:
    refusal = refusing(UnknownTopicOrPartitionError("not yet"))
    process, handler = await started(refusal, ErrorResponse.RETRY, task_timeout_ms=10_000)
    with pytest.raises(UnknownTopicOrPartitionError):
        await process.turn_until(lambda: process.has_committed(3))
    assert len(handler.asked) > 3
    assert not process.kafka.committed


async def test_a_record_whose_error_does_not_pass_cannot_be_written_again() -> None:
    process, _ = await started(refusing(MessageTooLargeError("large")), ErrorResponse.RETRY)
    with pytest.raises(StreamsError, match=r"returned ErrorResponse.RETRY, which is for errors .* that can be retried"):
        await process.turn_until(lambda: process.has_committed(3))


@pytest.mark.parametrize("error", [ClusterAuthorizationFailedError("no"), KafkaGroupsError("fenced")])
async def test_an_error_that_is_not_about_one_record_ends_the_worker_whatever_the_handler_says(
    error: KafkaGroupsError,
) -> None:
    process, handler = await started(refusing(error), ErrorResponse.RESUME)
    with pytest.raises(StreamsError, match=f"write in task 0_0 cannot write to totals: {type(error).__name__}"):
        await process.turn_until(lambda: process.has_committed(3))
    assert not handler.asked
    assert not process.kafka.committed


async def test_a_topic_that_does_not_exist_is_a_matter_of_the_handler_too_and_is_looked_for_again() -> None:
    process, handler = await started(refusing(MessageTooLargeError("large"), b"none"), ErrorResponse.RESUME)
    del process.kafka.counts["totals"]
    await process.turn_until(lambda: process.has_committed(3))
    assert {type(error) for _, _, error in handler.asked} == {UnknownTopicOrPartitionError}
    process.kafka.counts["totals"] = 1
    process.kafka.produce("words", "d", "d")
    await process.turn_until(lambda: keys(process) == [b"d"])


async def test_a_change_of_a_store_that_is_refused_ends_the_worker() -> None:
    kafka = brokers()
    kafka.produce("words", "bad", "")
    kafka.refusal = refusing(MessageTooLargeError("large"), topic=CHANGELOG)
    process = Process(kafka, handlers=ErrorHandlers(production=Answers(ErrorResponse.RESUME)))
    process.member.assign("0_0")
    await process.worker.start()
    with pytest.raises(DeliveryFailedError, match=CHANGELOG):
        await process.turn_until(lambda: process.has_committed(1))


async def test_a_topic_that_brokers_do_not_know_any_more_is_asked_for_before_the_next_record() -> None:
    def deleted(place: TopicPartition, _entry: LogEntry) -> KafkaGroupsError | None:
        process.kafka.counts.pop("totals", None)
        return UNKNOWN if place.topic == "totals" else None

    process, _ = await started(deleted)
    text = (
        r"write in task 0_0 cannot write to totals what follows from words-0 offset 0: .*does not exist.*Create totals"
    )
    with pytest.raises(StreamsError, match=text):
        await process.turn_until(lambda: process.has_committed(3))
    assert not process.kafka.committed


PASSING = [OperationTimeoutError("late"), NetworkError("a broker left the cluster"), UNKNOWN]


@pytest.mark.parametrize("error", PASSING)
async def test_without_a_handler_records_are_processed_again_after_an_error_that_may_pass(
    error: KafkaGroupsError, caplog: pytest.LogCaptureFixture
) -> None:
    process, _ = await started(refusing(error, times=3))
    await process.turn_until(lambda: process.has_committed(3))
    assert set(keys(process)) == {b"a", b"bad", b"c"}
    first = keys(process).index(b"bad")
    assert b"c" in keys(process)[first:]  # behind it, in the order of the task
    assert f"did not write to totals: {type(error).__name__}" in caplog.text
    assert "The records since the last commit are processed again" in caplog.text


async def test_a_change_of_a_store_whose_error_may_pass_is_made_again() -> None:
    kafka = brokers()
    for word in ("good", "bad", "bad", "good", "bad"):
        kafka.produce("words", word, "")
    kafka.refusal = refusing(NetworkError("a broker left the cluster"), topic=CHANGELOG, times=2)
    process = Process(kafka)
    process.member.assign("0_0")
    await process.worker.start()
    await process.turn_until(lambda: process.has_committed(5))
    await process.worker.close()
    counts = restored(kafka)
    assert counts["good"] >= 2  # at least once
    assert counts["bad"] == 3


@pytest.mark.parametrize("topic", ["totals", CHANGELOG])
async def test_records_are_not_processed_again_for_longer_than_the_task_timeout(topic: str) -> None:
    kafka = brokers()
    kafka.produce("words", "bad", "")
    kafka.refusal = refusing(NetworkError("a broker left the cluster"), topic=topic)
    process = Process(kafka, task_timeout_ms=10_000)
    process.member.assign("0_0")
    await process.worker.start()
    begun_ms = process.clock.now_ms()
    with pytest.raises(DeliveryFailedError, match="a broker left the cluster"):
        await process.turn_until(lambda: process.has_committed(1))
    assert 10_000 <= process.clock.now_ms() - begun_ms <= 30_000
    assert not process.kafka.committed


async def test_the_last_commit_may_fail_for_a_passing_reason() -> None:
    process, _ = await started(refusing(NetworkError("a broker left the cluster")))
    process.clock.advance(1_000)
    await process.worker.turn()
    await process.worker.close(1.0)
    assert not process.kafka.committed
