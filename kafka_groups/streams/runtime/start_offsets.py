"""The offsets from which a task reads its sources: the committed ones, or by the rule of the source."""

from collections.abc import Iterable, Mapping
from datetime import timedelta

from kafka_groups.records.interface import DataPlane
from kafka_groups.streams.errors import StreamsError
from kafka_groups.streams.topology.internal_topics import topic_name
from kafka_groups.streams.topology.node_graph import NodeGraph
from kafka_groups.types import TopicPartition

__all__ = ["OffsetResets", "reset_offsets"]


class OffsetResets:
    """The rule of each source topic for a partition without offset."""

    def __init__(self, topology: NodeGraph, application_id: str, default: object) -> None:
        self._default = default
        # Repartition topics always begin at the beginning: what is in them was produced by the application itself.
        rules: dict[str, object] = {**topology.offset_resets, **dict.fromkeys(topology.repartition_topics, "earliest")}
        self._rules = {topic_name(topology, application_id, topic): rule for topic, rule in rules.items()}
        self._patterns = tuple(topology.patterns.values())

    def rule(self, topic: str) -> object:
        """Return `earliest`, `latest`, `none`, or a duration: begin with records of the last so long."""
        given = self._rules.get(topic)
        if given is None:
            given = next((source.offset_reset for source in self._patterns if source.matches(topic)), None)
        return self._default if given is None else given


async def reset_offsets(
    plane: DataPlane, resets: OffsetResets, partitions: Iterable[TopicPartition], wall_ms: int
) -> dict[TopicPartition, int]:
    """Return where to begin in partitions without a usable offset.

    Raises:
        StreamsError: The rule of a topic is to fail.
        KafkaGroupsError: The brokers did not answer, or refused.
    """
    asked = tuple(partitions)
    bounds = await plane.bounds(asked)
    times = {each: _begin_ms(resets.rule(each.topic), wall_ms) for each in asked}
    found = await plane.offsets_for_times({each: time for each, time in times.items() if time is not None})
    return {each: _chosen(each, resets.rule(each.topic), bounds, found) for each in asked}


def _begin_ms(rule: object, wall_ms: int) -> int | None:
    return max(wall_ms - round(rule.total_seconds() * 1000), 0) if isinstance(rule, timedelta) else None


def _chosen(
    place: TopicPartition,
    rule: object,
    bounds: Mapping[TopicPartition, tuple[int, int]],
    found: Mapping[TopicPartition, int],
) -> int:
    begin, end = bounds[place]
    if rule == "none":
        raise StreamsError(
            f"{place} has no committed offset, or its log does not have that offset any more, and its offset_reset is "
            "'none'. Set offset_reset='earliest' or 'latest', or commit an offset."
        )
    # AutoOffsetReset.byDuration in Kafka Streams. Without a record that is young enough, the next one that comes is the
    # first.
    if isinstance(rule, timedelta):
        return found.get(place, end)
    return end if rule == "latest" else begin
