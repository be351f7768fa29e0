"""Creates the internal topics of streams groups (KIP-1071)."""

from collections.abc import Callable, Iterable
from functools import partial

from attrs import frozen

from kafka_groups.broker.coordinators.groups.streams.effects import CreateInternalTopics
from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.config.cluster.broker import BrokerSettings
from kafka_groups.config.cluster.topic import topic_config
from kafka_groups.errors import KafkaGroupsError, TopicAlreadyExistsError
from kafka_groups.net.clock import Clock
from kafka_groups.protocol.messages.streams_group_parts import StreamsTopicInfo

__all__ = ["InternalTopicCreation"]

_HEARTBEATS_BETWEEN_TRIES = 2


@frozen
class _Failure:
    """A failed creation of a topic: the reason, and the time of the next try."""

    reason: str
    until_ms: int


class InternalTopicCreation:
    """Creates topics for the streams groups that one broker coordinates.

    Members send heartbeats while their topics are missing. One creation is on its way at a time, and what has failed is
    tried again after two intervals between heartbeats.

    Args:
        metadata: The metadata of the cluster.
        settings: The settings of the broker.
        clock: Its clock.
        soon: Calls a function soon, unless the broker has stopped by then.
    """

    def __init__(
        self,
        metadata: ClusterMetadata,
        settings: BrokerSettings,
        clock: Clock,
        soon: Callable[[Callable[[], None]], None],
    ) -> None:
        self._metadata = metadata
        self._settings = settings
        self._clock = clock
        self._soon = soon
        self._failures: dict[str, _Failure] = {}
        self._begun: set[str] = set()

    def __repr__(self) -> str:
        return f"<InternalTopicCreation: {len(self._begun)} begun, {len(self._failures)} failed>"

    def perform(self, effect: CreateInternalTopics) -> None:
        """Create the topics that are neither being created nor have just failed."""
        self._forget_old_failures()
        backoff_ms = _HEARTBEATS_BETWEEN_TRIES * effect.heartbeat_interval_ms
        for info in effect.topics:
            # Each heartbeat asks for the topics again while they are missing. Kafka remembers what is on its way and
            # what has failed (AutoTopicCreationManager.createStreamsInternalTopics and
            # getStreamsInternalTopicCreationErrors).
            if info.name not in self._begun and info.name not in self._failures:
                self._begun.add(info.name)
                self._soon(partial(self._create, info, backoff_ms))

    def failures_of(self, names: Iterable[str]) -> dict[str, str]:
        """Return the topics that could not be created, with the reasons."""
        self._forget_old_failures()
        return {name: self._failures[name].reason for name in names if name in self._failures}

    def _create(self, info: StreamsTopicInfo, backoff_ms: int) -> None:
        self._begun.discard(info.name)
        configs = {each.key: each.value for each in info.topic_configs}
        # A topology may leave the replication factor to the brokers.
        replicas = info.replication_factor if info.replication_factor > 0 else self._default_replicas()
        try:
            topic_config(self._settings, configs)
            self._metadata.create_topic(info.name, info.partitions, replicas, configs)
        except TopicAlreadyExistsError:
            pass  # by another group, or by hand
        except KafkaGroupsError as error:
            # The members learn the reason with their next heartbeats, as it may be one that only a person can change.
            self._failures[info.name] = _Failure(str(error), self._clock.now_ms() + backoff_ms)

    def _default_replicas(self) -> int:
        return self._settings.default_replication_factor

    def _forget_old_failures(self) -> None:
        now_ms = self._clock.now_ms()
        self._failures = {name: each for name, each in self._failures.items() if each.until_ms > now_ms}
