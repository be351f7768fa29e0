"""Defects planted in the commits of workers that run exactly once, whatever the records come from and go to."""

from kafka_groups.streams.runtime.assigned import OwnedTask
from kafka_groups.streams.runtime.output import WorkerOutput
from kafka_groups.streams.runtime.task_manager import TaskManager
from kafka_groups.streams.runtime.transactional_commits import TransactionalCommits
from tests.support.planted_defects import Patch

__all__ = ["changelogs_are_left_out", "stores_are_committed_before_the_transaction", "tasks_go_on_after_a_failure"]


def stores_are_committed_before_the_transaction(patch: Patch) -> None:
    """If the transaction fails, the stores have what did not happen."""
    end = TransactionalCommits._end_transaction

    async def early(self: TransactionalCommits, tasks: list[OwnedTask]) -> bool:
        for task in tasks:
            task.task.commit_states()
        return await end(self, tasks)

    patch.setattr(TransactionalCommits, "_end_transaction", early)


def tasks_go_on_after_a_failure(patch: Patch) -> None:
    """Tasks do not go back to what was committed."""

    async def nothing(_self: TaskManager) -> None:
        pass

    patch.setattr(TaskManager, "revive", nothing)


def changelogs_are_left_out(patch: Patch) -> None:
    """The changes of stores are not written."""
    patch.setattr(WorkerOutput, "log", lambda *_: None)
