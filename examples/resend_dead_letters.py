"""Send dead letters to the topics that they came from.

    python examples/resend_dead_letters.py orders.dead --bootstrap-servers localhost:9092

Run it when you have repaired the cause. It reads the topic with a share group, which remembers the dead letters that
were sent: a second run sends only those that have come since, and two runs at a time share the work.

This is a loop and not a worker, because it ends when nothing is left.
"""

import argparse

from confluent_kafka import KafkaError, Message, Producer

from kafka_groups import KafkaAdmin, KafkaShareConsumer, ShareRecord, ShareRecords

OF_DEAD_LETTERS = "__dlq."
TOPIC = "__dlq.errors.topic"


class Resender:
    """Sends dead letters again, and waits until brokers have them.

    Args:
        bootstrap_servers: The brokers.
    """

    def __init__(self, bootstrap_servers: str) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap_servers, "enable.idempotence": True})
        self._failed: list[KafkaError] = []

    def send(self, letters: ShareRecords[bytes, bytes]) -> None:
        """Send letters without the headers that say why they are dead. Blocks until they are durable."""
        for letter in letters:
            own: list[tuple[str, str | bytes | None]] = [
                (name, value) for name, value in letter.headers if not name.startswith(OF_DEAD_LETTERS)
            ]
            self._producer.produce(topic_of(letter), letter.value, letter.key, headers=own, on_delivery=self._sent)
        self._producer.flush()
        if self._failed:
            raise SystemExit(f"{len(self._failed)} dead letters were not sent: {self._failed[0]}")

    def _sent(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._failed.append(error)


def topic_of(letter: ShareRecord[bytes, bytes]) -> str:
    """Return the topic that a dead letter came from."""
    topic = dict(letter.headers).get(TOPIC)
    if topic is None:
        place = f"{letter.topic}-{letter.partition} at offset {letter.offset}"
        raise SystemExit(f"{place} is not a dead letter: it has no header {TOPIC}")
    return topic.decode()


def resend(topic: str, bootstrap_servers: str, wait_s: float) -> int:
    """Send the dead letters of a topic that were not sent before. Returns their number."""
    group = f"{topic}-resend"
    with KafkaAdmin(bootstrap_servers=bootstrap_servers) as admin:
        admin.alter_group_configs({group: {"share.auto.offset.reset": "earliest"}}).checked()
    resender, count = Resender(bootstrap_servers), 0
    with KafkaShareConsumer(bootstrap_servers=bootstrap_servers, group_id=group) as consumer:
        consumer.subscribe([topic])
        while letters := consumer.poll(timeout=wait_s):
            resender.send(letters)
            consumer.commit_sync()  # accepts the whole poll
            count += len(letters)
    return count


def main() -> None:
    """Parse the arguments, and print how many dead letters were sent."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("topic", help="the topic with dead letters")
    parser.add_argument("--bootstrap-servers", default="localhost:9092")
    parser.add_argument("--wait", type=float, default=5.0, help="end when there was nothing for so many seconds")
    arguments = parser.parse_args()
    print(f"{resend(arguments.topic, arguments.bootstrap_servers, arguments.wait)} dead letters were sent.")


if __name__ == "__main__":
    main()
