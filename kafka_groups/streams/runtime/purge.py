"""Deletes repartitioned records that are processed and committed: their topics keep records indefinitely otherwise."""

import logging
from collections.abc import Iterable

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.records.interface import DataPlane
from kafka_groups.streams.runtime.assigned import OwnedTask
from kafka_groups.types import TopicPartition

__all__ = ["Purging"]

_log = logging.getLogger(__name__)


class Purging:
    """Deletes records of repartition topics from time to time.

    A deletion that fails is only logged, as the next one does its work, too.
    """

    def __init__(self, plane: DataPlane, topics: Iterable[str], interval_ms: int) -> None:
        self._plane = plane
        self._topics = frozenset(topics)
        self._interval_ms = interval_ms
        self._purged_ms: int | None = None
        self._before: dict[TopicPartition, int] = {}

    def __repr__(self) -> str:
        return f"<Purging of {len(self._topics)} topics>"

    async def purge_if_due(self, tasks: Iterable[OwnedTask], now_ms: int) -> None:
        """Delete the records before the committed offsets, if the interval has passed."""
        if not self._topics:
            return
        # The first interval counts from the first commit, as the worker has processed nothing before.
        if self._purged_ms is None:
            self._purged_ms = now_ms
        if now_ms - self._purged_ms < self._interval_ms:
            return
        self._purged_ms = now_ms
        # TaskManager.maybePurgeCommittedRecords in Kafka Streams. Only what is committed may go: another worker may
        # begin there.
        before = {place: offset for task in tasks if task.is_running for place, offset in self._done(task)}
        for place in self._plane.changed(before):  # the offset is one of the log before
            del before[place]
        if before:
            await self._delete(before)

    def _done(self, task: OwnedTask) -> list[tuple[TopicPartition, int]]:
        return [
            (place, offset)
            for place, offset in task.committed.items()
            if place.topic in self._topics and offset > self._before.get(place, 0)
        ]

    async def _delete(self, before: dict[TopicPartition, int]) -> None:
        try:
            await self._plane.delete_records(before)
        except KafkaGroupsError as error:
            _log.warning("Processed records of repartition topics were not deleted: %s", error)
        else:
            self._before.update(before)
