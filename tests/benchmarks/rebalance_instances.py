"""Instances of streams applications in processes of their own, or all in one that has warmed up."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from attrs import frozen

from tests.benchmarks.rebalances import Instance
from tests.support.kafka.java_program import LineProgram, java_command, pairs
from tests.support.kafka.kafka_classpath import streams_classpath

__all__ = ["JAVA", "OURS", "ProcessInstances", "RebalanceProgram", "java_program", "our_program"]

JAVA: Final = "Kafka Streams"
OURS: Final = "AsyncStreamsGroupMember"


@frozen
class RebalanceProgram:
    """A program that runs instances and notes when their tasks run.

    Attributes:
        name: What it is called in tables.
        command: The program and its arguments.
    """

    name: str
    command: Sequence[str]


def java_program(directory: Path) -> RebalanceProgram:
    """Instances of Kafka Streams, each with one thread and a process id of its own."""
    return RebalanceProgram(JAVA, java_command("RebalanceRunner", directory, streams_classpath()))


def our_program() -> RebalanceProgram:
    """Members of ours."""
    return RebalanceProgram(OURS, [sys.executable, "-m", "tests.benchmarks.rebalance_program"])


class ProcessInstances:
    """Instances of one program. Use it as an asynchronous context manager, which ends all processes.

    Args:
        program: The program.
        bootstrap_servers: The cluster.
        topic: What the applications read.
        directory: For the state directories of Kafka Streams.
        warm: Whether all instances share one process.
    """

    def __init__(
        self, program: RebalanceProgram, bootstrap_servers: str, topic: str, directory: Path, *, warm: bool
    ) -> None:
        self.name = program.name
        self._command = program.command
        self._servers, self._topic, self._directory, self._warm = bootstrap_servers, topic, directory, warm
        self._processes: dict[str, _Process] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.gather(*(each.end() for each in self._processes.values()))

    async def open(self, group_id: str, name: str) -> None:
        """Start an instance in its process, which is ready."""
        properties = pairs({
            "bootstrap_servers": self._servers,
            "application_id": group_id,
            "group_protocol": "streams",
            "state_dir": str(self._directory / name),
        })  # fmt: skip
        self._processes[self._place(name)].say("open", name, self._topic, *properties)

    async def prepare(self, name: str) -> None:
        """Start a process for an instance, unless there is one."""
        if self._place(name) not in self._processes:
            self._processes[self._place(name)] = _Process(self._command)
        await self._processes[self._place(name)].instances()

    async def leave(self, name: str) -> None:
        """Have an instance leave. Does not wait until it has left."""
        self._processes[self._place(name)].say("close", name)

    async def instance(self, name: str) -> Instance:
        """What an instance does."""
        return (await self._processes[self._place(name)].instances())[name]

    async def end(self, name: str) -> None:
        """End the process of an instance that has left, if it has one of its own."""
        if not self._warm:
            await self._processes.pop(name).end()

    def _place(self, name: str) -> str:
        return "all" if self._warm else name


class _Process:
    def __init__(self, command: Sequence[str]) -> None:
        self._program = LineProgram(command)
        self._asking = asyncio.Lock()

    def say(self, *words: str) -> None:
        self._program.say(*words)

    async def instances(self) -> dict[str, Instance]:
        async with self._asking:
            return dict(_instance(word) for word in await asyncio.to_thread(self._program.ask, "tasks"))

    async def end(self) -> None:
        await asyncio.to_thread(self._program.__exit__, None, None, None)


def _instance(word: str) -> tuple[str, Instance]:
    name, began, left, changed, error, tasks = word.split("=")
    assert not error, f"{name} failed: {error}"
    since = dict(task.split("@") for task in tasks.split(",") if task)
    running = {task: _seconds(nanoseconds) for task, nanoseconds in since.items()}
    return name, Instance(_seconds(began), _seconds(left) if int(left) else None, _seconds(changed), running)


def _seconds(nanoseconds: str) -> float:
    return int(nanoseconds) / 1e9
