from kafka_groups.records.fetching.limits import PartitionSize, ReadingLimits

KIB = 1024


def test_rows_that_wait_for_long_halve_the_size_down_to_128_kib_and_others_double_it_again() -> None:
    size = PartitionSize(1024 * KIB)
    sizes = []
    for waited_ms in (2_000, 2_001, 2_001, 2_001, 2_001, 0, 0, 0, 0):
        size.note_wait(waited_ms)
        sizes.append(size.size_bytes // KIB)
    assert sizes == [1024, 512, 256, 128, 128, 256, 512, 1024, 1024]


def test_a_limit_below_128_kib_stays() -> None:
    size = PartitionSize(10 * KIB)
    size.note_wait(5_000)
    assert size.size_bytes == 10 * KIB


def test_partitions_share_the_room() -> None:
    limits = ReadingLimits(buffer_bytes=8_000)
    assert [limits.share(count) for count in (0, 1, 4, 10_000)] == [8_000, 8_000, 2_000, 1]


def test_a_partition_is_asked_for_as_long_as_another_answer_fits() -> None:
    size = PartitionSize(100)
    assert [size.ask(waiting, 250) for waiting in (0, 150, 151, 1_000)] == [100, 100, 0, 0]
    assert [size.ask(waiting, 30) for waiting in (0, 1)] == [30, 0]
