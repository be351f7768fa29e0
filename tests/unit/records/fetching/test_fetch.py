import pytest
from attrs import evolve

from kafka_groups.client.requests import ClientResponse
from kafka_groups.errors import (
    CorruptRecordError,
    DisconnectedError,
    KafkaGroupsError,
    LeaderNotAvailableError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
    UnsupportedVersionError,
)
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.fetch import FetchResponse
from kafka_groups.protocol.messages.metadata import MetadataResponse, MetadataResponseTopic
from kafka_groups.protocol.record_builder import NewRecord
from kafka_groups.records.fetching.fetch import FetchOptions
from kafka_groups.records.fetching.limits import ReadingLimits
from kafka_groups.records.interface import LogChange, PolledRecords
from kafka_groups.types import TopicPartition
from tests.support.naive_brokers import NaiveBrokers

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
MANY = 1_000_000


def brokers(topics: dict[str, int] | None = None, options: FetchOptions | None = None) -> NaiveBrokers:
    found = NaiveBrokers(topics or {"a": 2, "b": 1}, options)
    found.tell_metadata()
    return found


def write(found: NaiveBrokers, place: TopicPartition, *values: bytes, producer_id: int | None = None) -> None:
    log = found.log(place.topic, place.partition)
    log.append([NewRecord(value, key=b"k") for value in values], producer_id=producer_id)


def take(found: NaiveBrokers, most: int = MANY) -> PolledRecords:
    return found.reader.take(most, found.now_ms)


def values(polled: PolledRecords, place: TopicPartition = A0) -> list[bytes | None]:
    return [row[2] for row in polled.batches[place].rows()] if place in polled.batches else []


def offsets(found: NaiveBrokers) -> list[tuple[int, ...]]:
    """The offsets that each request under way asks for."""
    return [tuple(p.fetch_offset for topic in each.topics for p in topic.partitions) for each in found.built()]


# --------------------------------------------------------------------------------------------- requests


def test_each_leader_gets_one_request_with_all_its_partitions_and_what_the_options_say() -> None:
    limits = ReadingLimits(min_bytes=3, max_wait_ms=70, max_bytes=9_000, max_partition_bytes=800)
    found = brokers(options=FetchOptions(limits=limits, isolation_level=0, rack="r1"))
    found.reader.assign({A0: 0, A1: 5, B0: 7})
    found.poll()
    assert sorted((each.node_id, at) for each, at in zip(found.sent, offsets(found), strict=True)) == [
        (1, (0, 7)),
        (2, (5,)),
    ]
    request = found.built()[0]
    assert (request.min_bytes, request.max_wait_ms, request.max_bytes) == (3, 70, 9_000)
    assert (request.isolation_level, request.rack_id, request.session_epoch) == (0, "r1", -1)
    assert {p.partition_max_bytes for topic in request.topics for p in topic.partitions} == {800}
    found.poll()
    assert len(found.sent) == 2  # one under way for each leader


@pytest.mark.parametrize(("version", "by_id"), [(11, False), (12, False), (13, True), (18, True)])
def test_topics_go_by_id_from_version_13_on_and_by_name_before(version: int, by_id: bool) -> None:
    found = brokers()
    found.version = version
    write(found, A0, b"x")
    found.reader.assign({A0: 0})
    found.poll()
    (topic,) = found.built()[0].topics
    assert (topic.topic_id, topic.topic) == ((found.ids["a"], "") if by_id else (None, "a"))
    found.answer()
    assert values(take(found)) == [b"x"]
    found.poll()
    ((partition,),) = [topic.partitions for topic in found.built()[0].topics]
    assert partition.last_fetched_epoch == (0 if version >= 12 else -1)
    assert partition.current_leader_epoch == 0


def test_the_next_request_is_sent_before_anything_is_taken_until_the_room_is_used_up() -> None:
    # A batch has about 80 bytes, so a response has one.
    limits = ReadingLimits(max_partition_bytes=100, buffer_bytes=300)
    found = brokers(options=FetchOptions(limits=limits))
    for at in range(9):
        write(found, A0, b"%d" % at * 10)
    found.reader.assign({A0: 0})
    rounds = 0
    while found.poll() and found.sent:
        found.answer()
        rounds += 1
    assert rounds == 3
    assert values(take(found, 1)) == [b"0" * 10]
    found.turn()
    assert values(take(found)) == [b"%d" % at * 10 for at in (1, 2, 3)]


def test_a_batch_that_is_larger_than_all_limits_comes_all_the_same() -> None:
    limits = ReadingLimits(max_partition_bytes=100, buffer_bytes=300)
    found = brokers(options=FetchOptions(limits=limits))
    write(found, A0, bytes(5_000))
    write(found, A0, b"next")
    found.reader.assign({A0: 0})
    found.turn()
    assert not (found.poll(), found.sent)[1]
    assert values(take(found)) == [bytes(5_000)]
    found.turn()
    assert values(take(found)) == [b"next"]


def test_partitions_without_room_shorten_the_wait_of_the_others() -> None:
    found = brokers(options=FetchOptions(limits=ReadingLimits(max_partition_bytes=100, buffer_bytes=200)))
    write(found, A0, bytes(200))
    found.reader.assign({A0: 0, B0: 0})
    found.turn()
    found.poll()
    (request,) = found.built()
    assert request.max_wait_ms == 100
    assert offsets(found) == [(0,)]


def test_rows_that_wait_make_fetches_smaller() -> None:
    found = brokers()
    found.reader.assign({A0: 0})
    asked = []
    for waited_ms in (0, 3_000, 3_000, 0):
        write(found, A0, b"x")
        found.poll()
        asked.append(found.built()[0].topics[0].partitions[0].partition_max_bytes >> 10)
        found.answer()
        found.now_ms += waited_ms
        take(found)
    found.poll()
    assert [*asked, found.built()[0].topics[0].partitions[0].partition_max_bytes >> 10] == [1024, 1024, 512, 256, 512]


def test_partitions_that_had_records_come_last_in_the_next_request() -> None:
    found = brokers({"a": 1, "b": 1, "c": 1})
    for topic in ("b", "c"):
        write(found, TopicPartition(topic, 0), b"x")
    found.reader.assign({B0: 0, A0: 0, TopicPartition("c", 0): 1})
    found.turn()
    found.poll()
    names = {topic_id: name for name, topic_id in found.ids.items()}
    assert [names[topic.topic_id] for topic in found.built()[0].topics if topic.topic_id] == ["a", "c", "b"]


# ----------------------------------------------------------------------------------------------- taking


def test_whole_batches_are_taken_until_there_are_enough_records_and_others_come_first_the_next_time() -> None:
    found = brokers()
    for place in (A0, B0):
        for at in range(3):
            write(found, place, b"%d" % at, b"x")
    found.reader.assign({A0: 0, B0: 0})
    found.turn()
    taken = [take(found, 3) for _ in range(4)]
    assert [{place.topic: len(each) for place, each in polled.batches.items()} for polled in taken] == [
        {"a": 4},
        {"b": 4},
        {"a": 2, "b": 2},
        {},
    ]
    assert not found.reader.has_news


def test_a_paused_partition_keeps_what_was_fetched_and_is_not_fetched() -> None:
    found = brokers()
    write(found, A0, b"x")
    found.reader.assign({A0: 0})
    found.turn()
    found.reader.pause([A0])
    assert not found.reader.has_news
    assert not take(found)
    found.poll()
    assert not found.sent
    found.reader.resume([A0])
    assert values(take(found)) == [b"x"]
    found.poll()
    assert offsets(found) == [(1,)]


def test_what_arrives_for_a_paused_partition_waits() -> None:
    found = brokers()
    write(found, A0, b"x")
    found.reader.assign({A0: 0})
    found.poll()
    found.reader.pause([A0])
    found.answer()
    assert not take(found)
    found.reader.resume([A0])
    assert values(take(found)) == [b"x"]


@pytest.mark.parametrize(("level", "end"), [(0, 3), (1, 1)])
def test_an_end_is_told_once_with_the_last_records_before_it(level: int, end: int) -> None:
    found = brokers(options=FetchOptions(isolation_level=level))
    write(found, A0, b"x")
    write(found, A0, b"open", b"open", producer_id=4)
    found.reader.assign({A0: 0})
    found.turn()
    first = take(found)
    assert first.ends == {A0: end}
    assert len(first.batches[A0]) == end
    found.turn()
    assert not take(found)
    found.log("a").end(4, is_commit=False)
    write(found, A0, b"y")
    found.turn()
    polled = take(found)
    assert (values(polled), polled.ends) == ([b"y"], {A0: 5})


def test_an_empty_log_has_an_end() -> None:
    found = brokers()
    found.reader.assign({A0: 0})
    found.turn()
    assert found.reader.has_news
    assert take(found) == PolledRecords({}, {A0: 0})
    assert not found.reader.has_news


def test_markers_alone_move_the_position() -> None:
    found = brokers()
    write(found, A0, b"x", producer_id=1)
    found.log("a").end(1, is_commit=False)
    found.reader.assign({A0: 0})
    found.turn()
    polled = take(found)
    assert (polled.batches, polled.ends) == ({}, {A0: 2})
    found.poll()
    assert offsets(found) == [(2,)]


def test_nothing_of_an_answer_counts_for_a_partition_that_was_assigned_anew_or_unassigned() -> None:
    found = brokers()
    for place in (A0, B0):
        write(found, place, b"0")
        write(found, place, b"1")
    found.reader.assign({A0: 0, B0: 0})
    found.poll()
    found.reader.assign({A0: 1})
    found.reader.unassign([B0])
    found.answer()
    assert not take(found)
    found.turn()
    polled = take(found)
    assert (values(polled), list(polled.batches)) == ([b"1"], [A0])
    assert found.reader.assigned == {A0}


def test_two_leaders_that_answer_for_the_same_offset_give_its_records_once() -> None:
    found = brokers()
    write(found, A0, b"x")
    found.reader.assign({A0: 0})
    found.poll()
    (old,) = found.sent
    late = found.response_to(old)
    found.sent = []
    found.partitions[A0].lead(2)
    found.tell_metadata()
    found.turn()
    found.reader.on_response(old, ClientResponse(late, found.version, 1), found.now_ms)
    assert values(take(found)) == [b"x"]
    found.turn()
    assert not take(found)


def test_batches_that_end_before_the_position_are_passed_over() -> None:
    found = brokers()
    write(found, A0, b"0")
    write(found, A0, b"1")
    found.reader.assign({A0: 1})
    found.poll()
    (topic,) = found.response_to(found.sent[0]).responses
    records = b"".join(batch.data for batch in found.log("a").batches)
    found.answer(responses=(evolve(topic, partitions=(evolve(topic.partitions[0], records=records),)),))
    assert values(take(found)) == [b"1"]
    assert found.reader.waiting_bytes == 0


# ---------------------------------------------------------------------------------------------- damage


def test_a_corrupt_batch_ends_its_partition_after_the_records_before_it() -> None:
    found = brokers()
    for at in range(3):
        write(found, A0, b"%d" % at)
    write(found, B0, b"b")
    log = found.log("a")
    data = bytearray(log.batches[1].data)
    data[-2] ^= 1
    log.batches[1] = evolve(log.batches[1], data=bytes(data))
    found.reader.assign({A0: 0, B0: 0})
    found.turn()
    polled = take(found)
    assert (values(polled), values(polled, B0)) == ([b"0"], [b"b"])
    assert found.reader.has_news
    with pytest.raises(CorruptRecordError, match=r"a-0 cannot be read from offset 1 on.*before offset 2"):
        found.reader.raise_failure()
    found.reader.raise_failure()
    write(found, B0, b"c")
    found.turn()
    assert values(take(found), B0) == [b"c"]
    assert found.reader.assigned == {B0}


def test_a_batch_of_an_old_format_ends_its_partition_after_the_records_before_it() -> None:
    found = brokers()
    for at in range(2):
        write(found, A0, b"%d" % at)
    log = found.log("a")
    data = bytearray(log.batches[1].data)
    data[16] = 1
    log.batches[1] = evolve(log.batches[1], data=bytes(data))
    found.reader.assign({A0: 0})
    found.turn()
    assert values(take(found)) == [b"0"]
    with pytest.raises(CorruptRecordError, match=r"a-0 cannot be read from offset 1 on.*format 1"):
        found.reader.raise_failure()


def test_without_checks_a_wrong_checksum_is_read() -> None:
    found = brokers(options=FetchOptions(check_crcs=False))
    write(found, A0, b"0")
    log = found.log("a")
    data = bytearray(log.batches[0].data)
    data[17] ^= 1
    log.batches[0] = evolve(log.batches[0], data=bytes(data))
    found.reader.assign({A0: 0})
    found.turn()
    assert values(take(found)) == [b"0"]


# --------------------------------------------------------------------------------------------- leaders


@pytest.mark.parametrize("node_id", [1, 2])
def test_the_leader_that_a_refusal_names_is_asked_at_once(node_id: int) -> None:
    """Node 1 stays the leader in a new epoch, which fences the old one; node 2 is a new leader."""
    found = brokers()
    write(found, A0, b"x")
    found.partitions[A0].lead(node_id)
    found.reader.assign({A0: 0})
    found.turn()
    assert found.poll() > 1_000
    assert [each.node_id for each in found.sent] == [node_id]
    found.answer()
    assert values(take(found)) == [b"x"]
    assert not found.refreshes


def test_without_a_leader_in_the_refusal_metadata_is_asked_for() -> None:
    found = brokers()
    write(found, A0, b"x")
    found.reader.assign({A0: 0})
    found.partitions[A0].refusal = ErrorCode.NOT_LEADER_OR_FOLLOWER
    found.turn()
    assert found.refreshes == 1
    assert 0 < found.poll() <= 120
    assert not found.sent
    found.partitions[A0].refusal = None
    found.partitions[A0].lead(2)
    found.tell_metadata()  # there is news, so nothing waits any more
    found.poll()
    assert [each.node_id for each in found.sent] == [2]


def test_an_epoch_that_the_leader_does_not_know_yet_waits_without_metadata() -> None:
    found = brokers()
    found.partitions[A0].log.leader_epoch = 5
    found.tell_metadata()
    found.partitions[A0].log.leader_epoch = 4
    write(found, A0, b"x")
    found.reader.assign({A0: 0})
    found.turn()
    assert 0 < found.poll() <= 120
    assert not found.refreshes
    found.partitions[A0].log.leader_epoch = 5
    found.now_ms += 120
    found.turn()
    assert values(take(found)) == [b"x"]


def test_a_partition_without_a_leader_waits_for_metadata() -> None:
    found = brokers()
    found.partitions[A0].leader = -1
    found.partitions[A0].log.leader_epoch += 1
    found.tell_metadata()
    found.reader.assign({A0: 0})
    assert 0 < found.poll() <= 120
    assert (found.sent, found.refreshes) == ([], 1)
    found.partitions[A0].lead(2)
    found.tell_metadata()
    found.poll()
    assert [each.node_id for each in found.sent] == [2]


@pytest.mark.parametrize(
    ("place", "error", "text"),
    [
        (A0, LeaderNotAvailableError, "it has no leader"),
        (TopicPartition("a", 7), UnknownTopicOrPartitionError, "the topic has 2 partitions"),
        (TopicPartition("unknown", 0), LeaderNotAvailableError, "no broker has told its leader yet"),
        (TopicPartition("missing", 0), UnknownTopicOrPartitionError, "the topic does not exist"),
    ],
)
def test_a_partition_that_cannot_be_fetched_for_long_is_an_error(
    place: TopicPartition, error: type[KafkaGroupsError], text: str
) -> None:
    found = brokers()
    found.partitions[A0].leader = -1
    found.partitions[A0].log.leader_epoch += 1
    found.tell_metadata()
    missing = MetadataResponseTopic(error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name="missing")
    found.metadata.apply(MetadataResponse(topics=(missing,)))
    found.reader.assign({place: 0})
    begun_ms = found.now_ms
    while not found.reader.has_news:
        found.now_ms += found.poll()
    assert 5_000 <= found.now_ms - begun_ms <= 7_000
    with pytest.raises(error, match=f"{place} cannot be read: {text}") as raised:
        found.reader.raise_failure()
    assert raised.value.retriable
    assert found.reader.assigned == {place}


def test_an_error_that_does_not_pass_ends_the_partition() -> None:
    found = brokers(options=FetchOptions(principal="User:ann"))
    found.partitions[A0].refusal = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    write(found, B0, b"b")
    found.reader.assign({A0: 3, B0: 0})
    found.turn()
    assert values(take(found), B0) == [b"b"]
    with pytest.raises(TopicAuthorizationFailedError, match=r"User:ann may not read a-0\. Grant the operation Read"):
        found.reader.raise_failure()
    assert found.reader.assigned == {B0}


def test_a_broker_that_does_not_answer_is_asked_again_and_is_an_error_after_a_while() -> None:
    found = brokers()
    write(found, A0, b"x")
    found.reader.assign({A0: 0, A1: 0})
    begun_ms = found.now_ms
    while not found.reader.has_news:
        found.now_ms += min(found.poll(), 1_000)
        found.fail(DisconnectedError("gone"))
    assert 5_000 <= found.now_ms - begun_ms <= 8_000
    with pytest.raises(DisconnectedError, match="gone"):
        found.reader.raise_failure()
    found.now_ms += 2_000
    found.turn()
    assert values(take(found)) == [b"x"]


def test_a_failure_that_no_repetition_helps_is_told_at_once() -> None:
    found = brokers()
    found.reader.assign({A0: 0})
    found.poll()
    found.fail(UnsupportedVersionError("too old"))
    with pytest.raises(UnsupportedVersionError, match="too old"):
        found.reader.raise_failure()


def test_an_error_of_the_whole_response_is_that_of_the_broker() -> None:
    found = brokers()
    found.reader.assign({A0: 0})
    found.poll()
    found.answer(error_code=ErrorCode.UNKNOWN_SERVER_ERROR, responses=())
    assert found.refreshes == 1
    assert 0 < found.poll() <= 120


def test_a_throttled_reader_waits() -> None:
    found = brokers()
    write(found, A0, b"x")
    found.reader.assign({A0: 0})
    found.poll()
    found.answer(throttle_time_ms=700)
    assert values(take(found)) == [b"x"]
    assert found.poll() == 700
    assert not found.sent
    found.now_ms += 700
    found.poll()
    assert found.sent


def test_the_replica_that_a_leader_names_is_fetched_from_until_it_refuses() -> None:
    found = brokers(options=FetchOptions(rack="r2"))
    write(found, A0, b"x")
    found.reader.assign({A0: 0})
    found.poll()
    named = _with_replica(found.response_to(found.sent[0]), 3)
    found.answer(responses=named.responses)
    found.poll()
    assert [each.node_id for each in found.sent] == [3]
    found.answer()  # it does not follow any more
    found.now_ms += 120
    found.poll()
    assert [each.node_id for each in found.sent] == [1]
    found.answer()
    assert values(take(found)) == [b"x"]


def test_a_replica_is_left_when_it_cannot_be_reached_or_after_a_while() -> None:
    found = brokers(options=FetchOptions(rack="r2"))
    found.reader.assign({A0: 0})
    for is_gone in (True, False):
        found.poll()
        named = _with_replica(found.response_to(found.sent[0]), 3)
        found.answer(responses=named.responses)
        found.poll()
        assert [each.node_id for each in found.sent] == [3]
        if is_gone:
            found.fail(DisconnectedError("gone"))
        found.now_ms += 300_000
        found.sent = []
        found.reader.assign({A0: 0})
        found.poll()
        assert [each.node_id for each in found.sent] == [1]


def _with_replica(response: FetchResponse, node_id: int) -> FetchResponse:
    (topic,) = response.responses
    data = tuple(evolve(each, preferred_read_replica=node_id, records=b"") for each in topic.partitions)
    return evolve(response, responses=(evolve(topic, partitions=data),))


# -------------------------------------------------------------------------------------------- truncation


def filled(found: NaiveBrokers, *epochs: int) -> None:
    """Write a batch of two records in each of these epochs."""
    for epoch in epochs:
        found.partitions[A0].log.leader_epoch = epoch
        write(found, A0, b"%d" % epoch, b"x")
    found.tell_metadata()


def test_a_log_that_lost_records_that_were_taken_is_told_with_both_offsets() -> None:
    found = brokers()
    filled(found, 0, 0, 0)
    found.reader.assign({A0: 0})
    found.turn()
    take(found)
    found.log("a").truncate(2)
    found.turn()
    polled = take(found)
    assert (polled.out_of_range, polled.changes) == ((A0,), {A0: LogChange(6, diverges_at=2)})
    (note,) = found.events.take()
    assert "read up to offset 6, and its leader has lost the records from offset 2 on" in note.text
    assert not found.reader.assigned
    found.reader.assign({A0: 2})
    write(found, A0, b"new")
    found.turn()
    assert values(take(found)) == [b"new"]


def test_a_log_that_has_lost_the_record_before_a_start_is_told_if_the_epoch_of_that_is_known() -> None:
    found = brokers()
    filled(found, 0, 1)
    found.log("a").truncate(2)
    filled(found, 2, 2, 2)
    found.reader.assign({A0: 4})
    found.turn()
    assert values(take(found)) == [b"2", b"x", b"2", b"x"], "nobody knows that these are others"
    found.reader.assign({A0: 4}, {A0: 1})
    found.turn()
    assert take(found).changes == {A0: LogChange(4, diverges_at=2)}
    found.reader.assign({A0: 4}, {A0: 2})
    found.turn()
    assert values(take(found)) == [b"2", b"x", b"2", b"x"]


def test_the_epochs_of_records_that_were_taken_are_known() -> None:
    found = brokers()
    filled(found, 0, 0, 3)
    found.reader.assign({A0: 0})
    assert found.reader.leader_epochs({A0: 0}) == {}
    found.turn()
    assert found.reader.leader_epochs({A0: 2}) == {}, "nothing is taken yet"
    take(found)
    assert found.reader.leader_epochs({A0: 4, TopicPartition("other", 0): 1}) == {A0: 0}
    assert found.reader.leader_epochs({A0: 5}) == {A0: 3}
    found.reader.assign({A0: 6}, {A0: 3})
    assert found.reader.leader_epochs({A0: 6}) == {A0: 3}


def test_other_records_at_the_same_offsets_are_noticed_by_their_epoch() -> None:
    found = brokers()
    filled(found, 0, 1, 1)
    found.reader.assign({A0: 0})
    found.turn()
    take(found)
    found.log("a").truncate(2)
    filled(found, 2, 2, 2)
    found.turn()
    assert take(found).changes == {A0: LogChange(6, diverges_at=2)}


def test_records_that_were_fetched_and_not_taken_are_dropped_in_silence() -> None:
    found = brokers()
    filled(found, 0, 1, 1)
    found.reader.assign({A0: 0})
    found.turn()
    assert values(take(found, 1)) == [b"0", b"x"]
    found.log("a").truncate(4)
    filled(found, 2)
    found.turn()
    found.turn()
    polled = take(found)
    assert (values(polled), polled.ends, polled.changes) == ([b"1", b"x", b"2", b"x"], {A0: 6}, {})
    assert not found.events


def test_an_offset_that_the_log_does_not_have_is_out_of_range_after_what_was_fetched() -> None:
    found = brokers()
    filled(found, 0, 0)
    found.reader.assign({A0: 0})
    found.turn()
    filled(found, 0, 0)
    found.log("a").delete_before(6)
    found.turn()
    polled = take(found)
    assert values(polled) == [b"0", b"x", b"0", b"x"]
    assert (polled.out_of_range, polled.changes) == ((A0,), {})
    assert found.reader.assigned == frozenset()


@pytest.mark.parametrize("start", [1, 50])
def test_a_start_below_or_above_the_log_is_out_of_range(start: int) -> None:
    found = brokers()
    filled(found, 0, 0)
    found.log("a").delete_before(2)
    found.reader.assign({A0: start})
    found.turn()
    assert take(found) == PolledRecords({}, {}, (A0,))
    (note,) = found.events.take()
    assert f"does not have offset {start}" in note.text
    found.poll()
    assert not found.sent


def test_a_new_leader_that_lags_behind_is_asked_once_more() -> None:
    found = brokers()
    filled(found, 0)
    found.version = 11  # nothing tells the leader what was read
    found.reader.assign({A0: 0})
    found.turn()
    take(found)
    log = found.log("a")
    kept = log.batches[:]
    log.truncate(0)
    found.partitions[A0].lead(2)
    found.tell_metadata()
    found.turn()
    assert not take(found)
    assert found.refreshes == 1
    found.now_ms += 120
    log.batches, log.end_offset = kept, 2
    write(found, A0, b"y")
    found.turn()
    assert values(take(found)) == [b"y"]


def test_a_new_leader_without_the_offset_is_believed_the_second_time() -> None:
    found = brokers()
    filled(found, 0)
    found.version = 11
    found.reader.assign({A0: 0})
    found.turn()
    take(found)
    found.log("a").truncate(0)
    found.partitions[A0].lead(2)
    found.tell_metadata()
    found.turn()
    found.now_ms += 120
    found.turn()
    assert take(found).out_of_range == (A0,)


# ---------------------------------------------------------------------------------------- topics made again


@pytest.mark.parametrize("waits", [True, False])
def test_a_topic_that_was_made_again_is_told_and_nothing_of_it_is_read_at_the_old_position(waits: bool) -> None:
    found = brokers()
    write(found, A0, b"0")
    write(found, A0, b"1")
    found.reader.assign({A0: 0})
    found.turn()
    assert values(take(found, 1)) == [b"0"]
    if not waits:
        take(found)
    old = found.ids["a"]
    found.create("a", 2)
    for at in range(3):
        write(found, A0, b"new%d" % at)
    found.turn()  # the id is unknown
    assert found.refreshes == 1
    found.tell_metadata()
    assert not found.reader.changed([A0])
    found.poll()
    assert not found.sent
    assert found.reader.changed([A0]) == {A0}
    assert found.reader.topic_ids([A0]) == {A0: old}, "offsets that nobody has told otherwise are from that one"
    assert take(found) == PolledRecords({}, {}, (A0,), {A0: LogChange(1 if waits else 2)})
    assert not found.reader.changed([A0])
    (note,) = found.events.take()
    assert "a-0 was deleted and made again" in note.text
    found.reader.assign({A0: 0})
    found.turn()
    assert values(take(found)) == [b"new0", b"new1", b"new2"]


def test_by_name_it_is_noticed_in_the_metadata_alone() -> None:
    found = brokers()
    found.version = 12
    write(found, A0, b"0")
    found.reader.assign({A0: 0})
    found.turn()
    take(found)
    found.create("a", 2)
    found.tell_metadata()
    found.poll()
    assert take(found).changes == {A0: LogChange(1)}


def test_a_paused_partition_is_told_too() -> None:
    found = brokers()
    write(found, A0, b"0")
    found.reader.assign({A0: 0})
    found.turn()
    found.reader.pause([A0])
    found.create("a", 2)
    found.tell_metadata()
    found.poll()
    assert take(found) == PolledRecords({}, {}, (A0,), {A0: LogChange(0)})


def test_a_broker_that_lags_behind_does_not_bring_the_old_topic_back() -> None:
    found = brokers()
    old = found.ids["a"]
    found.reader.assign({A0: 0})
    found.turn()
    found.create("a", 2)
    new = found.ids["a"]
    found.tell_metadata()
    found.poll()
    take(found)
    write(found, A0, b"new")
    found.reader.assign({A0: 0})
    found.ids["a"] = old
    found.tell_metadata()
    found.poll()
    assert not take(found)
    assert [topic.topic_id for each in found.built() for topic in each.topics] == [new]
    found.ids["a"] = new
    found.answer()
    found.reader.assign({A0: 0})
    found.poll()
    assert not found.sent  # its id is that of the old topic for now
    found.tell_metadata()
    found.turn()
    assert values(take(found)) == [b"new"]


def test_the_topic_that_a_partition_is_read_from_stays_the_same_until_it_is_assigned_again() -> None:
    found = NaiveBrokers({"a": 1})
    found.reader.assign({A0: 0})
    assert (found.reader.topic_ids([A0]), found.reader.topic_id("a")) == ({}, None)  # nothing is known
    found.tell_metadata()
    found.turn()
    old = found.ids["a"]
    assert (found.reader.topic_ids([A0, B0]), found.reader.topic_id("a")) == ({A0: old}, old)
    found.create("a", 2)
    new = found.ids["a"]
    found.tell_metadata()
    found.poll()
    assert (found.reader.topic_ids([A0]), found.reader.topic_id("a")) == ({A0: old}, new)
    take(found)
    assert found.reader.topic_ids([A0]) == {}
    found.reader.assign({A0: 0})
    assert found.reader.topic_ids([A0]) == {A0: new}
    found.ids["a"] = old  # as a broker says that lags behind
    found.tell_metadata()
    found.poll()
    assert (found.reader.topic_ids([A0]), found.reader.topic_id("a")) == ({A0: new}, None)


def test_a_topic_that_is_not_made_again_is_an_error_after_a_while() -> None:
    found = brokers()
    found.reader.assign({A0: 0})
    found.turn()
    take(found)
    del found.ids["a"]
    begun_ms = found.now_ms
    while not found.reader.has_news:
        found.turn()
        found.now_ms += found.poll()
    assert found.now_ms - begun_ms >= 5_000
    with pytest.raises(KafkaGroupsError, match="a-0 cannot be read from offset 0 on: UNKNOWN_TOPIC_ID") as raised:
        found.reader.raise_failure()
    assert raised.value.retriable


def test_assigned_before_anything_is_known_it_is_fetched_when_the_metadata_comes() -> None:
    found = NaiveBrokers({"a": 1})
    write(found, A0, b"x")
    found.reader.assign({A0: 0})
    assert 0 < found.poll() <= 120
    assert found.refreshes == 1
    found.tell_metadata()
    found.turn()
    assert values(take(found)) == [b"x"]
