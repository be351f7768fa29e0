"""Topologies of applications of Kafka Streams, as Java's members send them, and the same built in Python."""

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatTopology
from kafka_groups.protocol.messages.streams_group_parts import (
    CopartitionGroup,
    KeyValue,
    StreamsSubtopology,
    StreamsTopicInfo,
)
from kafka_groups.streams import ChangelogTopic, GroupTopology, GroupTopologyBuilder, RepartitionTopic

__all__ = ["BUILT", "captured", "read_topology"]

CAPTURED = Path(__file__).parents[1] / "golden" / "streams_topologies.json"
"""What `java/TopologyCapture.java` prints with Kafka Streams 4.3.1: topologies by name."""


def captured() -> dict[str, Any]:
    """The captured topologies by name, as JSON."""
    topologies: dict[str, Any] = json.loads(CAPTURED.read_text(encoding="utf-8"))
    return topologies


# --------------------------------------------------------------------------------------------- read from JSON


def read_topology(found: Mapping[str, Any]) -> StreamsGroupHeartbeatTopology:
    """A topology as a heartbeat has it, from Kafka's JSON."""
    parts = tuple(_subtopology(each) for each in found["subtopologies"])
    return StreamsGroupHeartbeatTopology(epoch=found["epoch"], subtopologies=parts)


def _subtopology(found: Mapping[str, Any]) -> StreamsSubtopology:
    return StreamsSubtopology(
        subtopology_id=found["subtopologyId"],
        source_topics=tuple(found["sourceTopics"]),
        source_topic_regex=tuple(found["sourceTopicRegex"]),
        state_changelog_topics=tuple(_topic(each) for each in found["stateChangelogTopics"]),
        repartition_sink_topics=tuple(found["repartitionSinkTopics"]),
        repartition_source_topics=tuple(_topic(each) for each in found["repartitionSourceTopics"]),
        copartition_groups=tuple(
            CopartitionGroup(
                source_topics=tuple(each["sourceTopics"]),
                source_topic_regex=tuple(each["sourceTopicRegex"]),
                repartition_source_topics=tuple(each["repartitionSourceTopics"]),
            )
            for each in found["copartitionGroups"]
        ),
    )


def _topic(found: Mapping[str, Any]) -> StreamsTopicInfo:
    return StreamsTopicInfo(
        name=found["name"],
        partitions=found["partitions"],
        replication_factor=found["replicationFactor"],
        topic_configs=tuple(KeyValue(key=each["key"], value=each["value"]) for each in found["topicConfigs"]),
    )


# --------------------------------------------------------------------------------------------- built in Python

_TIME = {"message.timestamp.type": "CreateTime"}
_TABLE = {"cleanup.policy": "compact", **_TIME}
_REPARTITION = {"cleanup.policy": "delete", "retention.ms": "-1", "segment.bytes": "52428800", **_TIME}
_MINUTE_MS, _DAY_MS = 60_000, 86_400_000


def _store(name: str, configs: Mapping[str, str] = MappingProxyType(_TABLE)) -> ChangelogTopic:
    return ChangelogTopic(f"app-{name}-changelog", configs)


def _windowed(name: str, minutes: int, cleanup: str) -> ChangelogTopic:
    retention = str(minutes * _MINUTE_MS + _DAY_MS)
    return _store(name, {"cleanup.policy": cleanup, "retention.ms": retention, **_TIME})


def _repartition(name: str, partitions: int | None = None) -> RepartitionTopic:
    return RepartitionTopic(f"app-{name}", partitions, _REPARTITION)


def _through(name: str, partitions: int | None = None, **second: Any) -> GroupTopology:
    """A topology that reads a topic and sends it through a repartition topic."""
    sources = second.pop("reading", ["in"])
    topic = _repartition(f"{name}-repartition", partitions)
    builder = GroupTopologyBuilder().add_subtopology("0", sources=sources, sinks=[topic.name])
    return builder.add_subtopology("1", repartition_sources=[topic], **second).build()


def _one(**fields: Any) -> GroupTopology:
    return GroupTopologyBuilder().add_subtopology("0", **fields).build()


def _pair(left: str, right: str, name: str) -> tuple[list[ChangelogTopic], list[str]]:
    """The changelogs and the topics of two streams that are joined."""
    stores = [_windowed(f"{name}-{each}-join-store", 2, "delete") for each in ("this", "other")]
    return stores, [left, right]


def _pairs(*pairs: tuple[list[ChangelogTopic], list[str]]) -> GroupTopology:
    return _one(
        sources=[topic for _, topics in pairs for topic in topics],
        changelogs=[store for stores, _ in pairs for store in stores],
        copartition=[topics for _, topics in pairs],
    )


def _foreign_key_join() -> GroupTopology:
    prefix = "KTABLE-FK-JOIN-SUBSCRIPTION"
    registration = _repartition(f"{prefix}-REGISTRATION-0000000004-topic")
    response = _repartition(f"{prefix}-RESPONSE-0000000012-topic")
    return (
        GroupTopologyBuilder()
        .add_subtopology(
            "0",
            sources=["orders"],
            repartition_sources=[response],
            sinks=[registration.name],
            changelogs=[_store("orders-store"), _store("enriched")],
            copartition=[["orders", response.name]],
        )
        .add_subtopology(
            "1",
            sources=["customers"],
            repartition_sources=[registration],
            sinks=[response.name],
            changelogs=[_store("customers-store"), _store(f"{prefix}-STATE-STORE-0000000008")],
            copartition=[["customers", registration.name]],
        )
        .build()
    )


def _large_group() -> GroupTopology:
    names = [f"table-{number}" for number in range(14)]
    stores = [_store(f"{name}-store") for name in names]
    return _one(sources=names, changelogs=stores, copartition=[names])


def _twelve() -> GroupTopology:
    builder = GroupTopologyBuilder()
    for number in range(12):
        builder.add_subtopology(str(number), sources=[f"in-{number}"])
    return builder.build()


BUILT: Mapping[str, GroupTopology] = MappingProxyType({
    "filter": _one(sources=["in"]),
    "repartition": _through("by-value", 3),
    "count": _through("values", changelogs=[_store("counts")]),
    "windows": _one(
        sources=["in"],
        changelogs=[_windowed(name, 1, "compact,delete") for name in ("by-minute", "by-session")],
    ),
    "table-table-join": _one(
        sources=["left", "right"],
        changelogs=[_store("left-store"), _store("right-store"), _store("both")],
        copartition=[["left", "right"]],
    ),
    "stream-stream-join": _one(
        sources=["left", "right"],
        changelogs=[
            _windowed("pairs-this-join-store", 3, "delete"),
            _windowed("pairs-outer-other-join-store", 3, "delete"),
            _store("pairs-left-shared-join-store"),
        ],
        copartition=[["left", "right"]],
    ),
    "stream-table-join": _through(
        "clicks-by-user",
        reading=["clicks"],
        sources=["users"],
        changelogs=[_store("users-store")],
        copartition=[["users", "app-clicks-by-user-repartition"]],
    ),
    "global-table": _one(sources=["orders"]),
    "optimised": _one(sources=["in"], changelogs=[ChangelogTopic("in", _TABLE)]),
    "foreign-key-join": _foreign_key_join(),
    "two-copartition-groups": _pairs(
        _pair("payments", "orders", "paymentsorders"), _pair("visits", "clicks", "visitsclicks")
    ),
    "nine-copartition-groups": _pairs(
        *(_pair(f"east-{n}", f"west-{n}", f"east-{n}west-{n}") for n in range(9)),
    ),
    "large-copartition-group": _large_group(),
    "twelve": _twelve(),
})  # fmt: skip
"""The captured topologies, described in Python."""
