"""Acquired records: holes, acknowledging, what was sent, splitting, coming back."""

import pytest

from kafka_groups.errors import IllegalStateError, ProtocolError
from kafka_groups.share.delivery import marks as m
from kafka_groups.share.delivery.decoding import Decoder
from kafka_groups.share.delivery.records import delivery_of
from kafka_groups.types import AcknowledgeType
from tests.unit.share.deliveries import acquired, batch, decoded, types_of

ACCEPT, RELEASE, REJECT, RENEW = (
    AcknowledgeType.ACCEPT,
    AcknowledgeType.RELEASE,
    AcknowledgeType.REJECT,
    AcknowledgeType.RENEW,
)


def offsets(delivery: object) -> list[int]:
    return [record.offset for record in delivery]  # type: ignore[attr-defined]


def test_ranges_with_holes_deliver_only_what_was_acquired() -> None:
    delivery = acquired((14, 15, 3), (10, 11, 1))
    decoded(Decoder(), delivery, batch(8, 20))
    assert (delivery.first_offset, delivery.last_offset, len(delivery)) == (10, 15, 4)
    assert offsets(delivery) == [10, 11, 14, 15]
    assert [record.delivery_count for record in delivery] == [1, 1, 3, 3]
    assert offsets(delivery) == [10, 11, 14, 15]  # again, as often as one likes

    delivery.accept_open()
    assert types_of(m.encode_batches(delivery.take_acknowledged(), 10)) == dict.fromkeys((10, 11, 14, 15), 1)
    assert delivery.is_done


def test_a_hole_cannot_be_acknowledged_and_nothing_outside_can() -> None:
    delivery = acquired((10, 11), (14, 15))
    for offset in (9, 12, 13, 16):
        with pytest.raises(IllegalStateError, match=f"orders-0@{offset}"):
            delivery.acknowledge(offset, ACCEPT)


def test_the_last_type_before_the_commit_counts_and_none_after_it() -> None:
    delivery = acquired((0, 1))
    delivery.acknowledge(0, RELEASE)
    delivery.acknowledge(0, REJECT)
    assert types_of(m.encode_batches(delivery.take_acknowledged(), 0)) == {0: REJECT}
    with pytest.raises(IllegalStateError, match="committed before"):
        delivery.acknowledge(0, ACCEPT)
    assert delivery.has_open
    assert not delivery.is_done
    assert m.encode_batches(delivery.take_acknowledged(), 0) == ()


def test_a_range_counts_what_is_in_hand_and_is_clipped() -> None:
    delivery = acquired((10, 19))
    decoded(Decoder(), delivery, batch(10, 19, missing=[12]))
    delivery.acknowledge(11, REJECT)
    assert delivery.acknowledge_range(0, 14, ACCEPT) == 4
    delivery.take_acknowledged()
    assert delivery.acknowledge_range(0, 100, RELEASE) == 5
    assert delivery.acknowledge_range(20, 30, RELEASE) == 0
    assert delivery.acknowledge_range(0, 9, RELEASE) == 0


def test_a_range_leaves_alone_what_was_never_delivered() -> None:
    delivery = acquired((0, 5))
    corrupt = bytearray(batch(2, 3))
    corrupt[-1] ^= 1
    decoded(Decoder(), delivery, batch(0, 1) + bytes(corrupt) + batch(4, 5)[:-10])
    assert delivery.acknowledge_range(0, 5, ACCEPT) == 2
    assert types_of(m.encode_batches(delivery.take_acknowledged(), 0)) == {
        0: ACCEPT, 1: ACCEPT, 2: REJECT, 3: REJECT, 4: RELEASE, 5: RELEASE,
    }  # fmt: skip


def test_renewing_in_place_speaks_of_open_records_only() -> None:
    delivery = acquired((0, 3), (6, 7))
    delivery.acknowledge(1, ACCEPT)
    assert types_of(delivery.renewal_batches()) == dict.fromkeys((0, 2, 3, 6, 7), RENEW)
    delivery.accept_open()
    assert delivery.renewal_batches() == ()


def test_splitting_keeps_marks_delivery_counts_and_holes() -> None:
    delivery = acquired((0, 3, 1), (6, 9, 4))
    delivery.mark_open(7, 7, AcknowledgeType.GAP)
    rest = delivery.split_after(2)
    assert rest is not None
    assert (delivery.first_offset, delivery.last_offset) == (0, 2)
    assert (rest.first_offset, rest.last_offset) == (3, 9)
    assert bytes(rest.marks) == bytes([m.OPEN, m.NOT_ACQUIRED, m.NOT_ACQUIRED, m.OPEN, m.GAP, m.OPEN, m.OPEN])
    assert [rest.delivery_count(offset) for offset in (3, 6, 9)] == [1, 4, 4]
    assert [(r.first_offset, r.last_offset) for r in (*delivery.ranges, *rest.ranges)] == [(0, 2), (3, 3), (6, 9)]
    tail = rest.split_after(4)
    assert tail is not None
    assert (tail.first_offset, tail.last_offset) == (6, 9)
    assert tail.split_after(9) is None


def test_records_renewed_come_back_as_a_delivery_of_their_own() -> None:
    delivery = acquired((0, 4))
    decoded(Decoder(), delivery, batch(0, 4))
    for offset in (1, 2, 4):
        delivery.acknowledge(offset, RENEW)
    taken = delivery.take_acknowledged()
    again = delivery.redelivery(m.runs_of(taken, m.RENEW))
    assert (offsets(again), len(again)) == ([1, 2, 4], 3)
    assert [delivery_of(record) for record in again] == [again] * 3
    again.accept_open()
    assert types_of(m.encode_batches(again.take_acknowledged(), 0)) == dict.fromkeys((1, 2, 4), ACCEPT)
    assert again.is_done
    assert delivery.has_open  # 0 and 3 are still in the first delivery's hands


def test_deserialised_records_renewed_come_back_deserialised() -> None:
    delivery = acquired((0, 2))
    decoded(Decoder(value_deserializer=bytes.decode), delivery, batch(0, 2))
    delivery.acknowledge(1, RENEW)
    again = delivery.redelivery(m.runs_of(delivery.take_acknowledged(), m.RENEW))
    assert [(record.offset, record.value, delivery_of(record)) for record in again] == [(1, "v1", again)]


@pytest.mark.parametrize("ranges", [((5, 4),), ((0, 1 << 40),), ((0, 1), (1 << 50, 1 << 50))])
def test_impossible_ranges_are_refused_before_they_cost_memory(ranges: tuple[tuple[int, int], ...]) -> None:
    with pytest.raises(ProtocolError, match="impossible"):
        acquired(*ranges)
