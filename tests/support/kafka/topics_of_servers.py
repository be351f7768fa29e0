"""Topics of any broker, through confluent-kafka: what a test writes, and what readers of committed records see."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support.conditions import wait_until
from tests.support.kafka.real_kafka import unique

__all__ = ["TopicsOfServers"]

_WAIT_S = 30
_NO_CONFIGS: Mapping[str, str] = MappingProxyType({})


class TopicsOfServers:
    """Creates, writes and reads topics with one partition.

    Attributes:
        servers: The brokers.
    """

    def __init__(self, servers: str) -> None:
        self.servers = servers
        self._admin = AdminClient({"bootstrap.servers": servers})

    def create(self, topic: str, configs: Mapping[str, str] = _NO_CONFIGS) -> None:
        """Create a topic, as soon as one of that name that was deleted is gone."""
        wait_until(lambda: self._is_created(topic, configs), _WAIT_S)

    def _is_created(self, topic: str, configs: Mapping[str, str]) -> bool:
        try:
            self._admin.create_topics([NewTopic(topic, 1, 1, config=dict(configs))])[topic].result()
        except KafkaException:
            return False
        return True

    def delete(self, topic: str) -> None:
        """Delete a topic."""
        self._admin.delete_topics([topic])[topic].result()

    def write(self, topic: str, values: Iterable[str]) -> None:
        """Write records with one key."""
        producer = Producer({"bootstrap.servers": self.servers})
        for value in values:
            producer.produce(topic, key="k", value=value)
        assert producer.flush(_WAIT_S) == 0

    def committed(self, group_id: str, topic: str) -> int:
        """The offset that a group has; below 0 if it has none. Waits for the group's coordinator."""
        found: list[TopicPartition] = []
        consumer = Consumer({"bootstrap.servers": self.servers, "group.id": group_id})

        def is_answered() -> bool:
            try:
                found[:] = consumer.committed([TopicPartition(topic, 0)], timeout=10)
            except KafkaException:  # the coordinator has just been chosen
                return False
            return True

        try:
            wait_until(is_answered, _WAIT_S)
        finally:
            consumer.close()
        return int(found[0].offset)

    def written(self, topic: str) -> list[str]:
        """The values of a topic, without those of transactions that are open or were aborted."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.servers,
                "group.id": unique("reader"),
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
            }
        )
        consumer.assign([TopicPartition(topic, 0, 0)])
        values: list[str] = []
        while (message := consumer.poll(_WAIT_S)) is not None and message.error() is None:
            values.append((message.value() or b"").decode())
        consumer.close()
        return values
