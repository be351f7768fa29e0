"""Records in hand before their time, and the sizes of fetches."""

import pytest

from kafka_groups.share.workers.rules.retry_topics.delayed_records import LARGEST_STEP, DelayedRecords, FetchSteps
from kafka_groups.share.workers.rules.steps import OpenRecord
from tests.unit.share.workers.rules.jobs import PARTITIONS, Job


def opened(offset: int, partition: int = 0) -> OpenRecord[Job]:
    job = Job((PARTITIONS[partition], offset), 1)
    return OpenRecord(job, job.place, 1)


def held(
    records: DelayedRecords[OpenRecord[Job]], record: OpenRecord[Job], at_ms: int, *, is_ready: bool = False
) -> None:
    """Add a record."""
    records.add(record, at_ms, waits_in=None if is_ready else record.place[0])


def test_records_are_taken_when_their_time_comes_the_earliest_first() -> None:
    records: DelayedRecords[OpenRecord[Job]] = DelayedRecords()
    first, second, third = opened(1), opened(2), opened(3)
    held(records, second, 200)
    held(records, first, 100, is_ready=True)
    held(records, third, 200)
    assert (len(records), records.unready, records.next_ms) == (3, 2, 100)
    assert records.take_due(99) is None
    assert [records.take_due(200) for _ in range(4)] == [first, second, third, None]
    assert (len(records), records.unready, records.next_ms) == (0, 0, None)


def test_the_time_of_day_decides_even_if_it_is_set_meanwhile() -> None:
    records: DelayedRecords[OpenRecord[Job]] = DelayedRecords()
    records.wall_ahead_ms = 1_000
    held(records, opened(1), 1_500)
    assert records.next_ms == 500
    records.wall_ahead_ms = 900  # somebody has put the clock back
    assert records.next_ms == 600
    assert records.take_due(599) is None
    assert records.take_due(600) is not None


def test_removed_records_make_room_for_others() -> None:
    records: DelayedRecords[OpenRecord[Job]] = DelayedRecords()
    several = [opened(offset) for offset in range(4)]
    for each in several:
        held(records, each, 100, is_ready=each.place[1] == 3)
    assert records.wanted == 0
    assert records.remove(lambda each: each.place[1] in (0, 3)) == [several[0], several[3]]
    assert (list(records), records.unready, records.wanted) == ([several[1], several[2]], 2, 0)
    records.remove(lambda each: each is several[1])
    assert records.wanted == 1


@pytest.mark.parametrize("partitions", [1, 3])
def test_nothing_is_fetched_while_two_records_of_each_partition_are_not_ready(partitions: int) -> None:
    records: DelayedRecords[OpenRecord[Job]] = DelayedRecords()
    records.partitions = partitions
    for offset in range(2 * partitions):
        assert records.wanted == 1
        held(records, opened(offset), 100)
        held(records, opened(100 + offset), 100, is_ready=True)
    assert records.wanted == 0


def test_a_partition_that_may_have_due_records_is_fetched_whatever_waits_in_others() -> None:
    records: DelayedRecords[OpenRecord[Job]] = DelayedRecords()
    records.partitions = 2
    held(records, opened(0, partition=1), 100)
    for offset in range(2 + LARGEST_STEP):
        held(records, opened(offset), 200)
    assert records.wanted == 0
    records.take_due(100)
    assert records.wanted == 1
    held(records, opened(1_000), 200)
    assert records.wanted == 1
    held(records, opened(1_001), 200)
    assert records.wanted == 0  # enough is enough


def fetch(steps: FetchSteps, *, ready: int = 0, early: int = 0, partition: int = 0, partitions: int = 1) -> int:
    for is_ready in [True] * ready + [False] * early:
        steps.arrived(PARTITIONS[partition], is_ready=is_ready)
    steps.ended(partitions)
    return steps.next_size


def test_fetches_double_while_all_records_are_ready() -> None:
    steps = FetchSteps()
    sizes = [steps.next_size]
    for _ in range(11):
        sizes.append(fetch(steps, ready=sizes[-1]))
    assert sizes == [1, 2, 4, 8, 16, 32, 64, 128, 256, LARGEST_STEP, LARGEST_STEP, LARGEST_STEP]
    assert fetch(steps, ready=499, early=1) == 1
    assert fetch(steps, ready=1) == 2
    steps.found_nothing()
    assert steps.next_size == 1
    assert fetch(steps, early=1) == 1


def test_records_that_wait_in_one_partition_do_not_slow_down_another() -> None:
    steps = FetchSteps()
    sizes = [
        fetch(steps, ready=1, partitions=2),
        fetch(steps, early=2, partition=1, partitions=2),
        fetch(steps, ready=2, partitions=2),
        fetch(steps, early=4, partition=1, partitions=2),
    ]
    assert sizes == [2, 2, 4, 4]
    assert fetch(steps, ready=3, early=1, partitions=2) == 1
    assert not steps.is_behind


def test_a_partition_without_more_records_is_not_behind_when_all_have_had_their_turn() -> None:
    steps = FetchSteps()
    fetch(steps, ready=1, partitions=2)
    fetch(steps, early=1, partition=1, partitions=2)
    assert steps.is_behind
    fetch(steps, early=1, partition=1, partitions=2)
    assert not steps.is_behind
