"""The offsets in most of these tests are those that a real Kafka 4.4.0 gave for the same log and the same requests."""

import attrs
import pytest

from kafka_groups.config.cluster.broker import ShareGroupConfig
from tests.unit.broker.share_partitions.scenes import Batch, Scene, acked, batches_of

RELEASE = 2


def limited(limit: int) -> ShareGroupConfig:
    return ShareGroupConfig(delivery_count_limit=limit)


def test_a_batch_comes_whole_however_few_records_are_wanted() -> None:
    scene = Scene(batches_of(10))
    assert scene.fetch(max_records=5) == [(0, 9, 1)]


def test_small_batches_stop_at_max_records() -> None:
    scene = Scene(batches_of(*[1] * 10))
    assert scene.fetch(max_records=5) == [(0, 4, 1)]
    assert scene.fetch(max_records=5) == [(5, 9, 1)]
    assert scene.fetch(max_records=5) == []


def test_batch_size_groups_whole_batches() -> None:
    assert Scene(batches_of(*[1] * 10)).fetch(batch_size=4) == [(0, 3, 1), (4, 7, 1), (8, 9, 1)]
    assert Scene(batches_of(3, 3, 3, 10)).fetch(batch_size=4) == [(0, 5, 1), (6, 18, 1)]


def test_a_released_batch_comes_back_whole() -> None:
    scene = Scene(batches_of(10))
    assert [scene.fetch_and_release(max_records=3) for _ in range(3)] == [[(0, 9, 1)], [(0, 9, 2)], [(0, 9, 3)]]


def test_max_records_is_looked_at_between_batches_only() -> None:
    scene = Scene(batches_of(10, 10))
    scene.fetch(max_records=10)
    scene.ack(acked(0, 9, 1, 2, 2, 2, 1, 1, 2, 2, 1, 1))
    assert scene.fetch(max_records=3) == [(1, 3, 2), (6, 7, 2)]
    assert scene.fetch() == [(10, 19, 1)]


@pytest.mark.parametrize(
    ("sizes", "limit", "deliveries"),
    [
        ((10,), 5, [(0, 9, 1), (0, 9, 2), (0, 9, 3), (0, 4, 4), (0, 0, 5), (1, 1, 5), (2, 2, 5)]),
        (
            (16,),
            10,
            [(0, 15, n) for n in range(1, 6)]
            + [(0, 7, 6), (0, 3, 7), (0, 1, 8), (0, 0, 9), (0, 0, 10), (1, 1, 9), (1, 1, 10), (2, 3, 8), (2, 2, 9)],
        ),
        ((7,), 10, [(0, 6, n) for n in range(1, 6)] + [(0, 2, 6), (0, 0, 7), (0, 0, 8), (0, 0, 9), (0, 0, 10)]),
        ((10, 10), 6, [(0, 19, 1), (0, 19, 2), (0, 19, 3), (0, 9, 4), (0, 4, 5), (0, 0, 6), (1, 1, 6)]),
        ((4, 4), 3, [(0, 7, 1), (0, 7, 2)] + [(n, n, 3) for n in range(8)]),
        ((10,), 2, [(0, 9, 1), (0, 9, 2)]),
    ],
)
def test_suspect_batches_are_halved_and_last_attempts_are_alone(
    sizes: tuple[int, ...], limit: int, deliveries: list[tuple[int, int, int]]
) -> None:
    scene = Scene(batches_of(*sizes), limited(limit))
    assert [scene.fetch_and_release() for _ in deliveries] == [[each] for each in deliveries]


def test_after_the_last_attempt_there_is_nothing_more() -> None:
    scene = Scene(batches_of(10), limited(2))
    for _ in range(2):
        scene.fetch_and_release()
    assert scene.fetch() == []
    assert scene.partition.start_offset == 10


def test_suspect_records_do_not_come_with_others() -> None:
    scene = Scene(batches_of(6, 6), limited(5))
    scene.fetch(max_records=6)
    for _ in range(3):
        scene.fetch(max_records=6)
        scene.ack(acked(6, 11, RELEASE))
    scene.ack(acked(0, 5, RELEASE))
    assert scene.fetch(max_records=50) == [(0, 5, 2)]
    assert scene.fetch(max_records=50) == [(6, 8, 4)]


def test_the_first_record_decides_whether_a_batch_is_suspect() -> None:
    scene = Scene(batches_of(10), limited(6))
    scene.fetch()
    for _ in range(2):
        scene.ack(acked(5, 9, RELEASE))
        scene.fetch()
    scene.ack(acked(0, 9, RELEASE))
    assert scene.fetch() == [(0, 4, 2), (5, 9, 4)]


def test_counts_may_differ_within_one_part_of_a_suspect_batch() -> None:
    scene = Scene(batches_of(16), limited(10))
    for _ in range(6):
        scene.fetch_and_release()
    assert scene.fetch() == [(0, 3, 7)]
    scene.ack(acked(0, 2, 1), acked(3, 3, RELEASE))
    assert scene.fetch() == [(3, 3, 8), (4, 4, 7)]
    assert scene.fetch() == [(5, 7, 7), (8, 8, 6)]
    assert scene.fetch() == [(9, 15, 6)]


def test_a_last_attempt_ends_what_comes_before_it() -> None:
    scene = Scene(batches_of(4), limited(5))
    scene.fetch()
    for _ in range(3):
        scene.ack(acked(2, 3, RELEASE))
        scene.fetch()
    scene.ack(acked(0, 3, RELEASE))
    scene.batches += batches_of(5, first=4)
    assert scene.fetch() == [(0, 1, 2)]
    assert scene.fetch() == [(2, 2, 5)]
    assert scene.fetch() == [(3, 3, 5)]
    assert scene.fetch() == [(4, 8, 1)]


def test_record_limit_splits_batches_and_never_gives_more() -> None:
    scene = Scene(batches_of(10, 10))
    assert scene.fetch(max_records=3, strict=True) == [(0, 2, 1)]
    scene.ack(acked(0, 2, 1))
    assert scene.fetch(max_records=12, strict=True) == [(3, 9, 1), (10, 14, 1)]
    assert scene.fetch(max_records=3) == [(15, 19, 1)]  # batch-optimised: the rest of the batch


def test_record_limit_takes_no_notice_of_batch_size() -> None:
    assert Scene(batches_of(10, 10)).fetch(max_records=17, batch_size=4, strict=True) == [(0, 16, 1)]


def test_record_limit_halves_the_whole_batch_and_not_the_part_that_was_given() -> None:
    scene = Scene(batches_of(10), limited(5))
    deliveries = [scene.fetch(max_records=3, strict=True)]
    for _ in range(6):
        scene.release()
        deliveries.append(scene.fetch(max_records=3, strict=True))
    assert deliveries == [[(0, 2, n)] for n in range(1, 5)] + [[(n, n, 5)] for n in range(3)]


def test_the_in_flight_limit_is_soft_by_one_batch_and_holds_outside_the_window() -> None:
    scene = Scene(batches_of(60, 30, 300, 10), ShareGroupConfig(partition_max_record_locks=100))
    assert scene.fetch(max_records=60) == [(0, 59, 1)]
    assert scene.fetch(max_records=5) == [(60, 89, 1)]
    assert scene.fetch() == [(90, 389, 1)]
    assert scene.fetch() == []
    assert not scene.partition.can_acquire(scene.config)
    scene.ack(acked(70, 80, RELEASE))
    assert scene.partition.can_acquire(scene.config)
    assert scene.fetch() == [(70, 80, 2)]
    scene.ack(acked(0, 59, 1))
    assert scene.fetch() == []
    scene.ack(acked(60, 389, 1))
    assert scene.fetch() == [(390, 399, 1)]


def test_at_the_limit_a_read_that_goes_beyond_the_window_gives_nothing_new() -> None:
    scene = Scene(batches_of(60, 60), ShareGroupConfig(partition_max_record_locks=100))
    scene.fetch(max_records=60)
    scene.fetch(max_records=60)
    scene.batches += batches_of(50, first=120)
    scene.ack(acked(110, 119, RELEASE))
    assert scene.fetch() == [(110, 119, 2)]


def test_the_room_that_is_left_limits_redelivery_too() -> None:
    scene = Scene(batches_of(50, 48, 48), ShareGroupConfig(partition_max_record_locks=100))
    scene.fetch(max_records=50)
    scene.fetch(max_records=48)
    scene.release()
    assert [scene.fetch() for _ in range(3)] == [[(0, 49, 2)], [(50, 97, 2)], [(98, 145, 1)]]


def test_record_limit_keeps_to_the_in_flight_limit() -> None:
    scene = Scene(batches_of(60, 30, 300, 10), ShareGroupConfig(partition_max_record_locks=100))
    assert scene.fetch(strict=True) == [(0, 99, 1)]
    # As in Kafka the whole log batch is in flight now, so the window is full, but what is in it can be had.
    assert scene.partition.in_flight.end_offset == 389
    assert scene.fetch(max_records=5, strict=True) == [(100, 104, 1)]


def test_delivery_begins_inside_a_batch_where_the_start_offset_is() -> None:
    assert Scene(batches_of(10, 10), start=4).fetch() == [(4, 19, 1)]


def test_offsets_between_two_batches_are_acquired_too_for_the_client_to_tell_of_the_gap() -> None:
    assert Scene([Batch(0, 4), Batch(10, 14)]).fetch() == [(0, 14, 1)]


def test_terminal_records_inside_the_window_are_skipped() -> None:
    scene = Scene(batches_of(10))
    scene.fetch()
    scene.ack(acked(3, 5, 1))
    scene.release()
    assert scene.fetch() == [(0, 2, 2), (6, 9, 2)]


def test_a_large_batch_is_one_run() -> None:
    scene = Scene(batches_of(10_000), attrs.evolve(ShareGroupConfig(), partition_max_record_locks=100_000))
    scene.fetch()
    assert scene.partition.in_flight.run_count == 1
    scene.ack(acked(5_000, 5_000, RELEASE))
    assert scene.partition.in_flight.run_count == 3
    scene.release()
    assert scene.partition.in_flight.run_count == 1


def test_nothing_is_wanted_or_nothing_is_there() -> None:
    assert Scene(batches_of(10)).fetch(max_records=0) == []
    assert Scene([]).fetch() == []
