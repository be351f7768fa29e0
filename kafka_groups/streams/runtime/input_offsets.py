"""The input offsets with which a task begins, as its stores note them."""

import logging
from collections.abc import Mapping

from kafka_groups.errors.texts import counted
from kafka_groups.streams.errors import StateFilesError
from kafka_groups.streams.runtime.assigned import OwnedTask, noting_failure
from kafka_groups.streams.state.position import inputs_in
from kafka_groups.types import TopicPartition

__all__ = ["note_start"]

_log = logging.getLogger(__name__)


def note_start(task: OwnedTask, starts: Mapping[TopicPartition, int]) -> None:
    """Note that the stores of a task, which are restored, have everything before these offsets.

    Warns about stores that have not, because there is no changelog from which the rest could be restored. If the files
    cannot be written, that is noted with the task.
    """
    known = inputs_in(task.engine.notes)
    # An engine without notes has no files from before: whoever deleted them has logged it.
    behind = sum(max(start - known[place], 0) for place, start in starts.items() if place in known)
    if behind and task.task.unlogged_stores:
        _warn(task, behind)
    try:
        with noting_failure(task):
            task.task.begin_at(starts)
    except StateFilesError:
        return  # the task begins again


def _warn(task: OwnedTask, behind: int) -> None:
    names = ", ".join(task.task.unlogged_stores)
    _log.warning(
        "The stores of task %s without a changelog (%s) lack the changes of up to %s, which the group has committed: "
        "the process was killed before it had stored them, or another process had the task in the meantime.",
        task.task_id,
        names,
        counted(behind, "record"),
    )
