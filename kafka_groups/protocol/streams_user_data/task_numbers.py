"""Task ids in user data: two numbers, and in later versions the name of a topology."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from kafka_groups.protocol.member_data import INT32, MemberDataReader, MemberDataWriter
from kafka_groups.protocol.streams_user_data.versions import FIRST_WITH_NAMED_TOPOLOGIES, refuse_named_topology
from kafka_groups.types import TaskId

__all__ = ["LEAST_TASK", "read_task", "subtopology_number", "write_task", "write_task_numbers", "write_tasks"]

LEAST_TASK: Final = 2 * INT32.size
"""The bytes of a task id without a name."""

_NO_NAME: Final = 0
_BYTES_OF_A_CHARACTER: Final = 2


def read_task(reader: MemberDataReader, version: int, field: str) -> TaskId:
    """Read a task of an assignment.

    Raises:
        MemberDataError: It belongs to a named topology, or the bytes end before.
    """
    task = TaskId(str(reader.number(INT32, field)), reader.number(INT32, field))
    if version >= FIRST_WITH_NAMED_TOPOLOGIES:
        characters = reader.number(INT32, field)
        if characters != _NO_NAME:
            name = reader.taken(characters * _BYTES_OF_A_CHARACTER, field)
            refuse_named_topology(reader, field, name.decode("utf-16-be", "replace"))
    return task


def write_task(writer: MemberDataWriter, task: TaskId, version: int, field: str) -> None:
    """Write a task of an assignment.

    Raises:
        MemberDataError: Its sub-topology is not a number, or a number does not fit.
    """
    write_task_numbers(writer, task, field)
    if version >= FIRST_WITH_NAMED_TOPOLOGIES:
        writer.number(INT32, _NO_NAME, field)


def write_tasks(writer: MemberDataWriter, tasks: Sequence[TaskId], version: int, field: str) -> None:
    """Write the count of the tasks of an assignment, and each of them as `write_task` does.

    Raises:
        MemberDataError: A sub-topology is not a number, or a number does not fit.
    """
    name = (_NO_NAME,) if version >= FIRST_WITH_NAMED_TOPOLOGIES else ()
    numbers = [len(tasks)]
    for task in tasks:
        numbers += (subtopology_number(writer, task, field), task.partition, *name)
    writer.numbers(numbers, field)


def write_task_numbers(writer: MemberDataWriter, task: TaskId, field: str) -> None:
    """Write the two numbers of a task.

    Raises:
        MemberDataError: Its sub-topology is not a number, or a number does not fit.
    """
    writer.number(INT32, subtopology_number(writer, task, field), field)
    writer.number(INT32, task.partition, field)


def subtopology_number(writer: MemberDataWriter, task: TaskId, field: str) -> int:
    """Return the number of a task's sub-topology.

    Raises:
        MemberDataError: The sub-topology is not a number.
    """
    text = task.subtopology_id
    try:
        number, written = _parsed(text)
    except ValueError as error:
        writer.fail(field, f"sub-topology {text!r} of task {task} is not a number", error)
    if written != text:
        writer.fail(field, f"sub-topology {text!r} of task {task} is not written as {number}")
    return number


@lru_cache(maxsize=1_000)  # applications have a few sub-topologies and many tasks
def _parsed(text: str) -> tuple[int, str]:
    number = int(text)
    return number, str(number)
