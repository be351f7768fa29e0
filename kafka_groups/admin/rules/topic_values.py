"""The values that the admin client returns about topics and the cluster."""

from uuid import UUID

from attrs import frozen

from kafka_groups.acls import AclOperation

__all__ = ["BrokerDescription", "ClusterDescription", "PartitionDescription", "TopicDescription", "TopicListing"]


@frozen
class TopicListing:
    """A topic in a list.

    Attributes:
        name: The topic.
        topic_id: Its id; None before Kafka 2.8.
        partitions: The number of its partitions.
        replication_factor: The number of replicas of its first partition.
        is_internal: True for Kafka's own topics, such as `__consumer_offsets`.
    """

    name: str
    topic_id: UUID | None
    partitions: int
    replication_factor: int
    is_internal: bool


@frozen
class PartitionDescription:
    """A partition of a topic.

    Attributes:
        partition: Its number.
        leader: The node id of the broker that leads it; None if no broker does.
        leader_epoch: The epoch of its leader; None if it is unknown.
        replicas: The node ids of the brokers that have it. The preferred leader is first.
        in_sync_replicas: Those that have all committed records.
        offline_replicas: Those that are not available.
    """

    partition: int
    leader: int | None
    leader_epoch: int | None
    replicas: tuple[int, ...]
    in_sync_replicas: tuple[int, ...]
    offline_replicas: tuple[int, ...]


@frozen
class TopicDescription:
    """A topic.

    Attributes:
        name: The topic.
        topic_id: Its id; None before Kafka 2.8.
        is_internal: True for Kafka's own topics, such as `__consumer_offsets`.
        partitions: Its partitions, by number.
        authorized_operations: The operations that you may perform on it; None if you did not ask for them.
    """

    name: str
    topic_id: UUID | None
    is_internal: bool
    partitions: tuple[PartitionDescription, ...]
    authorized_operations: frozenset[AclOperation] | None = None

    @property
    def replication_factor(self) -> int:
        """The number of replicas of the first partition."""
        return len(self.partitions[0].replicas) if self.partitions else 0


@frozen
class BrokerDescription:
    """A broker of a cluster.

    Attributes:
        node_id: Its node id.
        host: The host that clients connect to.
        port: The port that clients connect to.
        rack: Its rack, or None.
        is_fenced: True if it is registered and not running. Such brokers are described only if you ask for them.
    """

    node_id: int
    host: str
    port: int
    rack: str | None
    is_fenced: bool = False


@frozen
class ClusterDescription:
    """A cluster.

    Attributes:
        cluster_id: Its id.
        controller_id: The node id of a broker that takes requests for the controller; None if there is none.
        brokers: Its brokers, by node id.
        authorized_operations: The operations that you may perform on the cluster; None if you did not ask for them.
    """

    cluster_id: str
    controller_id: int | None
    brokers: tuple[BrokerDescription, ...]
    authorized_operations: frozenset[AclOperation] | None = None
