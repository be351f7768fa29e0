"""The state of a task is that of one moment, wherever its changelog ends."""

import random

import pytest

from kafka_groups.cli.demo.streams.counts import BadChangelogError, TaskCounts

CARRIERS = ("UA", "B6", "EV")


def written(flights: int, seed: int) -> tuple[list[tuple[str, str]], list[TaskCounts]]:
    """The changelog of so many flights, and the state after each of its records."""
    rng, task = random.Random(seed), TaskCounts()
    changelog, states = [], []
    for offset in range(flights):
        carrier = rng.choice(CARRIERS)
        changelog.append((carrier, task.count(carrier, offset)))
        states.append(TaskCounts(task.flights.copy(), task.next_offset, task.changelog_offset))
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


@pytest.mark.parametrize("value", ["", "7", "[1]", '["a", "b"]', "null"])
def test_a_record_of_somebody_else_is_an_error(value: str) -> None:
    with pytest.raises(BadChangelogError, match="at offset 4"):
        TaskCounts().restore("UA", value, 4)
