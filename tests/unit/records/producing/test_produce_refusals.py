"""Records that are refused, and errors that end the producer."""

from kafka_groups.client.requests import NEVER_MS
from kafka_groups.errors import (
    ClusterAuthorizationFailedError,
    InvalidRecordError,
    MessageTooLargeError,
    TopicAuthorizationFailedError,
    UnknownServerError,
    UnsupportedVersionError,
)
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.records.producing.accumulator import AccumulatorSettings
from kafka_groups.records.producing.produce_settings import ProduceSettings
from tests.support.producing.partition_of_producers import POISON
from tests.support.producing.producer_world import TOPIC
from tests.unit.records.producing.worlds import check, lingered, numbers, ready, refused, values


def test_named_records_are_refused_and_the_others_written() -> None:
    world = ready(AccumulatorSettings())
    given = values(100)
    given[70] = POISON
    world.write(0, given)
    world.write(1, values(3))
    world.settle()
    assert world.logs[0].values[1:] == given[:70] + given[71:]
    assert world.refused[0] == {POISON: 1}
    world.check()
    assert numbers(world) == [1, 1]


def test_a_refused_record_has_its_parts_and_its_origin() -> None:
    world = ready()
    world.accumulator.write(TOPIC, b"key", POISON, 77, (("h", b"1"), ("h", None)), 0, "here")
    world.settle_once()
    [record] = world.produce.refusals.take_records()
    assert record[:6] == (TOPIC, b"key", POISON, 77, (("h", b"1"), ("h", None)), 0)
    assert (type(record.error), record.origin) == (InvalidRecordError, "here")
    assert world.produce.refusals.take_records() == []


def test_without_names_the_whole_batch_is_refused() -> None:
    world = ready(AccumulatorSettings())
    world.logs[0].names_records = False
    world.write(0, [b"a", POISON, b"b"])
    world.settle_once()
    together = refused(world)
    assert [value for value, _ in together] == [b"a", POISON, b"b"]
    text = "It is one of 3 records of a batch, and the broker does not say which of them is wrong."
    assert {str(error) for _, error in together} == {f"t-0: INVALID_RECORD. {text}"}
    world.write(0, [b"c"])
    world.settle_once()
    assert world.logs[0].values == [b"first", b"c"]
    assert numbers(world) == [1, 1]


def test_records_without_origin_are_errors() -> None:
    world = ready(AccumulatorSettings())
    world.write(0, [POISON + b"1", b"a", POISON + b"2"], origin=lambda _value: None)
    world.settle_once()
    errors, count = world.produce.refusals.take_errors()
    assert ([*map(type, errors)], count) == ([InvalidRecordError, InvalidRecordError], 2)
    assert world.produce.refusals.take_errors() == ([], 0)


def test_a_batch_that_is_too_large_is_divided() -> None:
    world = ready(AccumulatorSettings())
    world.logs[0].max_bytes = 300
    world.write(0, values(100))
    check(world)
    assert len(world.logs[0].values) == 101


def test_later_batches_of_a_topic_with_a_small_limit_are_small() -> None:
    world = ready(AccumulatorSettings())
    world.logs[0].max_bytes = 3_000
    world.write(0, values(1_000))
    world.settle()
    world.messages.clear()
    world.write(0, values(1_000, 1_000))
    check(world)
    refusals = sum(
        len(data.records or b"") > 3_000 for m in world.messages for t in m.topic_data for data in t.partition_data
    )
    assert refusals == 0


def test_a_record_that_is_too_large_alone_is_refused() -> None:
    world = ready(AccumulatorSettings())
    world.logs[0].max_bytes = 300
    world.write(0, [b"a", b"v" * 400, b"b"])
    world.settle_once()
    [(value, error)] = refused(world)
    assert value == b"v" * 400
    assert isinstance(error, MessageTooLargeError)
    assert str(error).startswith("t-0 takes no record of 4")
    remedy = "Make records smaller, or allow larger ones: max.message.bytes of the topic, and max.request.size of the"
    assert str(error).endswith(f" bytes. {remedy} producer.")
    assert error.says_remedy
    assert world.logs[0].values == [b"first", b"a", b"b"]


def test_a_missing_right_refuses_the_batch() -> None:
    world = ready(produce=ProduceSettings(principal="User:ann"))
    world.faults[0].append(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    world.write(0, values(1))
    world.settle_once()
    [(_, error)] = refused(world)
    assert isinstance(error, TopicAuthorizationFailedError)
    assert str(error) == (
        "User:ann needs WRITE on the topic t (TOPIC_AUTHORIZATION_FAILED). Grant it: kafka-groups acls add --allow "
        "User:ann --topic t --operation WRITE"
    )
    assert error.says_remedy
    world.write(0, values(1))
    world.settle_once()
    assert numbers(world) == [1, 1]


def test_a_missing_right_of_the_cluster_ends_the_producer() -> None:
    world = ready()
    world.faults[0].append(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    world.write(0, values(3))
    world.settle_once()
    assert isinstance(world.errors.fatal, ClusterAuthorizationFailedError)
    assert world.produce.is_flushed
    world.write(0, values(1))
    assert world.produce.is_flushed, "nothing is taken any more"
    assert world.turn() == NEVER_MS


def test_brokers_without_a_version_end_the_producer() -> None:
    world = ready()
    world.write(0, values(1))
    lingered(world)
    question = world.requests[0].popleft()
    world.produce.on_failure(question.request, UnsupportedVersionError(), world.now_ms)
    assert isinstance(world.errors.fatal, UnsupportedVersionError)


def test_an_unexpected_error_refuses_the_batch_and_its_numbers() -> None:
    """The broker may have appended the batch. If another one had its numbers, the broker would drop that."""
    world = ready()
    world.faults[0].append(ErrorCode.UNKNOWN_SERVER_ERROR)
    world.write(0, values(2))
    lingered(world)
    world.settle_once()
    [(_, error)] = refused(world)
    assert isinstance(error, UnknownServerError)
    assert world.logs[0].values == [b"first", *values(2)]
    world.write(0, values(1, 2))
    world.settle_once()
    assert world.logs[0].values == [b"first", *values(3)]
    assert world.identity.producer.epoch == 1
