"""When the epoch of a streams group increases, and what is stored with it."""

import hashlib
from collections.abc import Mapping

from attrs import evolve

from kafka_groups.broker.coordinators.groups.streams.configured_topology import ConfiguredTopology
from kafka_groups.broker.coordinators.groups.streams.group import StreamsDraft, StreamsGroup
from kafka_groups.broker.coordinators.groups.streams.records import (
    NOT_VALIDATED,
    StreamsGroupEpoch,
    StreamsGroupMetadata,
    StreamsGroupTargetAssignmentMetadata,
    StreamsTargetEpoch,
)
from kafka_groups.broker.coordinators.groups.topics import TopicsImage
from kafka_groups.config.cluster.streams_group import StreamsGroupConfig

__all__ = ["assignment_configs", "follow_departure", "increase_if_due", "metadata_hash"]

_NOTHING_HASH = 0
_HASH_BYTES = 8
_NUM_STANDBY_REPLICAS, _RACK_TAGS = "num.standby.replicas", "rack.aware.assignment.tags"


def assignment_configs(config: StreamsGroupConfig) -> Mapping[str, str]:
    """Return the configs that assignors may use, as the group's record has them."""
    tags = ",".join(config.rack_aware_assignment_tags)
    return {_NUM_STANDBY_REPLICAS: str(config.num_standby_replicas)} | ({_RACK_TAGS: tags} if tags else {})


def metadata_hash(group: StreamsGroup, topics: TopicsImage, *, departed: int = 0) -> int:
    """Return a number that changes when the target assignment may have to change.

    It depends on the topology's topics with their ids and numbers of partitions, and on the number of members: if only
    the first records of an operation are stored, a member is new or gone, and the group epoch did not follow.

    Args:
        group: The group.
        topics: The topics of the cluster.
        departed: How many members to count that are gone.
    """
    names = () if group.topology is None else group.topology.required_topics
    found = [topic for name in names if (topic := topics.topic(name)) is not None]
    if not found:
        return _NOTHING_HASH
    facts = ([(each.name, each.topic_id.hex, each.num_partitions) for each in found], len(group.members) + departed)
    digest = hashlib.blake2b(repr(facts).encode(), digest_size=_HASH_BYTES).digest()
    return int.from_bytes(digest, "big", signed=True)


def increase_if_due(
    draft: StreamsDraft,
    topics: TopicsImage,
    configured: ConfiguredTopology,
    configs: Mapping[str, str],
    *,
    has_changed: bool,
) -> None:
    """Increase the group epoch by one if its members have changed, or its topics, or the configs of assignors.

    Args:
        draft: The group.
        topics: The topics of the cluster.
        configured: What its topology becomes with them.
        configs: The configs that assignors may use.
        has_changed: Whether its members have changed.
    """
    known = draft.group.metadata or StreamsGroupEpoch(draft.group.epoch)
    facts = (metadata_hash(draft.group, topics), configured.epoch if configured.is_ready else NOT_VALIDATED, configs)
    if has_changed or facts != (known.metadata_hash, known.validated_topology_epoch, known.assignment_configs):
        _increase(draft, known, *facts)


def follow_departure(draft: StreamsDraft, topics: TopicsImage) -> None:
    """Increase the group epoch because a member has gone. The target assignment of an empty group is current.

    As in Kafka, changes of topics are left to the next heartbeat.
    """
    group = draft.group
    known = group.metadata or StreamsGroupEpoch(group.epoch)
    has_same_topics = metadata_hash(group, topics, departed=1) == known.metadata_hash
    hashed = metadata_hash(group, topics) if has_same_topics else known.metadata_hash
    facts = (hashed, known.validated_topology_epoch, known.assignment_configs)
    _increase(draft, known, *facts)
    if not group.members:
        draft.write(StreamsGroupTargetAssignmentMetadata(group.group_id, StreamsTargetEpoch(group.epoch)))


def _increase(
    draft: StreamsDraft,
    known: StreamsGroupEpoch,
    hashed: int,
    validated_topology_epoch: int,
    configs: Mapping[str, str],
) -> None:
    epoch = evolve(
        known,
        epoch=draft.group.epoch + 1,
        metadata_hash=hashed,
        validated_topology_epoch=validated_topology_epoch,
        assignment_configs=configs,
    )
    draft.write(StreamsGroupMetadata(draft.group.group_id, epoch))
