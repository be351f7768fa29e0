"""Instances of streams applications that note when their tasks run: Kafka Streams in a JVM, and our member."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from kafka_groups.streams import (
    AsyncStreamsGroupMember,
    GroupMembershipOperation,
    TasksAssigned,
    TasksLost,
    TasksRevoked,
    TopologyBuilder,
)
from tests.benchmarks.rebalances import Instance
from tests.support.java_program import JavaProgram, pairs

__all__ = ["JavaInstances", "PythonInstances"]


class JavaInstances:
    """Instances of Kafka Streams, all in one JVM, each with one thread and a process id of its own.

    Args:
        bootstrap_servers: The cluster.
        topic: What the applications read.
        directory: For the compiled program and the state directories.
        classpath: Kafka Streams, and what it needs.
    """

    name = "Kafka Streams"

    def __init__(self, bootstrap_servers: str, topic: str, directory: Path, classpath: str) -> None:
        self._servers, self._topic, self._directory = bootstrap_servers, topic, directory
        self._program = JavaProgram("RebalanceRunner", directory, classpath)
        self._asking = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self._program.__exit__, kind, error, trace)

    async def open(self, group_id: str, name: str) -> None:
        """Start an instance."""
        properties = pairs({
            "bootstrap_servers": self._servers,
            "application_id": group_id,
            "group_protocol": "streams",
            "state_dir": str(self._directory / name),
        })  # fmt: skip
        self._program.say("open", name, self._topic, *properties)

    async def leave(self, name: str) -> None:
        """Close an instance."""
        self._program.say("close", name)

    async def instances(self) -> Mapping[str, Instance]:
        """All instances, by name."""
        async with self._asking:
            words = await asyncio.to_thread(self._program.ask, "tasks")
        return dict(_instance(word) for word in words)


def _instance(word: str) -> tuple[str, Instance]:
    name, began, left, error, tasks = word.split("=")
    assert not error, f"{name} failed: {error}"
    since = dict(task.split("@") for task in tasks.split(",") if task)
    running = {task: _seconds(nanoseconds) for task, nanoseconds in since.items()}
    return name, Instance(_seconds(began), _seconds(left) if int(left) else None, running)


def _seconds(nanoseconds: str) -> float:
    return int(nanoseconds) / 1e9


class PythonInstances:
    """Members of ours, all on this event loop. A task runs as soon as the program is told about it.

    Args:
        bootstrap_servers: The cluster.
        topic: What the applications read.
    """

    name = "AsyncStreamsGroupMember"

    def __init__(self, bootstrap_servers: str, topic: str) -> None:
        self._servers, self._topic = bootstrap_servers, topic
        self._programs: dict[str, _Program] = {}
        self._tasks = asyncio.TaskGroup()

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for program in self._programs.values():
            program.leave()
        await self._tasks.__aexit__(kind, error, trace)

    async def open(self, group_id: str, name: str) -> None:
        """Start an instance."""
        program = self._programs[name] = _Program(self._servers, self._topic, group_id)
        program.begin(self._tasks)

    async def leave(self, name: str) -> None:
        """Have an instance leave."""
        self._programs[name].leave()

    async def instances(self) -> Mapping[str, Instance]:
        """All instances, by name."""
        return {name: program.instance() for name, program in self._programs.items()}


class _Program:
    """Polls one member until it shall leave."""

    def __init__(self, bootstrap_servers: str, topic: str, group_id: str) -> None:
        topology = TopologyBuilder().add_subtopology("0", sources=[topic]).build()
        self._member = AsyncStreamsGroupMember(
            bootstrap_servers=bootstrap_servers, application_id=group_id, topology=topology
        )
        self._clock = asyncio.get_running_loop().time
        self._began_s = self._clock()
        self._left_s: float | None = None
        self._running: dict[str, float] = {}
        self._polling: asyncio.Task[None] | None = None

    def begin(self, tasks: asyncio.TaskGroup) -> None:
        self._began_s = self._clock()
        self._polling = tasks.create_task(self._run())

    def leave(self) -> None:
        if self._left_s is None and self._polling is not None:
            self._left_s = self._clock()
            self._polling.cancel()

    def instance(self) -> Instance:
        return Instance(self._began_s, self._left_s, dict(self._running))

    async def _run(self) -> None:
        try:
            await self._member.join()
            while True:
                for event in await self._member.poll():
                    self._handle(event)
        finally:
            self._running.clear()
            await self._member.close(operation=GroupMembershipOperation.LEAVE_GROUP)

    def _handle(self, event: object) -> None:
        if isinstance(event, TasksAssigned):
            self._running |= dict.fromkeys(map(str, event.tasks.active), self._clock())
        elif isinstance(event, TasksRevoked | TasksLost):
            for task in event.tasks.active:
                del self._running[str(task)]
            self._member.confirm(event)
