"""Ordinary Java consumers, which a small Java program runs on threads of one JVM."""

from pathlib import Path

from attrs import frozen

from tests.support.kafka.java_program import JavaProgram, pairs
from tests.support.kafka.kafka_classpath import kafka_classpath

__all__ = ["JavaConsumer", "JavaConsumers"]


@frozen
class JavaConsumer:
    """What a consumer has come to.

    Attributes:
        partitions: The partitions that it owns.
        assignments: How often it was told of an assignment.
        records: How many records it has read.
        error: Simple name of the exception that ended it, or nothing.
    """

    partitions: frozenset[int]
    assignments: int
    records: int
    error: str


class JavaConsumers(JavaProgram):
    """A JVM with consumers. Use it as a context manager.

    Args:
        directory: Where the compiled program goes.
        jars: The directory with Kafka's jars.
    """

    def __init__(self, directory: Path, jars: Path) -> None:
        super().__init__("ConsumerRunner", directory, kafka_classpath(jars))

    def open(self, name: str, topic: str, **properties: str) -> None:
        """Start a consumer. Underscores in the names of properties stand for dots."""
        self.say("open", name, topic, *pairs(properties))

    def enforce_rebalance(self, name: str) -> None:
        """Let a consumer ask for a rebalance."""
        self.say("enforce", name)

    def close(self, *names: str) -> None:
        """Let consumers commit and close. Static ones do not leave the group."""
        for name in names:
            self.say("close", name)
        self.state()  # comes when they are closed

    def state(self) -> dict[str, JavaConsumer]:
        """All consumers that have not been closed, by name."""
        return dict(_consumer(word) for word in self.ask("state"))


def _consumer(word: str) -> tuple[str, JavaConsumer]:
    name, partitions, assignments, records, error = word.split(":")
    numbers = partitions.split(",") if partitions else ()
    return name, JavaConsumer(frozenset(map(int, numbers)), int(assignments), int(records), error)
