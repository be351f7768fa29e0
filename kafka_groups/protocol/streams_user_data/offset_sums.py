"""The tasks whose state a member has, in the four forms that subscriptions have had for them."""

from collections.abc import Iterator
from itertools import chain
from typing import Final

from kafka_groups.protocol.member_data import INT16, INT32, INT64, MemberDataReader, MemberDataWriter
from kafka_groups.protocol.streams_user_data.task_numbers import (
    LEAST_TASK,
    subtopology_number,
    write_task_numbers,
)
from kafka_groups.protocol.streams_user_data.versions import (
    FIRST_WITH_NAMED_TOPOLOGIES,
    FIRST_WITH_OFFSET_SUMS,
    refuse_named_topology,
)
from kafka_groups.types import TaskId

__all__ = ["RUNNING_TASK", "UNKNOWN_OFFSET_SUM", "TaskOffsetSums", "read_offset_sums", "write_offset_sums"]

RUNNING_TASK: Final = -2
"""In place of the offset sum of an active task with a changelog that is running."""

UNKNOWN_OFFSET_SUM: Final = -3
"""In place of the offset sum of a standby task in versions up to 6, which have no sums."""

TaskOffsetSums = tuple[tuple[TaskId, int], ...]
"""Tasks, each with an offset sum, `RUNNING_TASK` or `UNKNOWN_OFFSET_SUM`."""

_FIELD: Final = "taskOffsetSums"
_RUNNING_FIELD: Final = "prevTasks"
_STANDBY_FIELD: Final = "standbyTasks"
_LEAST_GROUP: Final = 2 * INT32.size
_LEAST_PARTITION: Final = INT32.size + INT64.size
_LEAST_SUM: Final = LEAST_TASK + INT64.size + INT16.size


def read_offset_sums(reader: MemberDataReader, version: int) -> TaskOffsetSums:
    """Read the tasks of a subscription.

    Raises:
        MemberDataError: A task belongs to a named topology, or the bytes end before.
    """
    if version >= FIRST_WITH_NAMED_TOPOLOGIES:
        return tuple(_read_sum(reader) for _ in reader.items(_LEAST_SUM, _FIELD))
    if version >= FIRST_WITH_OFFSET_SUMS:
        return tuple(chain.from_iterable(_read_group(reader) for _ in reader.items(_LEAST_GROUP, _FIELD)))
    running = tuple(_read_tasks(reader, _RUNNING_FIELD, RUNNING_TASK))
    return running + tuple(_read_tasks(reader, _STANDBY_FIELD, UNKNOWN_OFFSET_SUM))


def write_offset_sums(writer: MemberDataWriter, sums: TaskOffsetSums, version: int) -> None:
    """Write the tasks of a subscription.

    Raises:
        MemberDataError: A sub-topology is not a number, or a number does not fit.
    """
    if version >= FIRST_WITH_NAMED_TOPOLOGIES:
        _write_sums(writer, sums)
    elif version >= FIRST_WITH_OFFSET_SUMS:
        _write_groups(writer, sums)
    else:
        _write_tasks(writer, [task for task, total in sums if total == RUNNING_TASK], _RUNNING_FIELD)
        _write_tasks(writer, [task for task, total in sums if total != RUNNING_TASK], _STANDBY_FIELD)


def _read_sum(reader: MemberDataReader) -> tuple[TaskId, int]:
    task = TaskId(str(reader.number(INT32, _FIELD)), reader.number(INT32, _FIELD))
    total = reader.number(INT64, _FIELD)
    name = reader.text_or_null(INT16, _FIELD)
    if name is not None:
        refuse_named_topology(reader, _FIELD, name)
    return task, total


def _read_group(reader: MemberDataReader) -> Iterator[tuple[TaskId, int]]:
    subtopology_id = str(reader.number(INT32, _FIELD))
    for _ in reader.items(_LEAST_PARTITION, _FIELD):
        yield TaskId(subtopology_id, reader.number(INT32, _FIELD)), reader.number(INT64, _FIELD)


def _read_tasks(reader: MemberDataReader, field: str, total: int) -> Iterator[tuple[TaskId, int]]:
    for _ in reader.items(LEAST_TASK, field):
        yield TaskId(str(reader.number(INT32, field)), reader.number(INT32, field)), total


def _write_sums(writer: MemberDataWriter, sums: TaskOffsetSums) -> None:
    writer.number(INT32, len(sums), _FIELD)
    for task, total in sums:
        write_task_numbers(writer, task, _FIELD)
        writer.number(INT64, total, _FIELD)
        writer.text_or_null(INT16, None, _FIELD)


def _write_groups(writer: MemberDataWriter, sums: TaskOffsetSums) -> None:
    # Java writes one group for each sub-topology.
    groups: dict[int, list[tuple[int, int]]] = {}
    for task, total in sums:
        groups.setdefault(subtopology_number(writer, task, _FIELD), []).append((task.partition, total))
    writer.number(INT32, len(groups), _FIELD)
    for subtopology, partitions in groups.items():
        writer.number(INT32, subtopology, _FIELD)
        writer.number(INT32, len(partitions), _FIELD)
        for partition, total in partitions:
            writer.number(INT32, partition, _FIELD)
            writer.number(INT64, total, _FIELD)


def _write_tasks(writer: MemberDataWriter, tasks: list[TaskId], field: str) -> None:
    writer.number(INT32, len(tasks), field)
    for task in tasks:
        write_task_numbers(writer, task, field)
