"""One broker's services without server and network, to call handlers with requests that went over the wire format."""

import random
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from kafka_groups.broker.api.handlers import HANDLERS
from kafka_groups.broker.log.partition_log import PartitionLog
from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.metadata.delta import MetadataDelta
from kafka_groups.broker.metadata.image import MetadataImage
from kafka_groups.broker.metadata.topics import BrokerEndpoint
from kafka_groups.broker.profile import DEFAULT_PROFILE, Profile
from kafka_groups.broker.requests.context import ConnectionInfo, RequestContext
from kafka_groups.broker.requests.services import BrokerServices
from kafka_groups.broker.runtime.parts import BrokerParts
from kafka_groups.broker.runtime.scheduling.purgatory import Purgatory
from kafka_groups.net.clock import Clock
from kafka_groups.protocol import codec
from kafka_groups.protocol.apis import api_of
from kafka_groups.testing.clock import ManualClock
from tests.support.broker.coordinators import parts_of

__all__ = ["HandlerBroker", "all_versions"]

CLIENT = ConnectionInfo(1, "/127.0.0.1")
_UNUSED: Any = None  # coordinators and share-partitions, which the handlers under test do not touch


class HandlerBroker:
    """Calls the handlers of broker 0 in a cluster of some brokers.

    Args:
        brokers: How many brokers the cluster has.
        settings: Broker settings by Kafka's names.
        clock: The broker's clock; one that stands still when it is not given.
        profile: The release that it acts as.
        features: Finalised feature levels, if they are to be others than the release's.
    """

    def __init__(
        self,
        brokers: int = 1,
        settings: Mapping[str, object] | None = None,
        clock: Clock | None = None,
        profile: Profile = DEFAULT_PROFILE,
        features: Mapping[str, int] | None = None,
    ) -> None:
        rng = random.Random(1)
        self.metadata = ClusterMetadata(rng, features=features or profile.finalized_features())
        for node_id in range(brokers):
            self.metadata.register_broker(BrokerEndpoint(node_id, f"host{node_id}", 9092 + node_id))
        self.clock = clock or ManualClock()
        self.metadata.on_change(self._forget_logs)
        cluster = parts_of(self.metadata, profile.settings(settings), self.clock, profile)
        self.logs = cluster.logs
        broker = BrokerParts(0, cluster, lambda *_: None, lambda _: None, lambda: None)
        self.services = BrokerServices(broker, _UNUSED, _UNUSED, Purgatory(self.clock), rng)

    async def ask(self, request: Any, version: int | None = None) -> Any:
        """The handler's response, after request and response went through the wire format of the version."""
        api = api_of(type(request))
        version = api.versions.high if version is None else version
        frame = codec.encode_request(request, version, 7, "test")
        header = codec.decode_request_header(frame)
        context = RequestContext(header, CLIENT, self.services)
        response = await HANDLERS[api.key](codec.decode_request(frame, header), context)
        if response is None:
            return None
        return codec.decode_response(codec.encode_response(response, version, 7), api.key, version)

    def _forget_logs(self, _image: MetadataImage, delta: MetadataDelta) -> None:
        for topic in delta.deleted:
            self.logs.delete_topic(topic.topic_id)

    def topic_id(self, name: str) -> UUID:
        """Id of a topic that exists."""
        topic = self.metadata.topic(name)
        assert topic is not None
        return topic.topic_id

    def log(self, topic: str, partition: int = 0) -> PartitionLog:
        """The log of a partition that exists."""
        return self.services.cluster.logs.get(self.topic_id(topic), partition)


def all_versions(request_class: type[Any]) -> range:
    """The versions of an API that the broker serves."""
    versions = api_of(request_class).versions
    return range(versions.low, versions.high + 1)
