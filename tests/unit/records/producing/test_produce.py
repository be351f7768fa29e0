"""The manager of Produce requests: their form, their answers, and their faults."""

from collections.abc import Sequence
from typing import Any

import pytest

from kafka_groups.client.requests import NEVER_MS, ClientResponse, Lane, PollResult
from kafka_groups.errors import (
    ClusterAuthorizationFailedError,
    InvalidRecordError,
    KafkaGroupsError,
    MessageTooLargeError,
    OutOfOrderSequenceNumberError,
    TopicAuthorizationFailedError,
    UnknownServerError,
    UnknownTopicOrPartitionError,
    UnsupportedVersionError,
)
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.produce import ProduceResponse
from kafka_groups.protocol.record_batch import BatchHeader, iter_batches
from kafka_groups.records.producing.accumulator import AccumulatorSettings
from kafka_groups.records.producing.produce import ProduceSettings
from kafka_groups.records.producing.producer_ids import ProducerIdAndEpoch
from kafka_groups.types import TopicPartition
from tests.support.producing.partition_of_producers import POISON
from tests.support.producing.producer_world import TOPIC, ProducerWorld

SMALL = AccumulatorSettings(batch_bytes=100, linger_ms=5)
"""One record in each batch."""


def values(count: int, start: int = 0) -> list[bytes]:
    return [b"value %03d" % number + b"." * 40 for number in range(start, start + count)]


def ready(settings: AccumulatorSettings = SMALL, **options: Any) -> ProducerWorld:
    """A world whose producer has an id, and has written a record to each partition."""
    world = ProducerWorld(settings=settings, **options)
    for partition in range(len(world.logs)):
        world.write(partition, [b"first"])
    world.settle()
    world.messages.clear()
    return world


def lingered(world: ProducerWorld) -> None:
    """Let the open batches be complete, and sent."""
    world.turn()
    world.pass_time(5)


def headers(world: ProducerWorld) -> list[list[tuple[int, BatchHeader]]]:
    """For each request the partitions and the headers of their batches."""
    return [
        [
            (data.index, next(iter_batches(data.records)).header)
            for topic in message.topic_data
            for data in topic.partition_data
        ]
        for message in world.messages
    ]


def numbers(world: ProducerWorld, partition: int = 0) -> list[int]:
    """The first number of each batch of a partition that was sent."""
    return [header.base_sequence for batches in headers(world) for index, header in batches if index == partition]


def check(world: ProducerWorld) -> None:
    """Flush, and look whether each record was written once and in order, or refused."""
    world.settle_once()
    world.settle()
    world.check()


# --------------------------------------------------------------------------------------------- requests


def test_an_id_is_asked_for_when_the_first_batch_is_ready() -> None:
    world = ProducerWorld(settings=SMALL)
    assert world.turn() == NEVER_MS
    world.write(0, [b"v"])
    assert world.turn() == 5
    assert not world.requests[0]
    world.pass_time(5)
    world.answer_all()
    assert world.logs[0].values == [b"v"]
    assert world.produce.is_flushed
    check(world)


def test_a_request_has_a_batch_of_each_partition_of_a_leader() -> None:
    world = ready(partitions=4, nodes=2)
    for partition in range(4):
        world.write(partition, values(2))
    lingered(world)
    assert [[index for index, _ in batches] for batches in headers(world)] == [[0, 2], [1, 3], [0, 2], [1, 3]]
    check(world)


def test_a_request_asks_for_all_replicas_by_topic_id() -> None:
    world = ready()
    world.write(0, [b"v"])
    lingered(world)
    [message] = world.messages
    [question] = world.requests[0]
    assert (message.acks, message.timeout_ms, message.transactional_id) == (-1, 30_000, None)
    assert (message.topic_data[0].topic_id, message.topic_data[0].name) == (world.topics.topic_id, "")
    assert (question.request.node_id, question.request.timeout_ms, question.request.lane) == (0, 30_000, Lane.PRODUCE)
    check(world)


def test_older_brokers_get_the_name_of_the_topic() -> None:
    world = ready()
    world.version = 12
    world.write(0, [b"v"])
    lingered(world)
    [message] = world.messages
    assert (message.topic_data[0].topic_id, message.topic_data[0].name) == (None, TOPIC)
    check(world)


@pytest.mark.parametrize("most", [1, 5])
def test_so_many_requests_are_in_flight_to_a_broker(most: int) -> None:
    world = ready(produce=ProduceSettings(max_in_flight=most))
    world.write(0, values(9))
    lingered(world)
    assert len(world.requests[0]) == most
    world.handle(0)
    world.deliver(0)
    assert len(world.requests[0]) == most
    assert numbers(world) == list(range(1, most + 2))
    check(world)


def test_a_request_is_no_larger_than_its_limit() -> None:
    world = ready(partitions=5, nodes=1, produce=ProduceSettings(max_request_bytes=300))
    for partition in range(5):
        world.write(partition, values(1))
    lingered(world)
    assert [[index for index, _ in batches] for batches in headers(world)] == [[0, 1], [2, 3], [4]]
    check(world)


def test_a_batch_larger_than_the_rest_has_a_request_of_its_own() -> None:
    settings = AccumulatorSettings(batch_bytes=100, linger_ms=5)
    world = ready(settings, nodes=1, produce=ProduceSettings(max_request_bytes=200))
    world.write(0, values(1))
    world.write(1, [b"v" * 5_000])
    lingered(world)
    assert [[index for index, _ in batches] for batches in headers(world)] == [[0], [1]]
    check(world)


def test_a_flush_waits_for_no_more_records() -> None:
    world = ready()
    world.produce.flush_requested = True
    world.write(0, [b"v"])
    assert world.turn() == NEVER_MS
    assert len(world.requests[0]) == 1
    check(world)


def test_topics_that_are_written_to_are_wanted() -> None:
    world = ready()
    assert world.topics.wanted == {TOPIC}


# ---------------------------------------------------------------------------------------------- retries


def test_a_request_without_answer_is_sent_again_with_the_same_bytes() -> None:
    world = ready()
    world.write(0, values(3))
    lingered(world)
    world.disconnect(0, handled=2)
    check(world)
    first = [data.records for topic in world.messages[0].topic_data for data in topic.partition_data]
    again = [data.records for topic in world.messages[3].topic_data for data in topic.partition_data]
    assert first == again
    assert world.topics.is_refreshed or world.logs[0].values


def test_later_batches_follow_the_failed_one() -> None:
    world = ready()
    world.faults[0].append(ErrorCode.NOT_ENOUGH_REPLICAS)
    world.write(0, values(4))
    lingered(world)
    world.answer_all()
    assert numbers(world) == [1, 2, 3, 4]
    world.pass_time(200)
    world.answer_all()
    assert numbers(world) == [1, 2, 3, 4, 1, 2, 3, 4]
    check(world)


def test_a_failed_batch_waits_for_the_back_off() -> None:
    world = ready()
    world.faults[0].append(ErrorCode.NOT_ENOUGH_REPLICAS)
    world.write(0, values(1))
    lingered(world)
    world.answer_all()
    wait_ms = world.turn()
    assert 80 <= wait_ms <= 120
    world.pass_time(wait_ms - 1)
    assert not world.requests[0]
    world.pass_time(1)
    assert len(world.requests[0]) == 1
    check(world)


def test_a_partition_without_a_leader_for_long_is_a_warning() -> None:
    world = ready()
    leader, world.topics.leaders[0] = world.topics.leaders[0], -1
    world.topics.learn()
    world.write(0, values(1))
    for _ in range(5):
        world.pass_time(1_200)
    assert world.warnings == []
    world.pass_time(1_200)
    assert world.warnings == ["t-0 has no leader, so its records wait. Are all brokers up?"]
    world.topics.leaders[0] = leader
    check(world)


def test_batches_that_fail_together_count_as_one_failure() -> None:
    world = ready()
    world.write(0, values(5))
    lingered(world)
    world.disconnect(0, handled=0)
    assert 80 <= world.turn() <= 120
    check(world)


def test_a_leader_that_becomes_known_is_used_at_once() -> None:
    world = ready()
    known, world.topics.known_leaders[0] = world.topics.known_leaders[0], -1
    world.write(0, values(1))
    lingered(world)
    for _ in range(5):
        world.pass_time(0)
        world.topics.known_leaders[0] = -1
    world.topics.known_leaders[0] = known
    world.turn()
    assert len(world.requests[0]) == 1
    check(world)


@pytest.mark.parametrize("code", [ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND])
def test_a_batch_that_was_appended_is_written_once(code: ErrorCode) -> None:
    world = ready()
    world.faults[0].append(code)
    world.write(0, values(3))
    lingered(world)
    check(world)
    assert world.warnings == []
    assert world.produce.confirmed == 2 + 3


def test_a_new_leader_in_the_answer_is_used_at_once() -> None:
    world = ready()
    world.move(0, 1)
    world.write(0, values(1))
    lingered(world)
    world.handle(0)
    world.deliver(0)
    assert len(world.requests[1]) == 1
    check(world)


def test_without_a_leader_in_the_answer_metadata_is_fetched() -> None:
    world = ready()
    world.gives_hints = False
    world.move(0, 1)
    world.write(0, values(1))
    lingered(world)
    world.handle(0)
    world.deliver(0)
    assert world.topics.is_refreshed
    assert not world.requests[1]
    check(world)


def test_a_partition_without_a_leader_waits() -> None:
    world = ready()
    world.topics.known_leaders[0] = -1
    world.write(0, values(1))
    lingered(world)
    assert not world.requests[0]
    assert world.topics.is_refreshed
    assert world.turn() <= 120
    check(world)


def test_an_answer_that_leaves_out_a_partition_counts_as_none() -> None:
    world = ready()
    world.write(0, values(1))
    lingered(world)
    question = world.requests[0].popleft()
    world.produce.on_response(question.request, ClientResponse(ProduceResponse(), 13, 1), world.now_ms)
    assert world.produce.pending == 1
    world.pass_time(200)
    question = world.requests[0].popleft()
    world.produce.on_response(question.request, ClientResponse(ProduceResponse(), 13, 1), world.now_ms)
    assert "does not mention the partition" in world.warnings[0]
    check(world)


def test_a_throttled_broker_gets_nothing_for_a_while() -> None:
    world = ready()
    world.throttle_ms = 500
    for partition in (0, 1):
        world.write(partition, values(1))
    lingered(world)
    world.answer_all()
    world.throttle_ms = 0
    world.write(0, values(1, 1))
    lingered(world)
    assert not world.requests[0]
    assert 400 <= world.turn() <= 500
    world.pass_time(500)
    assert len(world.requests[0]) == 1
    check(world)


def test_warnings_are_events_with_subjects() -> None:
    """The log leaves out repeats of a subject, so that a broker that is away for long does not fill it."""
    world = ready()
    world.faults[0].extend([ErrorCode.NOT_ENOUGH_REPLICAS] * 20)
    world.write(0, values(1))
    for _ in range(20):
        world.pass_time(2_000)
        world.answer_all()
    subjects = {event.subject for event in world.errors.events.take()}
    assert subjects == {"retry t-0 NOT_ENOUGH_REPLICAS"}
    check(world)


def test_markers_of_the_transaction_before_are_waited_for_without_a_warning() -> None:
    world = ready()
    world.faults[0].extend([ErrorCode.CONCURRENT_TRANSACTIONS] * 5)
    world.write(0, values(1))
    for _ in range(5):
        world.pass_time(2_000)
        world.answer_all()
    assert list(world.errors.events.take()) == []
    world.settle()
    check(world)


# ------------------------------------------------------------------------------------------ confirmations


def tracked(world: ProducerWorld, partition: int, given: Sequence[bytes]) -> None:
    for value in given:
        world.accumulator.write_tracked(TOPIC, b"k", value, 0, (), partition)


def test_offsets_of_tracked_records_are_known() -> None:
    world = ready(AccumulatorSettings())
    tracked(world, 0, values(3))
    world.write(1, values(3))
    world.settle()
    assert world.produce.written == {TopicPartition(TOPIC, 0): 4}


def test_the_offset_after_the_last_tracked_record_counts() -> None:
    world = ready(AccumulatorSettings())
    tracked(world, 0, values(2))
    world.write(0, values(2))
    world.settle()
    assert world.produce.written == {TopicPartition(TOPIC, 0): 3}


def test_a_duplicate_is_written_at_an_unknown_offset() -> None:
    world = ready()
    world.faults[0].append(ErrorCode.DUPLICATE_SEQUENCE_NUMBER)
    tracked(world, 0, values(1))
    lingered(world)
    world.answer_all()
    assert world.produce.is_flushed
    assert world.produce.written == {}
    assert world.produce.unknown_ends == {TopicPartition(TOPIC, 0)}
    tracked(world, 0, values(1))
    world.settle()
    assert world.produce.written == {TopicPartition(TOPIC, 0): 3}
    assert world.produce.unknown_ends == set()


# ----------------------------------------------------------------------------------------------- refusals


def refused(world: ProducerWorld) -> list[tuple[bytes | None, KafkaGroupsError]]:
    return [(record.value, record.error) for record in world.produce.refusals.take_records()]


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
    assert str(error) == "User:ann may not write to t-0. Grant the operation Write on the topic."
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


# ------------------------------------------------------------------------------------------------- epochs


def test_a_gap_raises_the_epoch() -> None:
    world = ready()
    world.faults[0].append(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    world.write(0, values(3))
    check(world)
    assert world.identity.producer.epoch == 1
    assert [text for text in world.warnings if "epoch 1" in text] == [
        "The sequence numbers of t-0 begin anew, with epoch 1 of producer 2: no record is written twice."
    ]


def test_records_that_may_be_written_twice_are_told() -> None:
    world = ready()
    world.write(0, values(1))
    lingered(world)
    world.disconnect(0, handled=1)
    world.faults[0].append(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    world.settle_once()
    assert any("1 record may be written twice" in text for text in world.warnings)
    assert world.logs[0].values == [b"first", *values(1), *values(1)]


@pytest.mark.parametrize("code", [ErrorCode.UNKNOWN_PRODUCER_ID, ErrorCode.INVALID_PRODUCER_EPOCH])
def test_a_forgotten_producer_continues_with_another_epoch(code: ErrorCode) -> None:
    world = ready()
    world.faults[0].append(code)
    world.write(0, values(3))
    check(world)
    assert world.identity.producer.epoch == 1


def test_two_partitions_share_a_new_epoch() -> None:
    world = ready(nodes=1)
    for partition in (0, 1):
        world.faults[partition].append(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
        world.write(partition, values(1))
    check(world)
    assert world.identity.producer.epoch == 1


def test_used_up_epochs_lead_to_another_id() -> None:
    world = ProducerWorld(settings=SMALL)
    world.first_epoch = 32_766
    world.write(0, [b"a"])
    world.settle()
    world.first_epoch = 0
    known = world.identity.producer
    world.faults[0].append(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    world.write(0, values(2))
    check(world)
    assert world.identity.producer == ProducerIdAndEpoch(known.producer_id + 1, 0)


# ------------------------------------------------------------------------------------------------- topics


def test_a_topic_that_vanishes_is_waited_for_and_then_refused() -> None:
    world = ready()
    world.topics.exists = False
    world.write(0, values(2))
    world.produce.flush_requested = True
    for _ in range(58):
        world.pass_time(1_000)
        world.answer_all()
    assert refused(world) == []
    assert any("t-0 does not exist" in text for text in world.warnings)
    for _ in range(5):
        world.pass_time(1_000)
        world.answer_all()
    found = refused(world)
    assert [value for value, _ in found] == values(2)
    assert isinstance(found[0][1], UnknownTopicOrPartitionError)
    assert str(found[0][1]).startswith("t-0 has not existed for 6")
    assert world.produce.is_flushed
    assert world.accumulator.held_bytes == 0


def test_a_topic_that_comes_back_gets_its_records() -> None:
    world = ready()
    world.topics.exists = False
    world.write(0, values(2))
    for _ in range(30):
        world.pass_time(1_000)
        world.answer_all()
    world.topics.exists = True
    check(world)


def test_a_partition_that_does_not_exist_is_refused_like_a_topic() -> None:
    world = ready()
    world.accumulator.write(TOPIC, b"k", b"v", 0, (), 9, "origin")
    for _ in range(70):
        world.pass_time(1_000)
    [(_, error)] = refused(world)
    assert "t-9 has not existed" in str(error)


def test_metadata_that_may_not_be_read_refuses_the_records() -> None:
    world = ready()
    world.topics.error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    world.topics.known_leaders[0] = -1
    world.write(0, values(1))
    lingered(world)
    [(_, error)] = refused(world)
    assert isinstance(error, TopicAuthorizationFailedError)
    assert world.produce.is_flushed


def test_numbers_begin_anew_in_a_topic_that_was_made_again() -> None:
    world = ready()
    world.write(0, values(2))
    lingered(world)
    assert world.produce.replaced == set()
    world.make_again()
    check(world)
    assert numbers(world)[-2:] == [0, 1]
    assert any("was deleted and created again" in text for text in world.warnings)
    assert world.produce.replaced == {TopicPartition(TOPIC, 0)}
    assert world.told_counts == {TOPIC: len(world.logs)}
    world.produce.renew()
    assert world.produce.replaced == set()


def test_a_partition_that_a_topic_does_not_have_after_it_was_made_again_refuses_its_records_at_once() -> None:
    world = ready()
    last = len(world.logs) - 1
    world.write(last, values(2))
    lingered(world)
    world.answer_all()
    world.make_again()
    world.topics.leaders.pop()
    world.write(last, [b"late"])
    lingered(world)
    world.answer_all()
    world.pass_time(1_000)
    [(value, error)] = refused(world)
    assert value == b"late"
    assert f"was deleted and created again with {last} partition" in str(error)
    assert f"it has no {TOPIC}-{last}." in str(error)
    assert world.told_counts == {TOPIC: last}
    assert world.produce.is_flushed


# ------------------------------------------------------------------------------------------- transactions


class Transactional:
    """An identity of a transaction, as the manager of transactions is one."""

    is_transactional, transactional_id, newest_produce_version = True, "tx", 11

    def __init__(self) -> None:
        self.producer = ProducerIdAndEpoch(9, 3)
        self.permitted: set[TopicPartition] = set()
        self.produced: list[TopicPartition] = []
        self.lost: list[KafkaGroupsError] = []

    def may_produce(self, partition: TopicPartition) -> bool:
        return partition in self.permitted

    def note_produced(self, partition: TopicPartition) -> None:
        self.produced.append(partition)

    def lose(self, error: KafkaGroupsError) -> None:
        self.lost.append(error)

    def raise_epoch(self) -> None:
        raise AssertionError("only the coordinator raises the epoch of a transaction")

    def poll(self, _now_ms: int) -> Any:
        return PollResult()


def transacting() -> tuple[ProducerWorld, Transactional]:
    identity = Transactional()
    return ProducerWorld(settings=SMALL, identity=identity), identity


def test_batches_wait_until_their_partition_belongs_to_the_transaction() -> None:
    world, identity = transacting()
    world.version = 11
    world.write(0, values(1))
    lingered(world)
    assert world.messages == []
    identity.permitted.add(TopicPartition(TOPIC, 0))
    world.turn()
    [message] = world.messages
    assert message.transactional_id == "tx"
    assert [question.request.newest_version for question in world.requests[0]] == [11]
    assert identity.produced == [TopicPartition(TOPIC, 0)]
    world.settle()


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    ],
)
def test_a_lost_transaction_drops_its_records(code: ErrorCode) -> None:
    world, identity = transacting()
    identity.permitted.add(TopicPartition(TOPIC, 0))
    world.faults[0].append(code)
    world.write(0, values(3))
    world.settle_once()
    [error] = identity.lost
    assert error.code == code  # type: ignore[attr-defined]
    assert world.errors.fatal is None
    assert world.produce.is_flushed
    world.write(0, values(1))
    assert world.produce.is_flushed, "what is written is ignored until the producer is renewed"
    world.produce.renew()
    identity.producer = ProducerIdAndEpoch(9, 4)
    world.write(0, values(1))
    world.settle_once()
    assert numbers(world)[-1] == 0


def test_a_refused_record_does_not_lose_the_transaction() -> None:
    world, identity = transacting()
    identity.permitted.add(TopicPartition(TOPIC, 0))
    world.write(0, [b"a", POISON, b"b"])
    check(world)
    assert identity.lost == []


def test_a_refusal_in_doubt_loses_the_transaction() -> None:
    world, identity = transacting()
    identity.permitted.add(TopicPartition(TOPIC, 0))
    world.faults[0].extend([ErrorCode.REQUEST_TIMED_OUT, ErrorCode.TOPIC_AUTHORIZATION_FAILED])
    world.write(0, values(1))
    world.settle_once()
    assert len(identity.lost) == 1


# ---------------------------------------------------------------------------------------------------- end


def test_a_renewed_producer_begins_anew_and_ignores_late_answers() -> None:
    world = ready()
    world.write(0, values(2))
    tracked(world, 1, values(1))
    world.settle_once()
    world.write(0, [POISON, *values(2, 2)])
    lingered(world)
    world.produce.renew()
    world.identity.renew()
    assert (world.produce.is_flushed, world.produce.written, world.accumulator.held_bytes) == (True, {}, 0)
    world.answer_all()
    assert refused(world) == []
    world.write(0, values(1, 5))
    world.settle_once()
    assert world.logs[0].values[-1] == values(1, 5)[0]


def test_a_gap_of_a_lost_connection_does_not_count() -> None:
    world = ready()
    world.write(0, values(5))
    lingered(world)
    world.disconnect(0, handled=3)
    check(world)
    assert world.identity.producer.epoch == 0
    assert not any(isinstance(error, OutOfOrderSequenceNumberError) for _, error in refused(world))
