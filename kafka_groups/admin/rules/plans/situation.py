"""A streams group before a plan, as the brokers describe it: members, topics, offsets, configuration."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Final

from attrs import field, frozen

from kafka_groups.admin.rules.group_configs import GroupConfigValues, describe_configs
from kafka_groups.admin.rules.streams_descriptions import described_streams_groups
from kafka_groups.admin.rules.streams_values import StreamsGroupDescription, StreamsTopologyDescription
from kafka_groups.client.calls.partition_offsets import EARLIEST, LATEST, offsets_at
from kafka_groups.client.calls.questions import Answer, Asking, Question, errors_of_topics, metadata_request
from kafka_groups.client.calls.results import Results
from kafka_groups.errors import IllegalStateError, KafkaGroupsError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.messages.metadata import MetadataResponse, MetadataResponseTopic
from kafka_groups.types import TopicPartition

__all__ = ["GroupSituation", "ask_for_situation", "plannable_topology"]

RacksByPartition = Mapping[TopicPartition, frozenset[str]]

_REMEDIES: Final[Mapping[str, str]] = {
    "Empty": "It has no members, so there is nothing to move. Start its application first.",
    "Dead": "It is being deleted. Start its application first.",
    "NotReady": (
        "Its topology does not work with the topics that exist, so it has no tasks. The status of its members names "
        "the topic: create that, or correct its number of partitions, and plan again."
    ),
}


@frozen(kw_only=True)
class GroupSituation:
    """A group as the brokers have described it.

    Attributes:
        group: The group. It has members and a topology.
        racks: The racks of the brokers that have each partition of its topics, as far as they are known.
        starts: The starts of the partitions of its changelogs.
        ends: The ends of the partitions of its changelogs.
        configs: Its configuration.
        configs_error: Why that is missing, or None.
    """

    group: StreamsGroupDescription
    racks: RacksByPartition
    starts: Results[TopicPartition, int] = field(factory=Results)
    ends: Results[TopicPartition, int] = field(factory=Results)
    configs: GroupConfigValues = field(factory=dict)
    configs_error: KafkaGroupsError | None = None

    @property
    def partition_counts(self) -> dict[str, int]:
        """The number of partitions of each topic."""
        counts: dict[str, int] = {}
        for each in self.racks:
            counts[each.topic] = counts.get(each.topic, 0) + 1
        return counts


async def ask_for_situation(ask: Asking, group_id: str) -> GroupSituation:
    """Ask the brokers for a group and all that belongs to it.

    Raises:
        IllegalStateError: The group has no members, or no tasks.
        KafkaGroupsError: The coordinator refused the group, or a topic cannot be described.
    """
    group = (await described_streams_groups(ask, [group_id]))[group_id]
    topology = plannable_topology(group)
    racks = await _racks_of_topics(ask, topology.read_topics | topology.changelog_topics)
    changelogs = [each for each in racks if each.topic in topology.changelog_topics]
    configs = await describe_configs(ask, [group_id])
    return GroupSituation(
        group=group,
        racks=racks,
        starts=await offsets_at(ask, changelogs, EARLIEST),
        ends=await offsets_at(ask, changelogs, LATEST),
        configs=configs.values.get(group_id, {}),
        configs_error=configs.errors.get(group_id),
    )


def plannable_topology(group: StreamsGroupDescription) -> StreamsTopologyDescription:
    """Return the topology of a group that has members and tasks.

    Raises:
        IllegalStateError: The group has no members, or no tasks.
    """
    if group.state in _REMEDIES:
        raise IllegalStateError(f"The streams group {group.group_id} is {group.state}. {_REMEDIES[group.state]}")
    if group.topology is None or not group.topology.subtopologies or not group.members:
        raise IllegalStateError(
            f"The coordinator shows no topology or no members of the streams group {group.group_id}, which is "
            f"{group.state}. Plan again when the group is Stable."
        )
    return group.topology


async def _racks_of_topics(ask: Asking, topics: Iterable[str]) -> RacksByPartition:
    """Return the racks of each partition. A topic that cannot be described is an error."""
    keys = tuple(sorted(topics))
    question = Question("describe the topic", ApiKey.METADATA, keys, metadata_request, _read_racks)
    found = (await ask(question)).checked()
    return dict(chain.from_iterable(each.items() for each in found.values.values()))


def _read_racks(_keys: Sequence[str], response: MetadataResponse) -> Mapping[str, Answer[RacksByPartition]]:
    racks = {broker.node_id: broker.rack for broker in response.brokers if broker.rack}
    return {
        **{topic.name or "": _racks_of_topic(topic, racks) for topic in response.topics},
        **errors_of_topics(response.topics),
    }


def _racks_of_topic(topic: MetadataResponseTopic, racks: Mapping[int, str]) -> RacksByPartition:
    return {
        TopicPartition(topic.name or "", each.partition_index): frozenset(
            racks[node] for node in each.replica_nodes if node in racks
        )
        for each in topic.partitions
    }
