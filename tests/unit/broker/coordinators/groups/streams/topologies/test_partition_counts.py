"""How many partitions internal topics get."""

import pytest

from kafka_groups.broker.coordinators.groups.streams.topologies.partition_counts import (
    IncorrectlyPartitioned,
    decided_counts,
)
from kafka_groups.errors import StreamsInvalidTopologyError
from kafka_groups.protocol.messages.streams_group_parts import StreamsSubtopology
from tests.support.broker.share_groups import Topics
from tests.support.members.streams_topologies import internal, subtopology, together, topology


def decided(*subtopologies: StreamsSubtopology, **existing: int) -> dict[str, int]:
    """The numbers, with these topics in the cluster."""
    topics = Topics()
    for name, partitions in existing.items():
        topics.create(name, partitions)
    return decided_counts(topology(*subtopologies), topics).decided


def test_a_repartition_topic_gets_the_most_partitions_that_its_writers_read() -> None:
    assert decided(
        subtopology("0", sources=("a", "b"), sinks=("r",)),
        subtopology("1", repartitions=(internal("r"),), changelogs=(internal("c"),)),
        a=2,
        b=5,
    ) == {"r": 5, "c": 5}


def test_a_number_that_is_fixed_stays_and_is_passed_on() -> None:
    assert decided(
        subtopology("0", sources=("a",), sinks=("r",)),
        subtopology("1", repartitions=(internal("r", 3),), sinks=("s",)),
        subtopology("2", repartitions=(internal("s"),)),
        a=2,
    ) == {"r": 3, "s": 3}


def test_numbers_are_derived_against_the_order_of_the_subtopologies() -> None:
    assert decided(
        subtopology("0", repartitions=(internal("last"),)),
        subtopology("1", repartitions=(internal("middle"),), sinks=("last",)),
        subtopology("2", sources=("a",), sinks=("middle",)),
        a=4,
    ) == {"middle": 4, "last": 4}


def test_a_changelog_has_a_partition_for_each_task() -> None:
    assert decided(subtopology(sources=("a", "b"), changelogs=(internal("c"),)), a=1, b=3) == {"c": 3}


def test_a_circle_is_refused() -> None:
    with pytest.raises(StreamsInvalidTopologyError, match="in a circle"):
        decided(
            subtopology("0", repartitions=(internal("r"),), sinks=("s",)),
            subtopology("1", repartitions=(internal("s"),), sinks=("r",)),
        )


def test_a_repartition_topic_that_nobody_writes_is_refused() -> None:
    with pytest.raises(StreamsInvalidTopologyError, match="r is read, but no sub-topology writes it"):
        decided(subtopology(sources=("a",), repartitions=(internal("r"),)), a=1)


def test_a_subtopology_that_reads_nothing_is_refused() -> None:
    with pytest.raises(StreamsInvalidTopologyError, match="Sub-topology 0 reads no topics"):
        decided(subtopology(changelogs=(internal("c"),)))


# ---------------------------------------------------------------------------------------- copartitioning


def joined(repartition: int = 0, writer: int = 2, **existing: int) -> dict[str, int]:
    """Topic `a` is joined with a repartition topic, whose writer reads `b`."""
    return decided(
        subtopology("0", sources=("b",), sinks=("r",)),
        subtopology(
            "1",
            sources=("a",),
            repartitions=(internal("r", repartition),),
            together=(together(0, repartitions=(0,)),),
            changelogs=(internal("c"),),
        ),
        b=writer,
        **existing,
    )


def test_a_repartition_topic_takes_the_number_of_the_topic_that_it_is_joined_with() -> None:
    assert joined(a=7) == {"r": 7, "c": 7}


def test_a_fixed_number_must_be_that_of_the_topic() -> None:
    assert joined(repartition=7, a=7) == {"r": 7, "c": 7}
    with pytest.raises(IncorrectlyPartitioned, match=r"r has 3 partitions, but .* have 7"):
        joined(repartition=3, a=7)


def test_topics_that_are_copartitioned_must_have_equal_numbers() -> None:
    part = subtopology(sources=("a", "b"), together=(together(0, 1),))

    assert decided(part, a=2, b=2) == {}
    with pytest.raises(IncorrectlyPartitioned, match=r"a \(2\), b \(3\)"):
        decided(part, a=2, b=3)


def two_repartitions(first: int, second: int) -> dict[str, int]:
    return decided(
        subtopology("0", sources=("a",), sinks=("r",)),
        subtopology("1", sources=("b",), sinks=("s",)),
        subtopology(
            "2",
            repartitions=(internal("r", first), internal("s", second)),
            together=(together(repartitions=(0, 1)),),
        ),
        a=2,
        b=6,
    )


def test_repartition_topics_alone_get_the_largest_number_or_the_fixed_one() -> None:
    assert two_repartitions(0, 0) == {"r": 6, "s": 6}
    assert two_repartitions(0, 3) == {"r": 3, "s": 3}
    assert two_repartitions(4, 4) == {"r": 4, "s": 4}


def test_fixed_numbers_must_agree() -> None:
    with pytest.raises(IncorrectlyPartitioned, match=r"r \(4\), s \(3\)"):
        two_repartitions(4, 3)


def test_an_empty_copartition_group_means_nothing() -> None:
    assert decided(subtopology(sources=("a", "b"), together=(together(),)), a=1, b=2) == {}
