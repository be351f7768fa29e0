"""Changelogs that end before what a worker has written to them or read from them: they were deleted or truncated."""

import logging
from collections.abc import Iterable, Mapping

from kafka_groups.streams.runtime.assigned import OwnedTask
from kafka_groups.types import TopicPartition

__all__ = ["LostChangelogs", "warn_of_replaced"]

_log = logging.getLogger(__name__)


class LostChangelogs:
    """Remembers how far the tasks of a worker came in their changelogs, and warns if these end earlier later on.

    If somebody deletes a changelog while the application runs, the group takes the tasks away, makes the topic again,
    and assigns the tasks as if they were new. Nothing else shows that their stores had more before.
    """

    def __init__(self) -> None:
        self._reached: dict[TopicPartition, int] = {}

    def __repr__(self) -> str:
        return f"<LostChangelogs: {len(self._reached)} changelogs>"

    def remember(self, task: OwnedTask) -> None:
        """Remember how far a task that ends has come.

        Sources that serve as changelogs are left out: the records behind their last stable offset may be applied, too.
        """
        for place, offset in task.applied.items():
            if place not in task.inputs:
                self._reached[place] = offset

    def check(self, task: OwnedTask, bounds: Mapping[TopicPartition, tuple[int, int]]) -> None:
        """Warn, once each, about changelogs of a new task that end before what an earlier one had."""
        for place, (begin, end) in bounds.items():
            reached = self._reached.pop(place, 0)
            if end < reached and place not in task.applied:
                _log.warning(
                    "Changelog %s had the records before offset %d, and now it has those from %d to %d: it was deleted "
                    "or truncated while the application ran. Task %s has lost the rows of %s that are not among them. "
                    "Input that was processed is not processed again, so aggregates such as counts start again. To "
                    "compute the rows again, process the input from its beginning with another application_id. Do not "
                    "delete the application's internal topics.",
                    place, reached, begin, end, task.task_id, _named(task, place.topic),
                )  # fmt: skip


def warn_of_replaced(task: OwnedTask, changelogs: Iterable[TopicPartition]) -> None:
    """Warn about changelogs that were made again while a task wrote to them, and kept its stores."""
    for place in sorted(changelogs):
        _log.warning(
            "Changelog %s was deleted and made again while the application ran. It has only those rows of %s that "
            "changed since then. Task %s still has the others, and loses them as soon as it is restored: in another "
            "process, or after a restart. To compute all rows again, process the input from its beginning with another "
            "application_id. Do not delete the application's internal topics.",
            place, _named(task, place.topic), task.task_id,
        )  # fmt: skip


def _named(task: OwnedTask, topic: str) -> str:
    """Return the names of the stores of a changelog, for a text."""
    return ", ".join(f"store {name!r}" for name in task.task.stores_of(topic))
