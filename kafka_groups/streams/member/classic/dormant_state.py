"""The state that a process has of tasks which none of its workers has, as its members name it to their leader."""

from collections.abc import Mapping
from typing import Protocol

from kafka_groups.types import TaskId

__all__ = ["DormantState", "NoDormantState"]


class DormantState(Protocol):
    """The state of dormant tasks, as one worker names it.

    All members of a process join in each round, and exactly one of them names each of these tasks, as in Java, where a
    thread locks the directories when a round begins (`TaskManager.handleRebalanceStart`). Unlike there, another worker
    may open the state in the same round, before it joins. Then it tells of its own task, too: for the leader, both are
    the same process.
    """

    def claim(self) -> Mapping[TaskId, int]:
        """Take what no other worker of the process has taken.

        Returns:
            For each task that this worker has taken, now or before, and that is still dormant, the sum of its positions
            in changelogs.
        """

    def release(self) -> None:
        """Let other workers take everything: the round is over, or this worker is not in it any more."""


class NoDormantState:
    """No state of dormant tasks: nothing is on disk."""

    def claim(self) -> Mapping[TaskId, int]:
        """Return nothing."""
        return {}

    def release(self) -> None:
        """Do nothing."""
