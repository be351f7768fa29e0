"""Orders of hash tables, as Java 17 and Kafka 4.4 print them."""

from uuid import UUID

import pytest

from kafka_groups.assignment.java_order import (
    copied,
    grown,
    in_hash_order,
    in_timeline_order,
    int_hash,
    set_hash,
    string_hash,
    timeline_slots,
    uuid_hash,
)


@pytest.mark.parametrize(("text", "code"), [("", 0), ("a", 97), ("topic", 110546223), ("\U0001f600", 1772899)])
def test_hash_codes_of_strings(text: str, code: int) -> None:
    assert string_hash(text) == code


def test_the_hash_code_of_a_set_is_the_sum() -> None:
    assert set_hash(["orders", "payments"]) == (-1008770331 + 1382682413) % 2**32
    assert set_hash([]) == 0


def test_hash_codes_of_ids() -> None:
    assert uuid_hash(UUID("00000001-0000-0002-0000-000400000008")) == 1 ^ 2 ^ 4 ^ 8


def test_buckets_are_in_ascending_order_and_values_of_one_bucket_as_added() -> None:
    assert in_hash_order([33, 16, 1, 0, 17], int_hash, 16) == [16, 0, 33, 1, 17]
    assert in_hash_order([33, 16, 1, 0, 17], int_hash, 64) == [0, 1, 16, 17, 33]


def test_the_upper_half_of_a_hash_code_counts() -> None:
    assert in_hash_order([0x10000, 0], int_hash, 16) == [0, 0x10000]


@pytest.mark.parametrize(("count", "buckets"), [(0, 16), (12, 16), (13, 32), (24, 32), (25, 64)])
def test_tables_grow_when_they_are_three_quarters_full(count: int, buckets: int) -> None:
    assert grown(count) == buckets


@pytest.mark.parametrize(("count", "buckets"), [(0, 16), (11, 16), (12, 32), (23, 32), (24, 64)])
def test_copies_have_room_for_one_more(count: int, buckets: int) -> None:
    assert copied(count) == buckets


def test_tables_with_snapshots() -> None:
    assert in_timeline_order(range(8), int_hash) == [5, 0, 2, 7, 4, 1, 6, 3]
    assert in_timeline_order(range(20), int_hash) == [
        13, 0, 18, 5, 10, 2, 15, 7, 12, 4, 17, 9, 1, 14, 19, 6, 11, 3, 16, 8,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("count", "added", "replaced"),
    [
        (2, [0, 1], [0, 1]),
        (5, [2, 0, 4, 1, 3], [0, 2, 4, 1, 3]),
        (10, [5, 0, 2, 7, 4, 9, 1, 6, 3, 8], [0, 5, 2, 7, 4, 9, 1, 6, 3, 8]),
    ],
)
def test_a_table_with_snapshots_may_grow_when_a_value_is_replaced(
    count: int, added: list[int], replaced: list[int]
) -> None:
    assert in_timeline_order(range(count), int_hash) == added
    assert in_timeline_order(range(count), int_hash, timeline_slots(count + 1)) == replaced


def test_a_table_with_snapshots_never_shrinks() -> None:
    assert in_timeline_order(range(3), int_hash, timeline_slots(6)) == [0, 2, 1]
