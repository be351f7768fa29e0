"""Process ids compare as in Java."""

import random
from uuid import UUID

import pytest

from kafka_groups.assignment.application.process_ids import ProcessId, in_hash_table_order

LOW, HIGH = "10000000-0000-0000-0000-000000000000", "f0000000-0000-0000-0000-000000000000"


def test_uuids_compare_as_signed_numbers() -> None:
    assert ProcessId(HIGH) < ProcessId(LOW)
    second = "10000000-0000-0000-8000-000000000000"
    assert ProcessId(second) < ProcessId(LOW)


def test_text_that_is_no_uuid_comes_last() -> None:
    ids = [ProcessId(text) for text in ("b", LOW, "a", HIGH)]
    assert [str(each) for each in sorted(ids)] == [HIGH, LOW, "a", "b"]


@pytest.mark.parametrize("text", [LOW, LOW.upper().replace("-", ""), "{" + LOW + "}", "host-1"])
def test_text_is_kept(text: str) -> None:
    assert str(ProcessId(text)) == text
    assert isinstance(ProcessId(text).id, UUID) is (text == LOW)


def test_equal_ids_are_one_key() -> None:
    assert {ProcessId(LOW): 1}[ProcessId(UUID(LOW))] == 1
    assert ProcessId(LOW) != LOW
    assert ProcessId.random(random.Random(1)) == ProcessId.random(random.Random(1))


def test_a_hash_table_has_an_order_of_its_own() -> None:
    ids = [ProcessId(UUID(int=number)) for number in (0x35, 0xF2, 0x1C3)]
    assert in_hash_table_order(ids) == [ids[1], ids[2], ids[0]]
    assert in_hash_table_order(ids, 64) == [ids[2], ids[1], ids[0]]


def test_text_has_the_hash_of_a_string() -> None:
    ids = [ProcessId(text) for text in ("a", "p", "b")]
    assert in_hash_table_order(ids) == [ids[1], ids[0], ids[2]]
