"""The records of groups in the logs of `__consumer_offsets`."""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from kafka_groups.broker.coordinators.groups.records import GroupRecord
from kafka_groups.broker.coordinators.groups.stored_records import StoredGroupRecords
from kafka_groups.broker.coordinators.internal_topic import InternalTopic, leader_epoch_of
from kafka_groups.broker.log.internal_log import InternalLog
from kafka_groups.broker.log.store import LogStore
from kafka_groups.broker.metadata.placement import partition_of_key
from kafka_groups.broker.metadata.topics import TopicMetadata

__all__ = ["GroupLogs"]

_SPARE_RECORDS = 1_000
"""So many records more than two for each that is needed may stand in a log before it is compacted."""


class GroupLogs:
    """Appends the records of groups, and reads them for a coordinator that takes over.

    Args:
        topic: The topic.
        logs: The logs of the cluster.
        wall_ms: Returns the time since the epoch.
    """

    def __init__(self, topic: InternalTopic, logs: LogStore, wall_ms: Callable[[], int]) -> None:
        self._topic = topic
        self._logs = logs
        self._wall_ms = wall_ms
        self._codec = StoredGroupRecords()
        self._needed: dict[int, int] = {}

    def __repr__(self) -> str:
        return f"<GroupLogs in {self._topic.name}>"

    def __iter__(self) -> Iterator[GroupRecord]:
        topic = self._topic.known()
        if topic is not None:
            for index in range(topic.num_partitions):
                yield from (record for _offset, record in self._log(topic, index).records())

    def append(self, records: Sequence[GroupRecord]) -> None:
        """Append the records of one operation, those of each group as one batch.

        Raises:
            CoordinatorNotAvailableError: No broker is running, and the topic does not exist.
        """
        for group_id, of_group in groupby(records, lambda record: record.group_id):
            topic = self._topic.ensured()
            index = partition_of_key(group_id, topic.num_partitions)
            log = self._log(topic, index)
            log.append_records(tuple(of_group), leader_epoch_of(topic, index), self._wall_ms())
            if log.record_count > _SPARE_RECORDS + 2 * self._needed.get(index, 0):
                log.compact()
                self._needed[index] = log.record_count

    def _log(self, topic: TopicMetadata, index: int) -> InternalLog[GroupRecord]:
        return self._logs.internal(topic.topic_id, index, self._codec)
