"""Topologies as heartbeats have them: everything sorted, copartition groups as positions."""

from kafka_groups.admin.rules.group_topology.group_topology import (
    ChangelogTopic,
    GroupTopology,
    RepartitionTopic,
    Subtopology,
)
from kafka_groups.protocol.messages.streams_group_parts import (
    CopartitionGroup,
    KeyValue,
    StreamsSubtopology,
    StreamsTopicInfo,
)

JOIN = Subtopology(
    subtopology_id="1",
    source_topics=("rates", "accounts"),
    repartition_sources=(RepartitionTopic("app-b-repartition", 4), RepartitionTopic("app-a-repartition")),
    repartition_sinks=("app-z-repartition", "app-c-repartition"),
    changelogs=(
        ChangelogTopic("app-totals-changelog", {"segment.bytes": "100", "cleanup.policy": "compact"}, 3),
        ChangelogTopic("app-counts-changelog"),
    ),
    copartition_groups=(
        frozenset({"rates", "app-a-repartition"}),
        frozenset({"app-b-repartition", "accounts"}),
    ),
)


def test_a_subtopology_is_sorted_and_its_groups_are_positions_in_the_sorted_lists() -> None:
    assert JOIN.to_wire() == StreamsSubtopology(
        subtopology_id="1",
        source_topics=("accounts", "rates"),
        state_changelog_topics=(
            StreamsTopicInfo(name="app-counts-changelog", replication_factor=-1),
            StreamsTopicInfo(
                name="app-totals-changelog",
                replication_factor=3,
                topic_configs=(
                    KeyValue(key="cleanup.policy", value="compact"),
                    KeyValue(key="segment.bytes", value="100"),
                ),
            ),
        ),
        repartition_sink_topics=("app-c-repartition", "app-z-repartition"),
        repartition_source_topics=(
            StreamsTopicInfo(name="app-a-repartition", partitions=0, replication_factor=-1),
            StreamsTopicInfo(name="app-b-repartition", partitions=4, replication_factor=-1),
        ),
        copartition_groups=(
            CopartitionGroup(source_topics=(0,), repartition_source_topics=(1,)),
            CopartitionGroup(source_topics=(1,), repartition_source_topics=(0,)),
        ),
    )


def test_subtopologies_are_sorted_by_their_ids_as_text() -> None:
    ids = ["2", "10", "0"]
    topology = GroupTopology(tuple(Subtopology(subtopology_id=each, source_topics=("in",)) for each in ids))
    wire = topology.to_wire()
    assert [each.subtopology_id for each in wire.subtopologies] == ["0", "10", "2"]
    assert wire.epoch == 0


def test_the_order_in_which_things_are_given_does_not_matter() -> None:
    other = Subtopology(
        subtopology_id="1",
        source_topics=JOIN.source_topics[::-1],
        repartition_sources=JOIN.repartition_sources[::-1],
        repartition_sinks=JOIN.repartition_sinks[::-1],
        changelogs=JOIN.changelogs[::-1],
        copartition_groups=JOIN.copartition_groups[::-1],
    )
    assert other.to_wire() == JOIN.to_wire()


def test_what_must_exist_is_what_nobody_creates() -> None:
    assert GroupTopology((JOIN,)).source_topics == {"accounts", "rates"}
    assert JOIN.read_topics == {"accounts", "rates", "app-a-repartition", "app-b-repartition"}


WORDS = Subtopology(subtopology_id="0", source_topics=("lines",), repartition_sinks=("app-words-repartition",))
COUNTS = Subtopology(
    subtopology_id="1",
    repartition_sources=(RepartitionTopic("app-words-repartition", 4),),
    changelogs=(ChangelogTopic("app-counts-changelog", {"cleanup.policy": "compact"}),),
)


def test_a_topology_prints_itself_as_text() -> None:
    assert str(GroupTopology((COUNTS, WORDS))).splitlines() == [
        "Sub-topology 0",
        "  reads lines",
        "  writes repartition topic app-words-repartition",
        "Sub-topology 1",
        "  reads repartition topic app-words-repartition (partitions=4)",
        "  keeps changelog app-counts-changelog (cleanup.policy=compact)",
    ]


def test_text_has_everything_of_a_subtopology() -> None:
    assert str(JOIN).splitlines() == [
        "Sub-topology 1",
        "  reads accounts",
        "  reads rates",
        "  reads repartition topic app-a-repartition",
        "  reads repartition topic app-b-repartition (partitions=4)",
        "  writes repartition topic app-c-repartition",
        "  writes repartition topic app-z-repartition",
        "  keeps changelog app-counts-changelog",
        "  keeps changelog app-totals-changelog (replication factor=3, cleanup.policy=compact, segment.bytes=100)",
        "  co-partitions app-a-repartition, rates",
        "  co-partitions accounts, app-b-repartition",
    ]


def test_a_topology_prints_itself_as_a_mermaid_diagram() -> None:
    assert GroupTopology((COUNTS, WORDS)).to_mermaid().splitlines() == [
        "flowchart LR",
        '  topic0[("lines")]',
        '  topic1[("app-words-repartition")]',
        '  topic2[("app-counts-changelog")]',
        '  subtopology0["sub-topology 0"]',
        '  subtopology1["sub-topology 1"]',
        "  topic0 --> subtopology0",
        "  subtopology0 --> topic1",
        "  topic1 --> subtopology1",
        "  subtopology1 -.- topic2",
    ]


def test_a_topic_is_drawn_once_and_quotes_do_not_end_a_label() -> None:
    both = [
        Subtopology(subtopology_id=name, source_topics=("in",), changelogs=(ChangelogTopic("in"),))
        for name in ('a"b', "c")
    ]
    assert GroupTopology(tuple(both)).to_mermaid().splitlines() == [
        "flowchart LR",
        '  topic0[("in")]',
        '  subtopology0["sub-topology a#quot;b"]',
        '  subtopology1["sub-topology c"]',
        "  topic0 --> subtopology0",
        "  subtopology0 -.- topic0",
        "  topic0 --> subtopology1",
        "  subtopology1 -.- topic0",
    ]
