"""The numbers of partitions of topics: the newest ones, and a question to the brokers for a topic that is new."""

from collections.abc import Callable, Iterable, Mapping

from kafka_groups.client.assembly import Environment
from kafka_groups.client.calls.blocking_questions import BlockingQuestions
from kafka_groups.config.clients.connection import ClientConfig
from kafka_groups.errors import TopicAuthorizationFailedError
from kafka_groups.records.asking import counting_partitions, describing

__all__ = ["AskPartitionCounts", "BlockingPartitionCounts", "KnownPartitionCounts"]

AskPartitionCounts = Callable[[], Mapping[str, int]]
"""Returns the numbers of partitions of all topics. It may block."""

_TIMEOUT_MS = 5_000
_NAME = "kafka-groups-partitions"


class BlockingPartitionCounts:
    """Asks the brokers over connections of its own, in the middle of a record, where nothing can be awaited.

    Args:
        config: Names the brokers.
        environment: Network, clock and randomness.
    """

    def __init__(self, config: ClientConfig, environment: Environment) -> None:
        self._questions = BlockingQuestions(config, environment, _NAME)

    def __repr__(self) -> str:
        return f"<BlockingPartitionCounts: {self._questions!r}>"

    def __call__(self) -> Mapping[str, int]:
        """Return the numbers of partitions of all topics. Blocks for some seconds at most.

        Raises:
            KafkaGroupsError: No broker answered in time, or it refused.
        """
        return self._questions.ask(counting_partitions(), _TIMEOUT_MS).checked()[""]

    def is_denied(self, topic: str) -> bool:
        """Return whether a topic that was not named may not be described. Blocks for some seconds at most."""
        error = self._questions.ask(describing(topic), _TIMEOUT_MS).errors.get(topic)
        return isinstance(error, TopicAuthorizationFailedError)

    def close(self) -> None:
        """Drop the connections, if there are any."""
        self._questions.close()


class KnownPartitionCounts:
    """The numbers of partitions of topics, as far as they are known.

    A topic that was there and is missing keeps its number: somebody may be making it again, or the broker lags behind.
    Its records wait in the producer, which refuses them if the topic stays away. `lose` it then.

    Args:
        ask: Asks for those of all topics. It may block.
    """

    def __init__(self, ask: AskPartitionCounts) -> None:
        self._ask = ask
        self._known: Mapping[str, int] = {}

    def __repr__(self) -> str:
        return f"<KnownPartitionCounts of {len(self._known)} topics>"

    def of(self, topic: str) -> int | None:
        """Return a topic's number of partitions, or None if there is no such topic. May block if it is not known.

        Raises:
            KafkaGroupsError: No broker answered in time, or it refused.
        """
        count = self._known.get(topic)
        if count is None:  # a topic that is missing may have been created since
            self.update(self._ask())
            count = self._known.get(topic)
        return count

    def update(self, counts: Mapping[str, int]) -> None:
        """Take these numbers, which are those of all topics that there are now."""
        self._known = {**self._known, **counts}

    def lose(self, topics: Iterable[str]) -> None:
        """Forget topics that have been missing for so long that their records were refused."""
        lost = frozenset(topics)
        self._known = {topic: count for topic, count in self._known.items() if topic not in lost}
