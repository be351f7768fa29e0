"""What a worker writes, and what it does if the brokers do not say where."""

import pytest

from kafka_groups.errors import KafkaGroupsError, NetworkError, TopicAuthorizationFailedError
from kafka_groups.streams import ErrorContext, ErrorResponse, Record, StreamsBuilder, StreamsError, Topology, serdes
from kafka_groups.streams.tasks.error_context import ErrorHandlers
from tests.support.fake_kafka import FakeKafka
from tests.unit.streams.runtime.counting import Process


def partitioned() -> Topology:
    """Writes words to the partition that a function chooses."""
    builder = StreamsBuilder()
    words = builder.stream("words", key=serdes.string, value=serdes.string)
    words.to("totals", partitioner=lambda *_: 0)
    return builder.build()


def with_words(*words: str) -> FakeKafka:
    kafka = FakeKafka({"words": 1, "totals": 1})
    for word in words:
        kafka.produce("words", word, word)
    return kafka


async def test_an_error_of_the_brokers_is_not_taken_for_one_of_a_partitioner() -> None:
    asked: list[Exception] = []

    def skip(_context: ErrorContext, _record: Record[object, object], error: Exception) -> ErrorResponse:
        asked.append(error)
        return ErrorResponse.RESUME

    def refused(_topic: str) -> int:
        raise TopicAuthorizationFailedError("not yours")

    process = Process(with_words("to"), topology=partitioned(), handlers=ErrorHandlers(processing=skip))
    process.plane.partitions = refused  # type: ignore[method-assign, assignment]
    process.member.assign("0_0")
    await process.worker.start()
    with pytest.raises(StreamsError, match=r"cannot write to totals .*not yours") as raised:
        await process.turn_until(lambda: process.has_committed(1))
    assert isinstance(raised.value.__cause__, KafkaGroupsError)
    assert not asked


async def test_a_topic_that_may_not_be_written_is_not_asked_for_again_with_each_record() -> None:
    """With a handler that goes on, each record would wait for brokers otherwise."""
    words, asked = [f"word{number}" for number in range(20)], []

    def refused(topic: str) -> int:
        asked.append(topic)
        raise TopicAuthorizationFailedError("User:ann may not write to totals.")

    errors: list[Exception] = []

    def skip(_context: ErrorContext, _record: object, error: Exception) -> ErrorResponse:
        errors.append(error)
        return ErrorResponse.RESUME

    process = Process(with_words(*words), topology=partitioned(), handlers=ErrorHandlers(production=skip))
    process.plane.partitions = refused  # type: ignore[method-assign]
    process.member.assign("0_0")
    await process.worker.start()
    await process.turn_until(lambda: process.has_committed(len(words)))
    assert [str(error) for error in errors] == ["User:ann may not write to totals."] * len(words)
    assert len(asked) < len(words) / 2


async def test_a_worker_waits_while_brokers_do_not_say_how_many_partitions_a_topic_has(
    caplog: pytest.LogCaptureFixture,
) -> None:
    process, failures = Process(with_words("to"), topology=partitioned()), [1, 2, 3]
    answered = process.plane.partitions

    def slow(topic: str) -> int | None:
        if failures:
            failures.pop()
            raise NetworkError("the brokers are away")
        return answered(topic)

    process.plane.partitions = slow  # type: ignore[method-assign]
    process.member.assign("0_0")
    await process.worker.start()
    await process.turn_until(lambda: process.has_committed(1))
    assert "The number of partitions of totals is unknown: the brokers are away" in caplog.messages
    assert [entry.value for entry in process.kafka.values("totals")] == [b"to"]
