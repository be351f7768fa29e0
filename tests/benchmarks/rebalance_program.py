"""A process with instances of streams applications that note when their tasks run, on `AsyncStreamsGroupMember`.

It obeys the lines of standard input that `RebalanceRunner.java` obeys, and answers in the same way.
"""

import asyncio
import sys

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.streams import (
    AsyncStreamsGroupMember,
    GroupMembershipOperation,
    GroupTopologyBuilder,
    StreamsMembershipEvent,
    TasksAssigned,
    TasksLost,
    TasksRevoked,
)


class _Instance:
    """Polls one member until it shall leave. A task runs as soon as the program is told about it."""

    def __init__(self, topic: str, properties: dict[str, str]) -> None:
        self._member = AsyncStreamsGroupMember(
            {name: properties[name] for name in ("bootstrap.servers", "application.id")},
            topology=GroupTopologyBuilder().add_subtopology("0", sources=[topic]).build(),
        )
        self._running: dict[str, int] = {}
        self._error = ""
        self._left = self._changed = 0
        self._began = _now()
        self._polling = asyncio.create_task(self._run())

    async def leave(self) -> None:
        """Leave the group, if it has not left."""
        if not self._left:
            self._left = _now()
            self._polling.cancel()
        await asyncio.wait([self._polling])

    def __str__(self) -> str:
        tasks = ",".join(f"{task}@{since}" for task, since in self._running.items())
        return f"{self._began}={self._left}={self._changed}={self._error}={tasks}"

    async def _run(self) -> None:
        try:
            await self._member.join()
            while True:
                for event in await self._member.poll():
                    self._handle(event)
        except KafkaGroupsError as error:
            self._error = repr(error).translate({ord(character): "_" for character in " =\n"})
        finally:
            self._running.clear()
            await self._member.close(operation=GroupMembershipOperation.LEAVE_GROUP)

    def _handle(self, event: StreamsMembershipEvent) -> None:
        self._changed = _now()
        if isinstance(event, TasksAssigned):
            self._running |= dict.fromkeys(map(str, event.tasks.active), self._changed)
        elif isinstance(event, TasksRevoked | TasksLost):
            for task in event.tasks.active:
                del self._running[str(task)]
            self._member.confirm(event)


def _now() -> int:
    """Nanoseconds of the machine's monotonic clock."""
    return round(asyncio.get_running_loop().time() * 1e9)


async def _obey() -> None:
    instances: dict[str, _Instance] = {}
    leaving = []
    while line := await asyncio.to_thread(sys.stdin.readline):
        match line.split():
            case ["open", name, topic, *pairs]:
                instances[name] = _Instance(topic, dict(pair.split("=", 1) for pair in pairs))
            case ["close", name]:
                leaving.append(asyncio.create_task(instances[name].leave()))
            case _:
                print(*(f"{name}={each}" for name, each in instances.items()), flush=True)
    await asyncio.gather(*(each.leave() for each in instances.values()))


if __name__ == "__main__":
    sys.modules["hypothesis"] = None  # type: ignore[assignment]  # kio would import it, but only developers have it
    asyncio.run(_obey())
