"""The order of Java's hash sets. The numbers are Java's."""

import pytest

from kafka_groups.streams.hash_order import hash_of_set, hash_of_string, in_hash_order, slots_for, slots_for_copy


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", 0), ("a", 97), ("orders", -1008770331), ("payments", 1382682413), ("é€", 15587), ("\U0001f600", 1772899)],
)
def test_the_hash_of_a_string(text: str, expected: int) -> None:
    assert hash_of_string(text) == expected % 2**32


def test_the_hash_of_a_set_is_the_sum() -> None:
    assert hash_of_set(["orders", "payments"]) == (-1008770331 + 1382682413) % 2**32
    assert hash_of_set([]) == 0


def test_slots_double_when_a_set_is_three_quarters_full() -> None:
    assert [slots_for(size) for size in (0, 12, 13, 24, 25)] == [16, 16, 32, 32, 64]
    assert [slots_for_copy(size) for size in (0, 11, 12, 23, 24)] == [16, 16, 32, 32, 64]


def test_items_of_one_slot_stay_in_their_order() -> None:
    assert in_hash_order([17, 1, 0x10000, 33, 0], lambda number: number, 16) == [0, 17, 1, 0x10000, 33]
    assert in_hash_order(["payments", "orders"], hash_of_string, 16) == ["payments", "orders"]
