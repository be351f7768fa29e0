"""The user data of the assignment that the leader of a Kafka Streams application gives to a member."""

from collections.abc import Iterator
from typing import Final

from attrs import field, frozen

from kafka_groups.errors import MemberDataError, MemberDataProblem
from kafka_groups.errors.texts import counted
from kafka_groups.protocol.consumer_protocol import PartitionsByName
from kafka_groups.protocol.member_data import INT32, INT64, UINT16, MemberDataReader, MemberDataWriter
from kafka_groups.protocol.streams_user_data.host_maps import HostMaps, SharedHostMaps
from kafka_groups.protocol.streams_user_data.task_numbers import LEAST_TASK, read_task, write_task, write_tasks
from kafka_groups.protocol.streams_user_data.versions import (
    FIRST_WITH_ERROR_IN_ASSIGNMENT,
    FIRST_WITH_NEXT_REBALANCE,
    LATEST_VERSION,
    check_writable,
    read_version,
    reader_of,
)
from kafka_groups.types import TaskId, TopicPartition

__all__ = ["AssignmentInfo", "StandbyTasks", "decode_assignment"]

StandbyTasks = tuple[tuple[TaskId, tuple[TopicPartition, ...]], ...]
"""Standby tasks, each with the partitions that it would read if it were active."""

_STRUCTURE: Final = "AssignmentInfo"
_ACTIVE: Final = "activeTasks"
_STANDBY: Final = "standbyTasks"
_LEAST_STANDBY: Final = LEAST_TASK + INT32.size
_LEAST_PARTITION: Final = UINT16.size + INT32.size
_NEVER_MS: Final = 2**63 - 1


@frozen
class AssignmentInfo:
    """The user data of an assignment: `AssignmentInfo` in Kafka Streams.

    Attributes:
        version: The version of the bytes, 3 to 11: the lowest that the leader has received.
        commonly_supported_version: The lowest of the members' latest supported versions.
        active_tasks: The task of each assigned partition: the n-th partition in the order of topic and number belongs
            to the n-th task, so that a task with two partitions is listed twice.
        standby_tasks: The standby tasks with their input partitions, in the order of the bytes.
        host_maps: The partitions of each `application.server`. They show the target, not the present owners. Give all
            assignments of a round the same object: it encodes them once.
        error_code: 0, or an error that all members receive. Version 4+.
        next_rebalance_ms: The time at which the member joins again, in milliseconds since the epoch by the leader's
            clock: 0 for at once, None for never. Version 7+.
    """

    version: int = LATEST_VERSION
    commonly_supported_version: int = LATEST_VERSION
    active_tasks: tuple[TaskId, ...] = ()
    standby_tasks: StandbyTasks = ()
    host_maps: HostMaps = field(factory=HostMaps)
    error_code: int = 0
    next_rebalance_ms: int | None = None

    def encode(self) -> bytes:
        """Return the bytes in the assignment's version. Fields that the version does not have are left out.

        Raises:
            MemberDataError: A value does not fit its field, or a sub-topology is not a number.
        """
        writer = MemberDataWriter(_STRUCTURE)
        check_writable(writer, self.version)
        writer.number(INT32, self.version, "version")
        writer.number(INT32, self.commonly_supported_version, "commonlySupportedVersion")
        self._write_tasks(writer)
        writer.raw(self.host_maps.encode(self.version))
        if self.version >= FIRST_WITH_ERROR_IN_ASSIGNMENT:
            writer.number(INT32, self.error_code, "errCode")
        if self.version >= FIRST_WITH_NEXT_REBALANCE:
            next_ms = _NEVER_MS if self.next_rebalance_ms is None else self.next_rebalance_ms
            writer.number(INT64, next_ms, "nextRebalanceMs")
        return writer.written()

    def inputs(self, assigned: PartitionsByName) -> dict[TaskId, frozenset[TopicPartition]]:
        """Return the input partitions of each active task.

        Args:
            assigned: The partitions of the assignment that has this user data.

        Raises:
            MemberDataError: There is another number of partitions than of tasks.
        """
        # The n-th partition in this order belongs to the n-th task (StreamsPartitionAssignor.processActiveTasks in
        # Java, which also refuses another number of partitions than of tasks).
        partitions = sorted(TopicPartition(topic, number) for topic, numbers in assigned.items() for number in numbers)
        if len(partitions) != len(self.active_tasks):
            raise MemberDataError(
                f"The assignment has {counted(len(partitions), 'partition')}, and names the tasks of"
                f" {len(self.active_tasks)}.",
                problem=MemberDataProblem.BROKEN,
                field=f"{_STRUCTURE}.{_ACTIVE}",
            )
        found: dict[TaskId, set[TopicPartition]] = {}
        for task, partition in zip(self.active_tasks, partitions, strict=True):
            found.setdefault(task, set()).add(partition)
        return {task: frozenset(its) for task, its in found.items()}

    def _write_tasks(self, writer: MemberDataWriter) -> None:
        write_tasks(writer, self.active_tasks, self.version, _ACTIVE)
        writer.number(INT32, len(self.standby_tasks), _STANDBY)
        for task, partitions in self.standby_tasks:
            write_task(writer, task, self.version, _STANDBY)
            writer.number(INT32, len(partitions), _STANDBY)
            for each in partitions:
                writer.java_text(each.topic, _STANDBY)
                writer.number(INT32, each.partition, _STANDBY)


def decode_assignment(data: bytes | None, shared: SharedHostMaps | None = None) -> AssignmentInfo:
    """Read the user data of an assignment. Bytes after its fields are ignored.

    Args:
        data: The bytes.
        shared: Reads the host maps of all assignments of a round once. None: there is only this one.

    Raises:
        MemberDataError: It is missing, of a version above `LATEST_VERSION`, or cannot be read; `problem` tells why.
    """
    reader = reader_of(_STRUCTURE, data)
    version = read_version(reader)
    if version > LATEST_VERSION:
        reason = f"it is {version}, and {LATEST_VERSION} is the latest that is known"
        reader.fail("version", reason, problem=MemberDataProblem.TOO_NEW)
    return _known_assignment(reader, version, shared or SharedHostMaps())


def _known_assignment(reader: MemberDataReader, version: int, shared: SharedHostMaps) -> AssignmentInfo:
    has_next = version >= FIRST_WITH_NEXT_REBALANCE
    return AssignmentInfo(
        version=version,
        commonly_supported_version=reader.number(INT32, "commonlySupportedVersion"),
        active_tasks=tuple(read_task(reader, version, _ACTIVE) for _ in reader.items(LEAST_TASK, _ACTIVE)),
        standby_tasks=tuple(_read_standby(reader, version)),
        host_maps=shared.read(reader, version),
        error_code=reader.number(INT32, "errCode") if version >= FIRST_WITH_ERROR_IN_ASSIGNMENT else 0,
        next_rebalance_ms=_next_rebalance_ms(reader) if has_next else None,
    )


def _read_standby(reader: MemberDataReader, version: int) -> Iterator[tuple[TaskId, tuple[TopicPartition, ...]]]:
    for _ in reader.items(_LEAST_STANDBY, _STANDBY):
        task = read_task(reader, version, _STANDBY)
        partitions = reader.items(_LEAST_PARTITION, _STANDBY)
        yield (
            task,
            tuple(TopicPartition(reader.java_text(_STANDBY), reader.number(INT32, _STANDBY)) for _ in partitions),
        )


def _next_rebalance_ms(reader: MemberDataReader) -> int | None:
    next_ms = reader.number(INT64, "nextRebalanceMs")
    return None if next_ms == _NEVER_MS else next_ms
