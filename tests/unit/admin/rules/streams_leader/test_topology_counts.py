"""The numbers of partitions that a topology needs."""

from typing import Any

import pytest

from kafka_groups.admin.rules.group_topology.group_topology import (
    ChangelogTopic,
    GroupTopology,
    RepartitionTopic,
    Subtopology,
)
from kafka_groups.admin.rules.streams_leader.group_round import LeadingError
from kafka_groups.admin.rules.streams_leader.topology_counts import missing_sources, topology_counts
from kafka_groups.assignment import TaskAssignmentError


def part(
    number: int,
    *sources: str,
    reads: tuple[str | tuple[str, int], ...] = (),
    writes: tuple[str, ...] = (),
    **more: Any,
) -> Subtopology:
    topics = [(each, None) if isinstance(each, str) else each for each in reads]
    return Subtopology(
        subtopology_id=str(number),
        source_topics=sources,
        repartition_sources=tuple(RepartitionTopic(name, count) for name, count in topics),
        repartition_sinks=writes,
        **more,
    )


def together(*names: str) -> dict[str, Any]:
    return {"copartition_groups": (frozenset(names),)}


def test_a_repartition_topic_gets_the_largest_number_of_what_its_writers_read() -> None:
    topology = GroupTopology((part(0, "a", "b", writes=("r",)), part(1, "c", writes=("r",)), part(2, reads=("r",))))
    assert topology_counts(topology, {"a": 2, "b": 4, "c": 3}).read["r"] == 4


def test_numbers_are_handed_on_whatever_the_order_of_the_parts() -> None:
    topology = GroupTopology(
        (part(0, reads=("s",)), part(1, "b", reads=("r",), writes=("s",)), part(2, "a", writes=("r",)))
    )
    found = topology_counts(topology, {"a": 8, "b": 2})
    assert (found.read["r"], found.read["s"]) == (8, 8)


def test_a_given_number_counts() -> None:
    topology = GroupTopology(
        (part(0, "a", writes=("r",)), part(1, reads=(("r", 5),), writes=("s",)), part(2, reads=("s",)))
    )
    found = topology_counts(topology, {"a": 2, "r": 7})
    assert (found.read["r"], found.read["s"]) == (5, 5)


@pytest.mark.parametrize(("existing", "needed"), [(8, 8), (2, 2), (4, 8)])
def test_an_existing_number_counts_if_a_leader_in_java_may_have_made_it(existing: int, needed: int) -> None:
    """With a(8) to r, and b(2), r to s, a leader in Java gives s 8 or 2, by the names of the topics."""
    topology = GroupTopology(
        (part(0, "a", writes=("r",)), part(1, "b", reads=("r",), writes=("s",)), part(2, reads=("s",)))
    )
    assert topology_counts(topology, {"a": 8, "b": 2, "r": 8, "s": existing}).read["s"] == needed


def test_a_number_that_depends_on_itself_is_refused() -> None:
    topology = GroupTopology((part(0, "a"), part(1, reads=("r",), writes=("s",)), part(2, reads=("s",), writes=("r",))))
    with pytest.raises(TaskAssignmentError, match="repartition topics r, s depend on each other"):
        topology_counts(topology, {"a": 1})


def test_a_circle_that_reads_a_topic_has_its_number() -> None:
    topology = GroupTopology((part(0, "a", reads=("r",), writes=("r",)),))
    assert topology_counts(topology, {"a": 3}).read["r"] == 3


# ---------------------------------------------------------------------------------------- copartitioning


def test_topics_of_others_decide() -> None:
    topology = GroupTopology((part(0, "a", writes=("r",)), part(1, "b", reads=("r",), **together("b", "r"))))
    assert topology_counts(topology, {"a": 2, "b": 6}).read["r"] == 6


def test_topics_of_others_need_equal_numbers() -> None:
    topology = GroupTopology((part(0, "a", "b", **together("a", "b")),))
    with pytest.raises(LeadingError, match=r"a \(2\), b \(6\)"):
        topology_counts(topology, {"a": 2, "b": 6})


def test_a_given_number_that_differs_is_refused() -> None:
    topology = GroupTopology((part(0, "a", writes=("r",)), part(1, "b", reads=(("r", 3),), **together("b", "r"))))
    with pytest.raises(LeadingError, match=r"b \(6\), r \(3\)"):
        topology_counts(topology, {"a": 2, "b": 6})


def test_given_numbers_that_differ_are_refused() -> None:
    reads = (("r", 3), ("s", 4))
    topology = GroupTopology((part(0, "a", writes=("r", "s")), part(1, reads=reads, **together("r", "s"))))
    with pytest.raises(LeadingError, match=r"r \(3\), s \(4\)"):
        topology_counts(topology, {"a": 2})


def test_given_numbers_decide_about_derived_ones() -> None:
    reads = (("r", 3), "s")
    topology = GroupTopology((part(0, "a", writes=("r", "s")), part(1, reads=reads, **together("r", "s"))))
    assert topology_counts(topology, {"a": 9}).read["s"] == 3


def test_else_the_largest_number_decides() -> None:
    parts = (part(0, "a", writes=("r",)), part(1, "b", writes=("s",)), part(2, reads=("r", "s"), **together("r", "s")))
    found = topology_counts(GroupTopology(parts), {"a": 2, "b": 6})
    assert (found.read["r"], found.read["s"]) == (6, 6)


def test_existing_topics_that_agree_decide() -> None:
    """A leader in Java may have taken the smaller number of two merged sources."""
    parts = (part(0, "a", "b", writes=("r", "s")), part(1, reads=("r", "s"), **together("r", "s")))
    found = topology_counts(GroupTopology(parts), {"a": 2, "b": 6, "r": 2, "s": 2})
    assert (found.read["r"], found.read["s"]) == (2, 2)


def test_existing_topics_that_differ_get_the_larger_number() -> None:
    parts = (part(0, "a", "b", writes=("r", "s")), part(1, reads=("r", "s"), **together("r", "s")))
    found = topology_counts(GroupTopology(parts), {"a": 2, "b": 6, "r": 2, "s": 6})
    assert (found.read["r"], found.read["s"]) == (6, 6)


# --------------------------------------------------------------------------------------------- changelogs


def test_a_changelog_has_a_partition_for_each_task() -> None:
    topology = GroupTopology((part(0, "a", "b", changelogs=(ChangelogTopic("c"),)),))
    assert topology_counts(topology, {"a": 2, "b": 5}).changelogs == {"c": 5}


def test_a_source_that_is_a_changelog_is_nobodys_to_create() -> None:
    topology = GroupTopology((part(0, "a", changelogs=(ChangelogTopic("a"),)),))
    assert topology_counts(topology, {"a": 2}).changelogs == {}


def test_missing_sources_are_named() -> None:
    topology = GroupTopology((part(0, "b", "a", writes=("r",)), part(1, "c", reads=("r",))))
    assert missing_sources(topology, ["c", "x"]) == ("a", "b")
