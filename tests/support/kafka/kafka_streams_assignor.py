"""Kafka's own task assignor of streams groups, run on our inputs by a small Java program."""

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from kafka_groups.assignment import (
    MemberAssignment,
    MemberAssignments,
    OffsetsBySubtopology,
    StreamsGroupSpec,
    TasksBySubtopology,
    TopologyDescriber,
)
from tests.support.kafka.java_program import JavaProgram
from tests.support.kafka.kafka_classpath import kafka_classpath

_NOTHING = "-"


class KafkaStreamsAssignor:
    """Kafka's assignor, with the method that ours have. Use it as a context manager.

    Args:
        directory: Where the compiled program goes.
        jars: The directory with Kafka's jars.
    """

    name = "sticky"

    def __init__(self, directory: Path, jars: Path) -> None:
        self._program = JavaProgram("StreamsAssignorDriver", directory, kafka_classpath(jars))

    def __enter__(self) -> Self:
        self._program.__enter__()
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._program.__exit__(error_type, error, traceback)

    def assign(self, group: StreamsGroupSpec, topology: TopologyDescriber) -> MemberAssignments:
        """What Kafka's assignor assigns."""
        for id_, described in topology.subtopologies.items():
            is_stateful = str(described.is_stateful).lower()
            self._program.say("subtopology", id_, str(described.max_num_input_partitions), is_stateful)
        for member_id, spec in group.members.items():
            tasks = (_tasks(spec.active_tasks), _tasks(spec.standby_tasks), _offsets(spec.task_offsets))
            self._program.say("member", member_id, spec.process_id, *tasks)
        words = self._program.ask("assign", str(group.configs.num_standby_replicas))
        rows = zip(words[::3], words[1::3], words[2::3], strict=True)
        return MemberAssignments(
            {id_: MemberAssignment(_read(active), _read(standby)) for id_, active, standby in rows}
        )


def _tasks(tasks: TasksBySubtopology) -> str:
    return _list({id_: ".".join(map(str, partitions)) for id_, partitions in tasks.items() if partitions})


def _offsets(offsets: OffsetsBySubtopology) -> str:
    return _list(
        {
            id_: ".".join(f"{partition}={offset}" for partition, offset in by_partition.items())
            for id_, by_partition in offsets.items()
            if by_partition
        }
    )


def _list(values: Mapping[str, str]) -> str:
    return ",".join(f"{id_}:{text}" for id_, text in values.items()) or _NOTHING


def _read(word: str) -> dict[str, frozenset[int]]:
    if word == _NOTHING:
        return {}
    pairs = (each.split(":") for each in word.split(","))
    return {id_: frozenset(map(int, partitions.split("."))) for id_, partitions in pairs}
