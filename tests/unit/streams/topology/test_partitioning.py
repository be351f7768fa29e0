"""Partitions of records: windowed keys, and partitioners of the user's."""

from collections.abc import Sequence

import pytest

from kafka_groups import serdes
from kafka_groups.records.partitioning import partition_of
from kafka_groups.serdes import Window, Windowed
from kafka_groups.streams import StreamsError
from kafka_groups.streams.topology.partitioning import check_partition, chosen_partitions, default_partitioner


def test_all_windows_of_a_key_go_to_the_partition_of_the_key() -> None:
    partitioner = default_partitioner(serdes.time_windowed(serdes.string, 10))
    assert partitioner is not None
    chosen = {partitioner("out", Windowed("abc", Window(start, start + 10)), None, 4) for start in range(0, 100, 10)}
    assert chosen == {partition_of(b"abc", 4)}
    assert partitioner("out", None, None, 4) is None
    assert default_partitioner(serdes.string) is None


@pytest.mark.parametrize(
    ("returned", "expected"),
    [(None, (None,)), (2, (2,)), ([0, 2], (0, 2)), ([1, 1], (1,)), ({2}, (2,)), ([], ())],
)
def test_a_partitioner_chooses_one_partition_or_several_or_none(
    returned: "int | Sequence[int] | None", expected: tuple[int | None, ...]
) -> None:
    assert chosen_partitions(lambda *_: returned, "out", "k", "v", 3) == expected


@pytest.mark.parametrize("returned", [-1, [0, -3], "1", [1.0], True])
def test_what_is_no_partition_is_refused(returned: "int | Sequence[int]") -> None:
    with pytest.raises(StreamsError, match=r"returned .* for topic 'out'\. Return a number from 0 to 2"):
        chosen_partitions(lambda *_: returned, "out", "k", "v", 3)


def test_a_partition_that_the_topic_does_not_have_is_refused() -> None:
    check_partition("out", 2, 3)
    with pytest.raises(StreamsError, match="chose partition 3 of topic 'out', which has 3 partitions, numbered from 0"):
        check_partition("out", 3, 3)
