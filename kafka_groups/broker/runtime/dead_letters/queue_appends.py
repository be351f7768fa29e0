"""Appends batches of dead letters to their queue, here or on another broker."""

from collections.abc import Callable
from functools import partial

from attrs import frozen

from kafka_groups.broker.configs.effective import append_rules
from kafka_groups.broker.metadata.placement import leader_of
from kafka_groups.broker.metadata.topics import NO_LEADER, TopicMetadata
from kafka_groups.broker.runtime.parts import BrokerParts
from kafka_groups.broker.runtime.peers import Peers
from kafka_groups.errors import (
    BrokerError,
    CoordinatorNotAvailableError,
    NetworkExceptionError,
    NotLeaderOrFollowerError,
    UnknownServerError,
    error_for,
)
from kafka_groups.protocol.messages.produce import (
    ALL_ACKS,
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

__all__ = ["QueueAppends"]

_TIMEOUT_MS = 30_000

Appended = Callable[[BrokerError | None], None]
"""Takes None, or why a batch was not appended."""


@frozen
class QueueAppends:
    """Appends of one broker to queues.

    Attributes:
        broker: The broker.
        peers: The connections to other brokers.
    """

    broker: BrokerParts
    peers: Peers

    def append(self, topic: TopicMetadata, partition: int, batch: bytes, done: Appended) -> None:
        """Append a batch to a partition of a queue, on its leader.

        Args:
            topic: The queue.
            partition: The partition.
            batch: The batch.
            done: Takes the outcome. NOT_LEADER_OR_FOLLOWER and NETWORK_EXCEPTION may pass; after the latter the batch
                may have been appended.
        """
        led = leader_of(topic, partition)
        if led is None or led.leader_id == NO_LEADER:
            done(NotLeaderOrFollowerError(f"{topic.name}-{partition} has no leader."))
        elif led.leader_id == self.broker.node_id:
            done(self._appended_here(topic, partition, led.leader_epoch, batch))
        else:
            self.peers.ask(led.leader_id, _request(topic, partition, batch), partial(_answered, done))

    def _appended_here(
        self, topic: TopicMetadata, partition: int, leader_epoch: int, batch: bytes
    ) -> BrokerError | None:
        cluster = self.broker.cluster
        rules = append_rules(self.broker.configs, topic.name)
        try:
            cluster.logs.get(topic.topic_id, partition).append(
                batch, leader_epoch, cluster.clock.wall_ms(), rules=rules
            )
        except BrokerError as error:
            return error
        self.broker.grown(topic.topic_id_partition(partition))
        return None


def _request(topic: TopicMetadata, partition: int, batch: bytes) -> ProduceRequest:
    data = PartitionProduceData(index=partition, records=batch)
    named = TopicProduceData(topic_id=topic.topic_id, partition_data=(data,))
    return ProduceRequest(acks=ALL_ACKS, timeout_ms=_TIMEOUT_MS, topic_data=(named,))


def _answered(done: Appended, response: ProduceResponse | BrokerError) -> None:
    if isinstance(response, CoordinatorNotAvailableError):
        # Another broker that can't be reached is what NETWORK_EXCEPTION and REQUEST_TIMED_OUT are to Kafka's sender.
        done(NetworkExceptionError(str(response)))
    elif isinstance(response, BrokerError):
        done(response)
    else:
        done(_outcome(response))


def _outcome(response: ProduceResponse) -> BrokerError | None:
    results = [each for topic in response.responses for each in topic.partition_responses]
    if len(results) != 1:
        return UnknownServerError("The leader of the queue did not answer for its partition.")
    code = results[0].error_code
    return error_for(code, results[0].error_message) if code else None
