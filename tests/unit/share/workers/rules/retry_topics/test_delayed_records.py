"""Records in hand before their time, and the sizes of fetches."""

import pytest

from kafka_groups.share.workers.rules.retry_topics.delayed_records import LARGEST_STEP, DelayedRecords, FetchSteps
from kafka_groups.share.workers.rules.steps import OpenRecord
from tests.unit.share.workers.rules.jobs import PARTITIONS, Job


def opened(offset: int) -> OpenRecord[Job]:
    job = Job((PARTITIONS[0], offset), 1)
    return OpenRecord(job, job.place, 1)


def test_records_are_taken_when_their_time_comes_the_earliest_first() -> None:
    records: DelayedRecords[OpenRecord[Job]] = DelayedRecords()
    first, second, third = opened(1), opened(2), opened(3)
    records.add(second, 200, is_ready=False)
    records.add(first, 100, is_ready=True)
    records.add(third, 200, is_ready=False)
    assert (len(records), records.unready, records.next_ms) == (3, 2, 100)
    assert records.take_due(99) is None
    assert [records.take_due(200) for _ in range(4)] == [first, second, third, None]
    assert (len(records), records.unready, records.next_ms) == (0, 0, None)


def test_the_time_of_day_decides_even_if_it_is_set_meanwhile() -> None:
    records: DelayedRecords[OpenRecord[Job]] = DelayedRecords()
    records.wall_ahead_ms = 1_000
    records.add(opened(1), 1_500, is_ready=False)
    assert records.next_ms == 500
    records.wall_ahead_ms = 900  # somebody has put the clock back
    assert records.next_ms == 600
    assert records.take_due(599) is None
    assert records.take_due(600) is not None


def test_removed_records_make_room_for_others() -> None:
    records: DelayedRecords[OpenRecord[Job]] = DelayedRecords()
    several = [opened(offset) for offset in range(4)]
    for each in several:
        records.add(each, 100, is_ready=each.place[1] == 3)
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
        records.add(opened(offset), 100, is_ready=False)
        records.add(opened(100 + offset), 100, is_ready=True)
    assert records.wanted == 0


def fetch(steps: FetchSteps, *, ready: int = 0, early: int = 0) -> int:
    for is_ready in [True] * ready + [False] * early:
        steps.arrived(is_ready=is_ready)
    steps.ended()
    return steps.next_size


def test_fetches_double_while_all_records_are_ready() -> None:
    steps = FetchSteps()
    sizes = [steps.next_size]
    for _ in range(11):
        sizes.append(fetch(steps, ready=sizes[-1]))
    assert sizes == [1, 2, 4, 8, 16, 32, 64, 128, 256, LARGEST_STEP, LARGEST_STEP, LARGEST_STEP]
    assert fetch(steps, ready=499, early=1) == 1
    assert fetch(steps, ready=1) == 2
    assert fetch(steps) == 1
    assert fetch(steps, early=1) == 1
