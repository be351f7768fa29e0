"""The state of a task is that of one moment, wherever its changelog ends."""

import random
from collections import Counter

import pytest

from kafka_groups.cli.demo.streams.counts import CLAIM, BadChangelogError, OwnedTask, OwnershipLostError, TaskCounts

CARRIERS = ("UA", "B6", "EV")


def written(flights: int, seed: int) -> tuple[list[tuple[str, str]], list[TaskCounts]]:
    """The changelog of so many flights, and the state after each of its records."""
    rng, task = random.Random(seed), TaskCounts()
    changelog, states = [], []
    for offset in range(flights):
        carrier = rng.choice(CARRIERS)
        changelog.append((carrier, task.count(carrier, offset)))
        states.append(TaskCounts(task.flights.copy(), task.next_offset, offset + 1))
    return changelog, states


@pytest.mark.parametrize("seed", range(3))
def test_a_task_goes_on_after_any_record(seed: int) -> None:
    changelog, states = written(30, seed)
    for length in range(1, len(changelog) + 1):
        task = TaskCounts()
        for offset, (carrier, value) in enumerate(changelog[:length]):
            task.restore(carrier, value, offset)
        assert task == states[length - 1]


@pytest.mark.parametrize("seed", range(3))
def test_compaction_does_not_change_the_state(seed: int) -> None:
    changelog, states = written(30, seed)
    last = {carrier: offset for offset, (carrier, _) in enumerate(changelog)}
    task = TaskCounts()
    for carrier, offset in sorted(last.items(), key=lambda item: item[1]):
        task.restore(carrier, changelog[offset][1], offset)
    assert task == states[-1]


@pytest.mark.parametrize("value", ["", "7", "[]", "[1]", "[1, 2]", '[1, "a", "b"]', "null", '["a", 1, 1]'])
def test_a_record_of_somebody_else_is_an_error(value: str) -> None:
    with pytest.raises(BadChangelogError, match="at offset 4"):
        TaskCounts().restore("UA", value, 4)


def test_records_of_an_owner_that_has_lost_the_task_are_ignored() -> None:
    task = TaskCounts()
    changelog = [
        (CLAIM, OwnedTask(3).claim),
        ("UA", "[3, 1, 1]"),
        (CLAIM, OwnedTask(5).claim),
        ("UA", "[3, 2, 2]"),
        ("UA", "[5, 2, 2]"),
        ("B6", "[3, 9, 9]"),
    ]
    for offset, (key, value) in enumerate(changelog):
        task.restore(key, value, offset)
    assert task == TaskCounts(Counter(UA=2), 2, 6, 5)


def test_a_task_is_restored_up_to_its_own_claim() -> None:
    task = OwnedTask(3)
    assert not task.restore(CLAIM, OwnedTask(3).claim, 0)
    assert not task.restore("UA", "[3, 1, 1]", 1)
    assert task.restore(CLAIM, task.claim, 2)
    assert task.counts.count("UA", 1) == "[3, 2, 2]"


def test_a_claim_after_that_of_a_later_owner_is_an_error() -> None:
    task = OwnedTask(3)
    task.restore(CLAIM, OwnedTask(5).claim, 0)
    with pytest.raises(OwnershipLostError, match=r"epoch 5.*epoch 3"):
        task.restore(CLAIM, task.claim, 1)
