"""The configs of internal topics: defaults, those of the application (`topic.*`), and those of a store."""

from collections.abc import Mapping
from datetime import timedelta

from kafka_groups.streams import ChangelogTopic, RepartitionTopic, StreamsBuilder, TimeWindows, serdes, stores
from kafka_groups.streams.topology.internal_topics import group_topology

GIVEN = {
    "cleanup.policy": "compact",
    "message.timestamp.type": "LogAppendTime",
    "min.insync.replicas": "2",
    "retention.ms": "7",
    "segment.bytes": "9",
}
"""Each overrides a default of internal topics in Java, too: see `tests/topologies/test_topic_configs.py`."""


def configs(store_configs: Mapping[str, str] | None = None) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """The configs of a repartition topic, and of the changelog of a window store."""
    builder = StreamsBuilder()
    words = builder.stream("words", key=serdes.string, value=serdes.string)
    store = stores.window(
        "counts", serdes.string, serdes.int64, retention=timedelta(minutes=1), size=timedelta(minutes=1),
        changelog=store_configs or {},
    )  # fmt: skip
    grouped = words.group_by(lambda _, word: word, key=serdes.string, value=serdes.string, name="by-word")
    grouped.windowed_by(TimeWindows(timedelta(minutes=1), grace=timedelta(0))).count(store=store)
    topology = group_topology(builder.build().graph, "app", GIVEN)
    [repartition] = topology.subtopologies[1].repartition_sources
    [changelog] = topology.subtopologies[1].changelogs
    assert isinstance(repartition, RepartitionTopic)
    assert isinstance(changelog, ChangelogTopic)
    return dict(repartition.configs), dict(changelog.configs)


def test_configs_of_the_application_override_defaults_but_not_what_windows_need() -> None:
    repartition, changelog = configs()
    assert repartition == GIVEN
    assert changelog == {**GIVEN, "retention.ms": str((60 + 86_400) * 1_000)}


def test_configs_of_a_store_come_before_those_of_the_application() -> None:
    _, changelog = configs({"min.insync.replicas": "1", "retention.ms": "8"})
    assert changelog == {**GIVEN, "min.insync.replicas": "1", "retention.ms": "8"}
