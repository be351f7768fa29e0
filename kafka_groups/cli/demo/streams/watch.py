"""Follows the changelog of the application, and so its progress and its result."""

from collections import Counter, defaultdict
from types import TracebackType
from typing import Final, Self

from kafka_groups.cli.demo.publish import client_keys
from kafka_groups.cli.demo.streams.changelog import keyed
from kafka_groups.cli.demo.streams.counts import CHANGELOG_SUFFIX, TaskCounts
from kafka_groups.data_plane.reading import BEGINNING, PartitionReader, log_ends
from kafka_groups.errors import OperationTimeoutError
from kafka_groups.net.clock import SystemClock
from kafka_groups.types import TopicPartition

__all__ = ["ChangelogWatch"]

_MOST_RECORDS: Final = 10_000
_WAIT_SECONDS: Final = 0.2
_PATIENCE_SECONDS: Final = 30.0


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
        self._client = client_keys(bootstrap_servers)
        self._group_id = f"{application}-watch"
        self._partitions = [TopicPartition(self.changelog, each) for each in range(partitions)]
        self._tasks: defaultdict[int, TaskCounts] = defaultdict(TaskCounts)

    def __repr__(self) -> str:
        return f"<ChangelogWatch {self.changelog}: {self.counted}>"

    def __enter__(self) -> Self:
        self._reader = PartitionReader(self._client, self._group_id)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._reader.close()

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
            KafkaGroupsError: A partition cannot be read.
        """
        if not self._reader.assigned:
            if not self._reader.has_topic(self.changelog):
                return  # the coordinator creates it when it has the topology
            self._reader.assign(dict.fromkeys(self._partitions, BEGINNING))
        for record in self._reader.read(_MOST_RECORDS, _WAIT_SECONDS):
            self._tasks[record.partition].restore(*keyed(record))

    def read_to_end(self) -> None:
        """Read everything that the changelog has now. Blocks while a transaction is open.

        Raises:
            OperationTimeoutError: The end could not be read in time.
            KafkaGroupsError: A partition cannot be read.
        """
        clock = SystemClock()
        deadline_ms = clock.now_ms() + _PATIENCE_SECONDS * 1000
        ends = log_ends(self._client, self._group_id, self._partitions, _PATIENCE_SECONDS)
        while any(self._reader.position(each) < end for each, end in ends.items()):
            if clock.now_ms() > deadline_ms:
                raise OperationTimeoutError(f"{self.changelog} was not read to its end in {_PATIENCE_SECONDS:.0f} s.")
            self.read()
