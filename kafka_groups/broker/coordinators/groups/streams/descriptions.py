"""Descriptions of topologies, which applications send for people to read (KIP-1331).

They are kept in memory, as by Kafka's `InMemoryTopologyDescriptionPlugin`, and are lost when the coordinator moves. The
group's record has the epoch of the topology whose description was stored, so nobody is asked for it again.
"""

from collections.abc import Iterable, Mapping

from attrs import evolve, frozen

from kafka_groups.broker.coordinators.groups.streams.group import StreamsGroup
from kafka_groups.errors import InvalidRequestError
from kafka_groups.protocol.messages.streams_group_describe import (
    StreamsGroupDescribeResponseGroup,
    TopologyDescriptionStatus,
)
from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatResponse, StreamsStatus
from kafka_groups.protocol.messages.topology_description import (
    PROCESSOR_NODE,
    SINK_NODE,
    SOURCE_NODE,
    DescribedTopology,
    TopologyDescriptionGlobalStore,
    TopologyDescriptionNode,
    TopologyDescriptionSubtopology,
)

__all__ = ["TopologyDescriptions", "checked_description"]

_FIRST_BACKOFF_MS = 30_000
_LONGEST_BACKOFF_MS = 3_600_000
_FIRST_TO_DESCRIBE = 1
"""Version of StreamsGroupHeartbeat in which members can be asked."""


@frozen
class _Asked:
    """The last request for a description of the topology with an epoch, and the time of the next one."""

    topology_epoch: int
    backoff_ms: int
    again_ms: int


@frozen
class _Stored:
    topology_epoch: int
    description: DescribedTopology


class TopologyDescriptions:
    """The descriptions of the topologies of one shard's groups, and who was asked for them."""

    def __init__(self) -> None:
        self._asked: dict[str, _Asked] = {}
        self._stored: dict[str, _Stored] = {}

    def __repr__(self) -> str:
        return f"<TopologyDescriptions of {len(self._stored)} groups>"

    def ask_if_missing(
        self, response: StreamsGroupHeartbeatResponse, group: StreamsGroup, version: int, now_ms: int
    ) -> StreamsGroupHeartbeatResponse:
        """Return the response to a heartbeat, asking for a description of the topology if there is none yet.

        One member is asked at a time. If it does not answer, another one is asked later, after growing intervals.

        Args:
            response: The response.
            group: The group after the heartbeat.
            version: The version of the heartbeat.
            now_ms: The time.
        """
        # The cases follow StreamsGroupTopologyDescriptionManager.maybeSetTopologyDescriptionRequired in Kafka.
        if version < _FIRST_TO_DESCRIBE or group.topology is None:
            return response
        # A member with an older topology could only describe that one (responseHasStaleTopology in Kafka).
        is_old = any(each.status_code == StreamsStatus.STALE_TOPOLOGY for each in response.status or ())
        epoch = group.topology.epoch
        if (
            is_old
            or epoch == group.metadata.stored_description_epoch
            or not self._may_ask(group.group_id, epoch, now_ms)
        ):
            return response
        return evolve(response, topology_description_required=True)

    def _may_ask(self, group_id: str, epoch: int, now_ms: int) -> bool:
        asked = self._asked.get(group_id)
        backoff_ms = _FIRST_BACKOFF_MS
        # A new topology is asked for at once; only requests for the same one are held back
        # (StreamsGroupTopologyDescriptionBackoff.isActive).
        if asked is not None and asked.topology_epoch == epoch:
            if now_ms < asked.again_ms:
                return False
            backoff_ms = min(2 * asked.backoff_ms, _LONGEST_BACKOFF_MS)
        self._asked[group_id] = _Asked(epoch, backoff_ms, now_ms + backoff_ms)
        return True

    def store(self, group_id: str, topology_epoch: int, description: DescribedTopology) -> None:
        """Keep a description."""
        self._stored[group_id] = _Stored(topology_epoch, description)
        self._asked.pop(group_id, None)

    def stores_of(self, group: StreamsGroup) -> Mapping[str, frozenset[str]]:
        """Return the names of the stores of each sub-topology. Empty if there is no description of the topology."""
        stored = self._stored.get(group.group_id)
        # Without names, an assignor of applications sees stateful tasks without their stores.
        if stored is None or group.topology is None or stored.topology_epoch != group.topology.epoch:
            return {}
        return {
            each.subtopology_id: frozenset(name for node in each.nodes for name in node.stores)
            for each in stored.description.subtopologies
        }

    def forget(self, group_id: str) -> None:
        """Forget a group."""
        self._stored.pop(group_id, None)
        self._asked.pop(group_id, None)

    def attach(
        self, described: StreamsGroupDescribeResponseGroup, group: StreamsGroup
    ) -> StreamsGroupDescribeResponseGroup:
        """Return what StreamsGroupDescribe shows of a group, with the description of its topology if there is one."""
        stored = self._stored.get(group.group_id)
        # The record may say that a description was stored, but the memory of the former coordinator is lost. That is no
        # error.
        if stored is None or group.topology is None or stored.topology_epoch != group.topology.epoch:
            return evolve(described, topology_description_status=TopologyDescriptionStatus.NOT_STORED)
        return evolve(
            described,
            topology_description=stored.description,
            topology_description_status=TopologyDescriptionStatus.AVAILABLE,
        )


# ------------------------------------------------------------------------------------------------- checks


def checked_description(sent: DescribedTopology) -> DescribedTopology:
    """Return a description as it is stored: nodes have what their type has, and names only once.

    Raises:
        InvalidRequestError: A node's type is unknown, or a global store has a node of the wrong type.
    """
    return DescribedTopology(
        subtopologies=tuple(
            TopologyDescriptionSubtopology(
                subtopology_id=each.subtopology_id, nodes=tuple(_node(node) for node in each.nodes)
            )
            for each in sent.subtopologies
        ),
        global_stores=tuple(_global_store(each) for each in sent.global_stores),
    )


def _node(sent: TopologyDescriptionNode) -> TopologyDescriptionNode:
    plain = TopologyDescriptionNode(name=sent.name, node_type=sent.node_type, successors=_once(sent.successors))
    # A node of the message has the fields of all types. Those that do not belong to its type are dropped.
    if sent.node_type == SOURCE_NODE:
        return evolve(plain, source_topics=_once(sent.source_topics))
    if sent.node_type == PROCESSOR_NODE:
        return evolve(plain, stores=_once(sent.stores))
    if sent.node_type == SINK_NODE:
        return evolve(plain, sink_topic=sent.sink_topic)
    raise InvalidRequestError(
        f"Node '{sent.name}' has the unknown type {sent.node_type}. Use {SOURCE_NODE} for a source, {PROCESSOR_NODE} "
        f"for a processor or {SINK_NODE} for a sink."
    )


def _global_store(sent: TopologyDescriptionGlobalStore) -> TopologyDescriptionGlobalStore:
    source, processor = _node(sent.source), _node(sent.processor)
    # A global store is filled by one source through one processor.
    if (source.node_type, processor.node_type) != (SOURCE_NODE, PROCESSOR_NODE):
        raise InvalidRequestError("A global store must be composed of a source and a processor node.")
    return TopologyDescriptionGlobalStore(source=source, processor=processor)


def _once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
