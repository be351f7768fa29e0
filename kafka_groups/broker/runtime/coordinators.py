"""The coordinators of one broker, and how they belong together."""

import random
from collections.abc import Callable, Mapping
from functools import partial
from itertools import count

from attrs import frozen

from kafka_groups.broker.configs.effective import BrokerConfigs, append_rules
from kafka_groups.broker.coordinators.groups.classic.joining import ClassicSources
from kafka_groups.broker.coordinators.groups.settings import GroupConfigSources
from kafka_groups.broker.coordinators.groups.shard import GroupShard
from kafka_groups.broker.coordinators.groups.share.effects import ShareStateEffect
from kafka_groups.broker.coordinators.groups.stored_records import StoredGroupRecords
from kafka_groups.broker.coordinators.groups.streams.effects import CreateInternalTopics
from kafka_groups.broker.coordinators.internal_topic import InternalTopic
from kafka_groups.broker.coordinators.result import Effect
from kafka_groups.broker.coordinators.share_state.shard import ShareStateShard
from kafka_groups.broker.log.store import LogStore
from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.metadata.delta import MetadataDelta
from kafka_groups.broker.metadata.image import MetadataImage
from kafka_groups.broker.metadata.placement import GROUP_TOPIC, SHARE_STATE_TOPIC
from kafka_groups.broker.profile import Profile
from kafka_groups.broker.runtime.coordinator_runtime import CoordinatorRuntime, RuntimeParts
from kafka_groups.broker.runtime.directory import CoordinatorDirectory
from kafka_groups.broker.runtime.effects import ShareStateEffects
from kafka_groups.broker.runtime.group_coordinator import GroupCoordinator
from kafka_groups.broker.runtime.internal_topics import InternalTopicCreation
from kafka_groups.broker.runtime.led_shard import ShardAddress
from kafka_groups.broker.runtime.peers import PeerNetwork, Peers
from kafka_groups.broker.runtime.persister import Later, SharePersister
from kafka_groups.broker.runtime.share_coordinator import ShareCoordinator
from kafka_groups.broker.share_partitions.history import DeliveryHistory
from kafka_groups.config.cluster.broker import BrokerSettings, ConsumerGroupConfig, ShareGroupConfig, StreamsGroupConfig
from kafka_groups.errors import BrokerError
from kafka_groups.net.clock import Clock
from kafka_groups.protocol.coordinator_records.share_group_state import SHARE_GROUP_STATE
from kafka_groups.types import TopicIdPartition, random_uuid

__all__ = ["Coordinators", "CoordinatorsParts"]


@frozen
class CoordinatorsParts:
    """What the coordinators of all brokers work with."""

    metadata: ClusterMetadata
    logs: LogStore
    settings: BrokerSettings
    profile: Profile
    share_configs: Callable[[str], ShareGroupConfig]
    consumer_configs: Callable[[str], ConsumerGroupConfig]
    streams_configs: Callable[[str], StreamsGroupConfig]
    internal_topics: Mapping[str, InternalTopic]
    directory: CoordinatorDirectory
    history: DeliveryHistory
    clock: Clock
    peer_network: PeerNetwork
    new_rng: Callable[[int], random.Random]


class Coordinators:
    """The group coordinator and the share coordinator of one broker, and its persister.

    Args:
        node_id: The broker.
        parts: What they work with.
        later: Calls a function after so many milliseconds, unless the broker has stopped by then.
        grown: Takes a partition of an internal topic that has more records for readers.
        waits: Called when a request waits, and there may be an earlier deadline.

    Attributes:
        groups: The group coordinator.
        share: The share coordinator.
        persister: The way to the share coordinators of all brokers.
        peers: The connections to other brokers.
    """

    def __init__(
        self,
        node_id: int,
        parts: CoordinatorsParts,
        later: Later,
        grown: Callable[[TopicIdPartition], object],
        waits: Callable[[], object],
    ) -> None:
        self._node_id = node_id
        self._directory = parts.directory
        self._logs = parts.logs
        self._later = later
        self._grown = grown
        self._waits = waits
        self._configs = BrokerConfigs(node_id, parts.settings, parts.metadata, parts.profile)
        clock = parts.clock
        share_runtime: CoordinatorRuntime[ShareStateShard] = CoordinatorRuntime(node_id, self._share_parts(parts))
        self.share = ShareCoordinator(share_runtime, clock)
        self.peers = Peers(node_id, parts.peer_network)
        self.persister = SharePersister(
            node_id, parts.internal_topics[SHARE_STATE_TOPIC], self.share, self.peers, parts.history, later
        )
        self._effects = ShareStateEffects(self.persister, self._settle)
        self._topics = InternalTopicCreation(parts.metadata, parts.settings, clock, self._soon)
        group_runtime: CoordinatorRuntime[GroupShard] = CoordinatorRuntime(node_id, self._group_parts(parts))
        self.groups = GroupCoordinator(group_runtime, parts.metadata, clock, self._topics)

    def __repr__(self) -> str:
        return f"<Coordinators of broker {self._node_id}: {self.groups!r}, {self.share!r}>"

    def start(self, image: MetadataImage) -> None:
        """Begin to lead what the broker leads by this image."""
        self._directory.add(self._node_id, self)
        self._follow(image)

    def stop(self, *, answers: bool = True) -> None:
        """Lead nothing any more. Requests that wait are answered with NOT_COORDINATOR, unless the broker is dead."""
        self._directory.remove(self._node_id)
        self.peers.stop()
        self.groups.runtime.stop(answers=answers)
        self.share.runtime.stop(answers=answers)

    def metadata_changed(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """Follow a change of leaders and topics."""
        self._follow(image)
        if delta.deleted:
            self.share.runtime.topics_deleted()
            self.groups.runtime.topics_deleted()

    def next_deadline_ms(self) -> int | None:
        """Return the time at which `expire` has something to do, or None."""
        return self.groups.runtime.next_deadline_ms()

    def expire(self, now_ms: int) -> None:
        """Expire what is due."""
        self.groups.runtime.expire(now_ms)

    def _follow(self, image: MetadataImage) -> None:
        self.share.runtime.follow(image)
        self.groups.runtime.follow(image)

    def _settle(self, address: ShardAddress, effect: ShareStateEffect, error: BrokerError | None) -> None:
        self.groups.runtime.run(
            address.index, lambda shard: shard.share.share_state_settled(effect, error), _ignore, epoch=address.epoch
        )

    def _perform(self, effect: Effect, address: ShardAddress) -> None:
        if isinstance(effect, CreateInternalTopics):
            self._topics.perform(effect)
        else:
            self._effects.perform(effect, address)

    def _soon(self, call: Callable[[], None]) -> None:
        self._later(self._logs.storage.next_slice_ms(), call)

    def _max_batch_bytes(self, topic: str) -> Callable[[], int]:
        """Return a function that is asked with each append: it looks only if the configs have changed."""
        known_configs, most = None, 0

        def max_batch_bytes() -> int:
            nonlocal known_configs, most
            configs = self._configs.dynamic
            if configs is not known_configs:
                known_configs, most = configs, append_rules(self._configs, topic).max_message_bytes
            return most

        return max_batch_bytes

    def _share_parts(self, parts: CoordinatorsParts) -> RuntimeParts[ShareStateShard]:
        updates_per_snapshot = parts.settings.share_updates_per_snapshot
        return RuntimeParts(
            topic=SHARE_STATE_TOPIC,
            open_log=lambda topic_id, index: parts.logs.internal(topic_id, index, SHARE_GROUP_STATE),
            new_shard=lambda: ShareStateShard(parts.metadata, updates_per_snapshot),
            perform=_no_effects,
            clock=parts.clock,
            max_batch_bytes=self._max_batch_bytes(SHARE_STATE_TOPIC),
            grown=self._grown,
            soon=self._soon,
        )

    def _group_parts(self, parts: CoordinatorsParts) -> RuntimeParts[GroupShard]:
        codec = StoredGroupRecords()
        rng = parts.new_rng(self._node_id)
        sources = ClassicSources(count(1).__next__, partial(random_uuid, rng), parts.clock.wall_ms)
        configs = GroupConfigSources(parts.share_configs, parts.consumer_configs, parts.streams_configs)
        return RuntimeParts(
            topic=GROUP_TOPIC,
            open_log=lambda topic_id, index: parts.logs.internal(topic_id, index, codec),
            new_shard=lambda: GroupShard(parts.metadata, configs, parts.settings, sources, parts.profile),
            perform=self._perform,
            clock=parts.clock,
            max_batch_bytes=self._max_batch_bytes(GROUP_TOPIC),
            grown=self._grown,
            soon=self._soon,
            waits=self._waits,
        )


def _no_effects(effect: Effect, _address: ShardAddress) -> None:
    raise TypeError(f"The share coordinator has no effect {effect!r}.")


def _ignore(_outcome: object) -> None:
    """What the operation has to say, its effects say."""
