"""The offsets of records that were written."""

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.records.producing.accumulator import AccumulatorSettings
from kafka_groups.types import TopicPartition
from tests.support.producing.producer_world import TOPIC
from tests.unit.records.producing.worlds import lingered, ready, tracked, values


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
