"""The store of a task, whatever an owner writes that has lost the task."""

import json

import pytest
from confluent_kafka import Message
from streams_member_flights import CLAIM, OutdatedClaimError, Store, Task


def record(key: str, value: str) -> Message:
    return Message(topic="changelog", partition=0, offset=0, key=key.encode(), value=value.encode())


def claimed(epoch: int) -> Message:
    return record(CLAIM, Task(epoch).claim)


def counted(epoch: int, next_offset: int, carrier: str, count: int) -> Message:
    return record(carrier, json.dumps([epoch, next_offset, count]))


def test_records_of_an_owner_that_has_lost_the_task_are_ignored() -> None:
    store = Store()
    for each in (
        claimed(3),
        counted(3, 1, "UA", 1),
        claimed(5),  # this owner begins with one flight of UA
        counted(3, 2, "UA", 2),  # late
        counted(3, 3, "B6", 1),  # late
        counted(5, 2, "UA", 2),
        claimed(4),  # a member that was paused before its claim
        counted(4, 9, "UA", 9),
    ):
        store.restore(each)
    assert (store.flights, store.next_offset, store.epoch) == ({"UA": 2}, 2, 5)


def test_an_owner_may_write_before_its_successor_has_claimed_the_task() -> None:
    store = Store()
    for each in (claimed(3), counted(3, 1, "UA", 1), counted(3, 2, "UA", 2), claimed(5)):
        store.restore(each)
    assert (store.flights, store.next_offset) == ({"UA": 2}, 2)


def test_a_task_is_restored_up_to_its_own_claim() -> None:
    task = Task(3)
    assert not task.restore(claimed(3))  # the same member, before it lost a transaction
    assert not task.restore(counted(3, 1, "UA", 1))
    assert task.restore(record(CLAIM, task.claim))
    assert task.is_restored
    assert task.store.count("UA", 1) == json.dumps([3, 2, 2])


def test_a_claim_that_comes_after_a_later_owners_is_an_error() -> None:
    task = Task(3)
    task.restore(claimed(5))
    with pytest.raises(OutdatedClaimError, match=r"epoch 5.*epoch 3"):
        task.restore(record(CLAIM, task.claim))
