"""Topics that gain partitions while tasks read them: when to ask the brokers, and what they said."""

from collections.abc import Mapping

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.net.clock import Clock
from kafka_groups.records.interface import DataPlane
from kafka_groups.streams.runtime.task_timeout import TaskTimeout
from kafka_groups.streams.runtime.worker_membership import WorkerMembership

__all__ = ["TopicWatch"]

_ENDLESS_MS = 1 << 62
"""Tasks keep processing the partitions that they have, so no outage is too long for that question."""

_SHORTEST_MS, _LONGEST_MS = 1_000, 10_000
"""The time between two questions, which doubles until the member's epoch changes."""


class TopicWatch:
    """Asks for the numbers of partitions: at once in a new epoch of the member, then less and less often.

    A source topic that grows changes the group's epoch (KIP-1071), even if the member keeps the same tasks. But the
    broker that is asked may learn of the new partitions later than the coordinator, and the group does not know of
    global topics. That is why the watch keeps asking.
    """

    def __init__(self, plane: DataPlane, member: WorkerMembership, clock: Clock) -> None:
        self._plane, self._member, self._clock = plane, member, clock
        self._asking = TaskTimeout(clock, _ENDLESS_MS)
        self._epoch = -1
        self._asked_ms = self._pause_ms = 0

    def __repr__(self) -> str:
        return f"<TopicWatch: every {self._pause_ms} ms>"

    async def counts(self) -> Mapping[str, int] | None:
        """Return the numbers of partitions of all topics, or None if it is not time to ask.

        Raises:
            KafkaGroupsError: The brokers refused.
        """
        if not self._is_due() or not self._asking.may_try:
            return None
        try:
            counts = await self._plane.partition_counts()
        except KafkaGroupsError as error:
            self._asking.note("The numbers of partitions are unknown", error)
            return None
        self._asking.end()
        self._asked_ms = self._clock.now_ms()
        # From 0, so that the first question comes at once, and the next ones after 1, 2, 4, 8 and 10 seconds.
        self._pause_ms = min(2 * self._pause_ms, _LONGEST_MS) or _SHORTEST_MS
        return counts

    def _is_due(self) -> bool:
        epoch = self._member.epoch
        if epoch != self._epoch:
            self._epoch, self._pause_ms = epoch, 0
        return self._clock.now_ms() - self._asked_ms >= self._pause_ms
