"""Metadata of the cluster: topics, the leaders of their partitions, and the addresses of the brokers."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from uuid import UUID

from attrs import frozen

from kafka_groups.acls import AclOperation
from kafka_groups.client.background import BackgroundErrors
from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.client.events import Area, listed
from kafka_groups.client.requests import ClientResponse, OutgoingRequest, PollResult
from kafka_groups.client.rights import refused
from kafka_groups.errors import ConfigurationError, KafkaGroupsError, error_for
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.leadership import NO_LEADER_EPOCH, LeaderIdAndEpoch, NodeEndpoint
from kafka_groups.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)
from kafka_groups.types import TopicIdPartition

__all__ = ["Metadata", "MetadataManager", "Node", "TopicRefusals", "topic_refusals"]

_CREATION_MS = 1_000
"""The longest time that a topic may be missing without a warning, because a broker may be creating it."""
_REMEDY = "Check the names or create the topics; the client keeps looking for them."
_CREATES = "If a name is misspelt, delete the topic, and set allow.auto.create.topics to false."
_REPORTED = frozenset({ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.INVALID_TOPIC_EXCEPTION})

TopicRefusals = Callable[[ErrorCode, Sequence[str]], Iterable[KafkaGroupsError]]


@frozen
class Node:
    """A broker's address."""

    node_id: int
    host: str
    port: int
    rack: str | None = None


@frozen
class KnownCluster:
    """A cluster, as a response names it.

    Attributes:
        cluster_id: Its id.
        servers: Addresses of its brokers.
    """

    cluster_id: str
    servers: tuple[str, ...]

    def __str__(self) -> str:
        return f"{', '.join(self.servers)} (cluster {self.cluster_id})"


class Metadata:
    """The client's view of the cluster. A later leader epoch replaces an earlier one (KIP-320).

    Attributes:
        nodes: Addresses by node id.
        version: Increases with every change of a topic's id or a partition's leader.
        cluster: The cluster that the first response came from, by its id and brokers; None before.
    """

    def __init__(self) -> None:
        self.nodes: dict[int, Node] = {}
        self.version = 0
        self.cluster: KnownCluster | None = None
        self._leaders: dict[TopicIdPartition, LeaderIdAndEpoch] = {}
        self._ids: dict[str, UUID] = {}
        self._names: dict[UUID, str] = {}
        self._partition_counts: dict[str, int] = {}
        self._errors: dict[str, ErrorCode] = {}

    def name_of(self, topic_id: UUID) -> str | None:
        """Return the name of a topic, or None if it is unknown."""
        return self._names.get(topic_id)

    def id_of(self, name: str) -> UUID | None:
        """Return the id of a topic, or None if it is unknown.

        A topic that was deleted and created again has another id. A deleted one keeps its id here: see `is_missing`.
        """
        return self._ids.get(name)

    def partition_count(self, name: str) -> int | None:
        """Return the number of partitions of a topic, or None if it is unknown."""
        return self._partition_counts.get(name)

    def error_of(self, name: str) -> ErrorCode:
        """Return the topic's error in the last response that names it; `ErrorCode.NONE` without one."""
        return self._errors.get(name, ErrorCode.NONE)

    def is_missing(self, name: str) -> bool:
        """Return whether the topic did not exist, as of the last response that names it.

        A topic that was just created may be unknown to the broker that was asked.
        """
        return self.error_of(name) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    def leader_of(self, partition: TopicIdPartition) -> int | None:
        """Return the node id of a partition's leader, or None if the leader is unknown or there is none."""
        leader = self._leaders.get(partition)
        # -1 is a partition without a leader.
        return leader.leader_id if leader is not None and leader.leader_id >= 0 else None

    def epoch_of(self, partition: TopicIdPartition) -> int:
        """Return the leader epoch of a partition; `NO_LEADER_EPOCH` if it is unknown."""
        leader = self._leaders.get(partition)
        return NO_LEADER_EPOCH if leader is None else leader.leader_epoch

    def rack_of(self, node_id: int) -> str | None:
        """Return the rack of a broker, or None if it is unknown or the broker has no rack."""
        node = self.nodes.get(node_id)
        return None if node is None else node.rack

    def note_address(self, node_id: int, host: str, port: int) -> None:
        """Store the address of a coordinator. Its rack stays, because FindCoordinator does not name it."""
        self.nodes[node_id] = Node(node_id, host, port, self.rack_of(node_id))

    def check_cluster(self, response: MetadataResponse) -> None:
        """Keep the first cluster, and refuse a response of another one before anything of it is stored.

        Raises:
            ConfigurationError: The response comes from another cluster.
        """
        # A response with an error names no cluster, and neither do very old brokers.
        if response.cluster_id is None or response.error_code is not ErrorCode.NONE:
            return
        found = KnownCluster(response.cluster_id, tuple(f"{each.host}:{each.port}" for each in response.brokers))
        # Node ids and partitions of two clusters look the same, so commits and acknowledgements would go to the wrong
        # one.
        known = self.cluster = self.cluster or found
        if known.cluster_id != found.cluster_id:
            raise ConfigurationError(
                f"The bootstrap servers belong to different clusters: {known} and {found}. Name the servers of one"
                " cluster only. If they do, the cluster was replaced while this client ran: create a new client."
            )

    def apply(self, response: MetadataResponse) -> None:
        """Store a Metadata response for the topics that it lists."""
        for broker in response.brokers:
            self.nodes[broker.node_id] = Node(broker.node_id, broker.host, broker.port, broker.rack)
        for topic in response.topics:
            if topic.name is not None:
                self._errors[topic.name] = topic.error_code
            # A topic with an error keeps what is known of it: its leaders are most likely still right when the error
            # has passed.
            if topic.error_code is ErrorCode.NONE and topic.topic_id is not None and topic.name is not None:
                self._apply_topic(topic.name, topic.topic_id, topic)

    def must_rebootstrap(self, response: MetadataResponse) -> bool:
        """Forget the brokers if a response says so, and return whether it does (KIP-1102).

        The next requests then go to the bootstrap servers.
        """
        if response.error_code is not ErrorCode.REBOOTSTRAP_REQUIRED:
            return False
        # KIP-1102: the broker wants the client to start over, for example because the cluster has moved. Only the
        # bootstrap servers are left to ask (NetworkClient.handleRebootstrap in Java).
        self.nodes.clear()
        return True

    def _apply_topic(self, name: str, topic_id: UUID, topic: MetadataResponseTopic) -> None:
        known = self._ids.get(name)
        if known != topic_id:
            if known is not None:
                del self._names[known]  # deleted and created again under its old name
            self.version += 1
        self._ids[name] = topic_id
        self._names[topic_id] = name
        self._partition_counts[name] = len(topic.partitions)
        for partition in topic.partitions:
            leader = LeaderIdAndEpoch(leader_id=partition.leader_id, leader_epoch=partition.leader_epoch)
            self._apply_leader(TopicIdPartition(topic_id, partition.partition_index), leader)

    def apply_hint(
        self, partition: TopicIdPartition, leader: LeaderIdAndEpoch, endpoints: Iterable[NodeEndpoint]
    ) -> bool:
        """Store the leader that a broker named in an error (KIP-951), and return whether the leader changed."""
        for node in endpoints:
            self.nodes[node.node_id] = Node(node.node_id, node.host, node.port, node.rack)
        known = self._leaders.get(partition)
        # As Metadata.updatePartitionLeadership in Java: a hint with the epoch that is known says nothing new, and one
        # without the leader's address is of no use.
        is_newer = known is None or leader.leader_epoch > known.leader_epoch
        return is_newer and leader.leader_id in self.nodes and self._apply_leader(partition, leader)

    def _apply_leader(self, partition: TopicIdPartition, leader: LeaderIdAndEpoch) -> bool:
        known = self._leaders.get(partition)
        # The response of a broker that lags behind: its leader has been replaced already (Metadata.updateLatestMetadata
        # in Java).
        if known is not None and leader.leader_epoch < known.leader_epoch:
            return False
        self._leaders[partition] = leader
        changed = known is None or known.leader_id != leader.leader_id
        self.version += changed
        return changed


def topic_refusals(
    code: ErrorCode, topics: Sequence[str], *, principal: str | None = None, purpose: AclOperation | None = None
) -> Iterable[KafkaGroupsError]:
    """Return one error for all topics that a broker refuses to describe.

    Args:
        code: The error.
        topics: The topics.
        principal: Who may not describe them; None if the client does not know.
        purpose: What the client does with the topics.
    """
    if code is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        return (refused(ApiKey.METADATA, code, topics, principal, purpose),)
    return (error_for(code, f"{code.name}: {', '.join(topics)}"),)


class MetadataManager:
    """Keeps the metadata of the subscribed topics fresh.

    Args:
        metadata: The metadata to keep fresh.
        errors: Receives events, and errors of topics that only the application can fix.
        max_age_ms: Age at which the metadata is fetched again (`metadata.max.age.ms`).
        timeout_ms: How long to wait for a response (`request.timeout.ms`).
        backoff: Delays attempts after failures.
        allow_auto_create: Whether the broker may create missing topics (`allow.auto.create.topics`). They are asked for
            without creating them first, so that the log can tell of a topic that only a misspelt name creates.

    Attributes:
        refusals: Returns the errors for topics that may not be described or whose names are not allowed.
    """

    def __init__(
        self,
        metadata: Metadata,
        errors: BackgroundErrors,
        *,
        max_age_ms: int,
        timeout_ms: int,
        backoff: BackoffTimer,
        allow_auto_create: bool,
    ) -> None:
        self.metadata = metadata
        self.refusals: TopicRefusals = topic_refusals
        self._errors = errors
        self._events = errors.events
        self._missing_since_ms: int | None = None
        self._missing: frozenset[str] = frozenset()
        self._max_age_ms = max_age_ms
        self._timeout_ms = timeout_ms
        self._backoff = backoff
        self._allow_auto_create = allow_auto_create
        self._topics: frozenset[str] = frozenset()
        self._next_update_ms: int | None = None
        self._in_flight = False
        self._wanted_again = False

    @property
    def topics(self) -> frozenset[str]:
        """The topics whose metadata is kept fresh."""
        return self._topics

    def set_topics(self, topics: Iterable[str]) -> None:
        """Replace the topics, and fetch their metadata now."""
        self._topics = frozenset(topics)
        self.request_update()

    def request_update(self) -> None:
        """Fetch the metadata as soon as the back-off allows, even if a request is already in flight."""
        self._next_update_ms = None
        # The response in flight may be older than the reason for this call.
        self._wanted_again = self._in_flight

    def poll(self, now_ms: int) -> PollResult:
        """Return a Metadata request if one is due and none is in flight."""
        if self._in_flight or not self._topics:
            return PollResult()
        wait_ms = self._backoff.remaining_ms(now_ms)
        if self._next_update_ms is not None:
            wait_ms = max(wait_ms, self._next_update_ms - now_ms)
        if wait_ms > 0:
            return PollResult(wait_ms=wait_ms)
        self._in_flight = True
        self._wanted_again = False
        request = OutgoingRequest(ApiKey.METADATA, self._build, node_id=None, timeout_ms=self._timeout_ms)
        return PollResult((request,))

    def _build(self, version: int) -> MetadataRequest:
        topics = tuple(MetadataRequestTopic(name=name) for name in sorted(self._topics))
        # First asked for without creating them: see the class.
        creates = self._allow_auto_create and bool(self._missing)
        return MetadataRequest(topics=topics, allow_auto_topic_creation=creates or version < 4)

    def on_response(self, _request: OutgoingRequest, answer: ClientResponse, now_ms: int) -> None:
        """Store the response. Missing topics are requested again after the back-off."""
        self._in_flight = False
        response: MetadataResponse = answer.message
        if self.metadata.must_rebootstrap(response):
            self._retry(now_ms)
            return
        try:
            self.metadata.check_cluster(response)
        except ConfigurationError as error:
            self._errors.report_fatal(error)
            self._retry(now_ms)
            return
        self.metadata.apply(response)
        self._next_update_ms = None if self._wanted_again else now_ms + self._max_age_ms
        self._note_missing(response.topics, now_ms)
        if self._has_retriable_error(response.topics):
            self._backoff.failed(now_ms)
            self._next_update_ms = None
        else:
            self._backoff.succeeded()
        # Last, because success would forget it.
        self._backoff.wait(response.throttle_time_ms, now_ms)

    @property
    def missing(self) -> frozenset[str]:
        """The wanted topics that do not exist, as of the last response."""
        return self._missing

    def _note_missing(self, topics: Iterable[MetadataResponseTopic], now_ms: int) -> None:
        """Warn about topics that do not exist, but not about those that may be being created."""
        missing = sorted(t.name or "" for t in topics if t.error_code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        new, self._missing = set(missing) - self._missing, frozenset(missing)
        if new and self._allow_auto_create:
            text = (
                "Topics do not exist, but the brokers create them if their settings allow it: "
                f"{listed(sorted(new))}. {_CREATES}"
            )
            self._events.warn(Area.GROUP, f"creates {sorted(new)}", text)
        if not missing:
            self._missing_since_ms = None
            return
        self._missing_since_ms = now_ms if self._missing_since_ms is None else self._missing_since_ms
        # A topic that was just created may be unknown to the broker that was asked.
        if now_ms - self._missing_since_ms >= _CREATION_MS:
            self._events.warn(Area.GROUP, f"missing {missing}", f"Topics do not exist: {listed(missing)}. {_REMEDY}")

    def _has_retriable_error(self, topics: Iterable[MetadataResponseTopic]) -> bool:
        by_code: dict[ErrorCode, list[str]] = {}
        for topic in topics:
            by_code.setdefault(topic.error_code, []).append(topic.name or str(topic.topic_id))
        self._report(by_code)
        # A partition without a leader gets one soon, so the metadata is fetched again after the back-off and not only
        # when it is old.
        missing_leader = any(p.error_code is not ErrorCode.NONE for topic in topics for p in topic.partitions)
        return missing_leader or any(code not in _REPORTED and code is not ErrorCode.NONE for code in by_code)

    def _report(self, by_code: Mapping[ErrorCode, list[str]]) -> None:
        for code in _REPORTED & by_code.keys():
            for error in self.refusals(code, sorted(by_code[code])):
                self._errors.report(error)

    def on_failure(self, _request: OutgoingRequest, _error: Exception, now_ms: int) -> None:
        """Retry after the back-off, with any broker that can be reached."""
        self._in_flight = False
        self._retry(now_ms)

    def _retry(self, now_ms: int) -> None:
        self._next_update_ms = None
        self._backoff.failed(now_ms)
