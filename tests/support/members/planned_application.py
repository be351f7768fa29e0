"""An application in a classic group whose instances come and go as plans predict."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import UUID

from kafka_groups.admin import ClassicStreamsGroupDescription, KafkaAdmin, PlannedProcess, StreamsPlan
from kafka_groups.assignment import AssignedTaskType
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.librdkafka.topics import create_topics
from kafka_groups.streams import KafkaStreams, Topology
from kafka_groups.types import TaskId
from tests.support.conditions import wait_until
from tests.support.kafka.java_program import LineProgram, java_command
from tests.support.kafka.kafka_classpath import streams_classpath_or_skip
from tests.support.kafka.mixed_topologies import STORE, mixed_topology
from tests.support.kafka.real_kafka import unique

__all__ = ["PATIENCE_S", "PlannedApplication", "Tasks", "tasks_after"]

PATIENCE_S = 60.0
PARTITIONS = 4
Tasks = Counter[tuple[TaskId, AssignedTaskType, str]]
"""Tasks with their roles, and the processes that have them."""

# Ids of processes that a plan makes up come after all others, so those of real processes here do, too.
_SERDE = "org.apache.kafka.common.serialization.Serdes$StringSerde"
_FIRST_ID = 2**127 - 2**80
_KEYS = {
    "group.protocol": "classic", "session.timeout.ms": 3_000, "heartbeat.interval.ms": 200, "commit.interval.ms": 100,
}  # fmt: skip


class _PythonInstance:
    """An instance in this process."""

    def __init__(self, topology: Topology, keys: Mapping[str, object]) -> None:
        self._streams = KafkaStreams(topology, {**keys, "default.dsl.store": "lmdb"})
        self._streams.start()

    def check(self) -> None:
        """Check that it has no error."""
        assert self._streams.error is None

    def stop(self) -> None:
        """Stop it. It leaves the group."""
        self._streams.close()


class _JavaInstance:
    """An instance in Java (Kafka Streams 4.3.1)."""

    def __init__(self, command: list[str], topics: Iterable[str], keys: Mapping[str, object]) -> None:
        self._program = LineProgram(command)
        properties = {
            **keys,
            "default.key.serde": _SERDE,
            "default.value.serde": _SERDE,
            "auto.offset.reset": "earliest",
        }
        self._program.say("open", "words", *topics, *(f"{key}={value}" for key, value in properties.items()))

    def check(self) -> None:
        """Check that it has no error."""
        _, _, error = self._program.ask_line("state").strip().partition(":")
        assert not error

    def stop(self) -> None:
        """Stop it. It stays in the group until its session ends."""
        self._program.__exit__(None, None, None)


class PlannedApplication:
    """An application that counts words: tasks without state, and tasks with state behind a repartition topic.

    Args:
        bootstrap_servers: The brokers.
        directory: For programs, the ids of processes, and state.
    """

    def __init__(self, bootstrap_servers: str, directory: Path) -> None:
        self._servers, self._directory = bootstrap_servers, directory
        self.application_id, self._source, self._sink = unique("app"), unique("lines"), unique("words")
        self._instances: dict[str, _PythonInstance | _JavaInstance] = {}
        self._started = 0
        self._java_command: list[str] = []
        create_topics({"bootstrap.servers": bootstrap_servers}, {self._source: PARTITIONS, self._sink: PARTITIONS})

    @property
    def topology(self) -> Topology:
        """Its topology."""
        return mixed_topology("words", self._source, self._sink)

    @property
    def changelog(self) -> str:
        """The changelog of its store."""
        return f"{self.application_id}-{STORE}-changelog"

    @property
    def processes(self) -> list[str]:
        """The ids of its processes, the oldest first."""
        return list(self._instances)

    def start(self, **keys: Any) -> str:
        """Start an instance in Python, and return the id of its process, which comes after those of all others."""
        process_id, state_dir = self._new_process()
        folder = state_dir / f"app-{quote(self.application_id, safe='')}"
        folder.mkdir(parents=True)
        (folder / "process-id").write_text(f"{process_id}\n")
        self._instances[process_id] = _PythonInstance(self.topology, self._keys(state_dir, keys))
        return process_id

    def start_java(self, **keys: Any) -> str:
        """Start an instance in Java, and return the id of its process, which comes after those of all others."""
        self._java_command = self._java_command or java_command(
            "MixedInstance", self._directory, streams_classpath_or_skip()
        )
        process_id, state_dir = self._new_process()
        folder = state_dir / self.application_id
        folder.mkdir(parents=True)
        (folder / "kafka-streams-process-metadata").write_text(json.dumps({"processId": process_id}))
        topics = (self._source, self._sink)
        self._instances[process_id] = _JavaInstance(self._java_command, topics, self._keys(state_dir, keys))
        return process_id

    def _new_process(self) -> tuple[str, Path]:
        self._started += 1
        process_id = str(UUID(int=_FIRST_ID + self._started))
        return process_id, self._directory / process_id

    def _keys(self, state_dir: Path, keys: Mapping[str, object]) -> dict[str, object]:
        named = {key.replace("_", "."): value for key, value in keys.items()}
        own = {"application.id": self.application_id, "bootstrap.servers": self._servers, "state.dir": state_dir}
        return {**_KEYS, **own, **named}

    def stop(self, process_id: str) -> None:
        """Stop an instance."""
        self._instances.pop(process_id).stop()

    def end(self) -> None:
        """Stop all instances."""
        for process_id in self.processes:
            self.stop(process_id)

    # ------------------------------------------------------------------------------------------- the group

    def plan(self, assignor: object = None, **change: Any) -> StreamsPlan:
        """Plan a change."""
        with KafkaAdmin(bootstrap_servers=self._servers) as admin:
            return admin.plan_streams_group(self.application_id, assignor, topology=self.topology, **change)

    def plan_of(
        self, leaving: Iterable[str], joining: Iterable[PlannedProcess], configs: Mapping[str, object]
    ) -> StreamsPlan:
        """Plan that processes leave and join."""
        gone = set(leaving)
        members = [each.member_id for each in self.described().members if each.process_id in gone]
        return self.plan(leaving=members, joining=joining, configs=configs)

    def described(self) -> ClassicStreamsGroupDescription:
        """Describe the group, when it is stable with all instances and waits for nothing."""
        found: list[ClassicStreamsGroupDescription] = []
        wait_until(lambda: self._is_at_rest(found), PATIENCE_S, lambda: found)
        return found[-1]

    def _is_at_rest(self, found: list[ClassicStreamsGroupDescription]) -> bool:
        for each in self._instances.values():
            each.check()
        with KafkaAdmin(bootstrap_servers=self._servers) as admin:
            try:
                found.append(admin.describe_classic_streams_groups([self.application_id])[self.application_id])
            except KafkaGroupsError:  # it rebalances
                return False
        members = found[-1].members
        at_rest = all(not each.rejoins_at_once and each.next_rebalance is None for each in members)
        return at_rest and {each.process_id for each in members} == set(self.processes)

    def tasks(self) -> Tasks:
        """Return the tasks that processes have."""
        found: Tasks = Counter()
        for each in self.described().members:
            found.update((task, AssignedTaskType.ACTIVE, each.process_id) for task in each.active_tasks)
            found.update((task, AssignedTaskType.STANDBY, each.process_id) for task in each.standby_tasks)
        return found


def tasks_after(before: Tasks, plan: StreamsPlan, names: Mapping[str, str]) -> Tasks:
    """Return the tasks that processes have when the moves of a plan are made.

    Args:
        before: The tasks that they have now.
        plan: The plan.
        names: The ids that the processes have that a plan has made up.
    """
    found = Counter(before)
    for move in plan.moves:
        if move.source is not None:
            found[move.task, move.role, move.source.process_id] -= 1
        if move.target is not None:
            process_id = names.get(move.target.process_id, move.target.process_id)
            found[move.task, move.role, process_id] += 1
            if move.role_before not in (None, move.role):
                found[move.task, _other(move.role), process_id] = 0
    return +found


def _other(role: AssignedTaskType) -> AssignedTaskType:
    return AssignedTaskType.STANDBY if role is AssignedTaskType.ACTIVE else AssignedTaskType.ACTIVE
