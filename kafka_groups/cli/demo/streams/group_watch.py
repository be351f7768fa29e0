"""Watches the application's group: its members, and the tasks of each process."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

from kafka_groups.admin import AsyncKafkaAdmin, StreamsGroupDescription
from kafka_groups.errors import BrokerError, NetworkError, OperationTimeoutError
from kafka_groups.net.clock import SystemClock
from kafka_groups.types import TaskId

__all__ = ["StreamsWatch", "client_id_of", "is_shared", "tasks_by_process"]

_INTERVAL_MS: Final = 500
_PREFIX: Final = "kafka-groups-demo-"


def client_id_of(process: int) -> str:
    """Return the `client.id` of a process of the application."""
    return f"{_PREFIX}{process}"


class StreamsWatch:
    """The last description of a group that the brokers gave.

    Args:
        admin: A client of the brokers.
        name: The group.
    """

    def __init__(self, admin: AsyncKafkaAdmin, name: str) -> None:
        self._admin = admin
        self._name = name
        self._clock = SystemClock()
        self._looked_ms: int | None = None
        self.description: StreamsGroupDescription | None = None

    def __repr__(self) -> str:
        return f"<StreamsWatch on {self._name}>"

    @property
    def members(self) -> int:
        """The number of members."""
        return 0 if self.description is None else len(self.description.members)

    @property
    def tasks(self) -> Mapping[int, tuple[TaskId, ...]]:
        """The active tasks by process."""
        return {} if self.description is None else tasks_by_process(self.description)

    async def look(self) -> None:
        """Ask the brokers again, unless that was a moment ago. A question without an answer changes nothing."""
        now_ms = self._clock.now_ms()
        if self._looked_ms is not None and now_ms < self._looked_ms + _INTERVAL_MS:
            return
        self._looked_ms = now_ms
        try:
            self.description = (await self._admin.describe_streams_groups([self._name])).values.get(self._name)
        except (NetworkError, OperationTimeoutError, BrokerError):
            return  # the run waits for the group, and has a timeout

    def is_shared_by(self, members: int) -> bool:
        """Return whether the group is stable, with so many members that all have tasks."""
        return is_shared(self.description, members)


def is_shared(group: StreamsGroupDescription | None, members: int) -> bool:
    """Return whether a group is stable, with so many members that all have tasks."""
    if group is None or group.state != "Stable":
        return False
    tasks = [any(each.assignment.active.values()) for each in group.members]
    return all(tasks) and len(tasks) == members


def tasks_by_process(group: StreamsGroupDescription) -> dict[int, tuple[TaskId, ...]]:
    """Return the active tasks of each process that has members."""
    found: defaultdict[int, set[TaskId]] = defaultdict(set)
    for member in group.members:
        process = int(member.client_id.removeprefix(_PREFIX).partition("-")[0])
        active = member.assignment.active
        found[process] |= {TaskId(part, number) for part, numbers in active.items() for number in numbers}
    return {process: tuple(sorted(found[process])) for process in sorted(found)}
