"""A program with one member of a streams group: it starts and closes tasks as it is told."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from kafka_groups.client.assembly import Environment
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.streams import (
    AsyncStreamsGroupMember,
    GroupTopology,
    StreamsMembershipEvent,
    TaskId,
    TasksAssigned,
    TasksLost,
    TasksRevoked,
)
from tests.support.conditions import until
from tests.support.targets import Target

__all__ = ["StreamsProgram"]


class StreamsProgram:
    """Polls its member in a task of its own, and confirms what it gave up.

    Args:
        target: Where the group is.
        topology: The topology.
        **keywords: Keywords of the member.

    Attributes:
        member: The member.
        heard: All events.
        running: The active tasks that it processes.
        error: What ended it, if anything did.
    """

    def __init__(self, target: Target, topology: GroupTopology, **keywords: Any) -> None:
        keywords = {"bootstrap_servers": target.bootstrap_servers, "request_timeout_ms": 10_000, **keywords}
        self.member = AsyncStreamsGroupMember(
            topology=topology, environment=Environment(network=target.network), **keywords
        )
        self.heard: list[StreamsMembershipEvent] = []
        self.running: set[TaskId] = set()
        self.error: KafkaGroupsError | None = None
        self.before_confirming: Callable[[TasksRevoked | TasksLost], None] = lambda _event: None
        self._loop: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "StreamsProgram":
        await self.member.join()
        self._loop = asyncio.create_task(self._poll())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()
        await self.member.close()

    async def stop(self) -> None:
        """Poll no more."""
        if self._loop is not None:
            self._loop.cancel()
            await asyncio.wait([self._loop])
            self._loop = None

    async def _poll(self) -> None:
        try:
            while True:
                for event in await self.member.poll():
                    self._handle(event)
        except KafkaGroupsError as error:
            self.error = error

    def _handle(self, event: StreamsMembershipEvent) -> None:
        self.heard.append(event)
        if isinstance(event, TasksAssigned):
            self.running |= event.tasks.active
        elif isinstance(event, TasksRevoked | TasksLost):
            self.before_confirming(event)
            self.running -= event.tasks.active
            self.member.confirm(event)

    async def runs(self, count: int, timeout_s: float = 15.0) -> set[TaskId]:
        """Wait until it processes so many tasks, and return them."""
        await until(self._state, lambda it: len(it) == count, timeout_s)
        return set(self.running)

    async def fails(self, kind: type[KafkaGroupsError]) -> KafkaGroupsError:
        """Wait until an error ends it, and return that."""
        error = await until(self._error, lambda it: it is not None)
        assert isinstance(error, kind), error
        return error

    async def _state(self) -> set[TaskId]:
        assert self.error is None, self.error
        return set(self.running)

    async def _error(self) -> KafkaGroupsError | None:
        return self.error


def tasks_of(programs: Iterable[StreamsProgram]) -> list[TaskId]:
    """The tasks that programs process, sorted; one that has two owners is there twice."""
    return sorted(task for program in programs for task in program.running)
