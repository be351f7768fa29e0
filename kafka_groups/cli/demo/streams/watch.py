"""Follows the changelog of the application, and so its progress and its result."""

from collections import Counter, defaultdict
from contextlib import ExitStack
from types import TracebackType
from typing import Final, Self

from confluent_kafka import OFFSET_BEGINNING, TopicPartition

from kafka_groups.cli.demo.streams.changelog import keyed, messages, reader
from kafka_groups.cli.demo.streams.counts import CHANGELOG_SUFFIX, TaskCounts

__all__ = ["ChangelogWatch"]

_MOST_MESSAGES: Final = 10_000
_WAIT_SECONDS: Final = 0.2


class ChangelogWatch:
    """The counts of all tasks, as their changelog has them. Use it as a context manager.

    Args:
        bootstrap_servers: Addresses of the brokers.
        application: The application's id.
        partitions: The number of tasks.

    Attributes:
        changelog: The changelog's name.
    """

    def __init__(self, bootstrap_servers: str, application: str, partitions: int) -> None:
        self.changelog = f"{application}-{CHANGELOG_SUFFIX}"
        self._servers = bootstrap_servers
        self._group_id = f"{application}-watch"
        self._partitions = partitions
        self._tasks: defaultdict[int, TaskCounts] = defaultdict(TaskCounts)
        self._stack = ExitStack()
        self._is_there = False

    def __repr__(self) -> str:
        return f"<ChangelogWatch {self.changelog}: {self.counted}>"

    def __enter__(self) -> Self:
        self._consumer = self._stack.enter_context(reader(self._servers, self._group_id))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def counted(self) -> int:
        """The number of flights that the tasks have counted."""
        return sum(task.next_offset for task in self._tasks.values())

    def flights(self) -> Counter[str]:
        """The number of flights by carrier."""
        return sum((task.flights for task in self._tasks.values()), Counter())

    def read(self) -> None:
        """Read what is new. Blocks for a fraction of a second.

        Raises:
            KafkaException: A partition cannot be read.
        """
        if not self._is_there:
            self._is_there = self.changelog in self._consumer.list_topics(timeout=10).topics
            if not self._is_there:
                return  # the coordinator creates it when it has the topology
            beginnings = [TopicPartition(self.changelog, each, OFFSET_BEGINNING) for each in range(self._partitions)]
            self._consumer.assign(beginnings)
        for message in messages(self._consumer, _MOST_MESSAGES, _WAIT_SECONDS):
            self._tasks[message.partition() or 0].restore(*keyed(message))
