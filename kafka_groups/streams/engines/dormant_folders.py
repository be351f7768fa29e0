"""The state on the disk that nobody has open, as one of several workers names it to its group."""

import logging
import os
from collections.abc import Collection
from pathlib import Path

from kafka_groups.streams.engines.left_folders import CLAIMS_FOLDER, positions_left
from kafka_groups.streams.engines.posix_locks import has_locked
from kafka_groups.types import TaskId

__all__ = ["DormantFolders"]

_log = logging.getLogger(__name__)


class DormantFolders:
    """The state of dormant tasks in the folder of an application: `DormantState` of a worker.

    A worker names what it has claimed: it has locked a file for each of these tasks. The system drops the locks of a
    worker that dies, so that another one claims the tasks in the next round. The lock is not that of the state itself,
    which another worker may have to open while the group waits for a member.

    Args:
        folder: The folder of the application.
        boot: The boot of the machine, as `machine.boot_id` tells it.
    """

    def __init__(self, folder: Path, boot: str) -> None:
        self._folder = folder
        self._boot = boot
        self._claims: dict[TaskId, int] = {}
        self._known: dict[tuple[Path, str], int] = {}

    def __repr__(self) -> str:
        return f"<DormantFolders in {self._folder}: {len(self._claims)} claimed>"

    def claim(self) -> dict[TaskId, int]:
        """Return the sums of positions of the tasks that this worker names. What is not dormant any more is let go."""
        try:
            found = positions_left(self._folder, self._boot, self._is_mine, self._known)
        except OSError as error:
            _log.warning("The group does not learn which tasks have state in %s: %s", self._folder, error)
            found = {}
        self._let_go(self._claims.keys() - found.keys())
        return found

    def release(self) -> None:
        """Let other workers of the process claim everything."""
        self._let_go(tuple(self._claims))

    def _is_mine(self, task: TaskId) -> bool:
        """Claim a task, and return whether it is this worker's."""
        # In this order: a worker that looked first would lock the state for a moment, and hide it from the one that
        # has claimed it.
        if task in self._claims:
            return True
        path = self._folder / CLAIMS_FOLDER / str(task)
        path.parent.mkdir(exist_ok=True)
        file = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
        try:
            is_mine = has_locked(file)
        except BaseException:
            os.close(file)
            raise
        if is_mine:
            self._claims[task] = file
        else:
            os.close(file)
        return is_mine

    def _let_go(self, tasks: Collection[TaskId]) -> None:
        # The files stay: somebody may just have opened one to lock it.
        for task in tasks:
            os.close(self._claims.pop(task))
