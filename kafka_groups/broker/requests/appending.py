"""Appends batches to partitions, for producers and for programs with an embedded cluster."""

from kafka_groups.broker.configs.effective import append_rules
from kafka_groups.broker.log.batches import AppendResult
from kafka_groups.broker.log.producers import Verification
from kafka_groups.broker.metadata.topics import PartitionMetadata, TopicMetadata
from kafka_groups.broker.requests.leadership import led_partition
from kafka_groups.broker.requests.services import BrokerServices
from kafka_groups.errors import InvalidTopicError

__all__ = ["append_batch", "writable_partition"]


def append_batch(
    services: BrokerServices,
    topic: TopicMetadata,
    index: int,
    records: bytes | None,
    wall_ms: int,
    verification: Verification | None = None,
) -> AppendResult:
    """Append one batch to a partition that this broker leads, and wake the fetches that wait for it.

    Args:
        services: The parts of the broker.
        topic: The topic.
        index: The partition.
        records: The batch.
        wall_ms: The time.
        verification: What the transaction coordinator was asked, if the batch may begin a transaction.

    Raises:
        BrokerError: The batch is refused, or another broker leads the partition.
    """
    partition = writable_partition(services, topic, index)
    log = services.cluster.logs.get(topic.topic_id, index)
    rules = append_rules(services.configs, topic.name)
    appended = log.append(records, partition.leader_epoch, wall_ms, rules=rules, verification=verification)
    services.purgatory.notify(topic.topic_id_partition(index))
    return appended


def writable_partition(services: BrokerServices, topic: TopicMetadata, index: int) -> PartitionMetadata:
    """Return a partition that clients may write to on this broker.

    Raises:
        InvalidTopicError: The topic is internal.
        BrokerError: The partition does not exist, or another broker leads it.
    """
    # Only coordinators write to these topics: their logs keep records as objects until somebody reads them. Kafka lets
    # the client with the id `__admin_client` write to them (KafkaApis.handleProduceRequest).
    if topic.is_internal:
        raise InvalidTopicError(f"Clients can't write to the internal topic '{topic.name}'.")
    return led_partition(services, topic, index)
