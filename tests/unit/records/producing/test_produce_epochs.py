"""Gaps in the numbers of batches, and the epochs that follow."""

import pytest

from kafka_groups.errors import OutOfOrderSequenceNumberError
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.records.producing.producer_ids import ProducerIdAndEpoch
from tests.support.producing.partition_of_producers import POISON
from tests.support.producing.producer_world import ProducerWorld
from tests.unit.records.producing.worlds import SMALL, check, lingered, ready, refused, tracked, values


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
