"""The files that a worker has open, as it tells its parent."""

from pathlib import Path

from attrs import frozen

from kafka_groups.types import TaskId

__all__ = ["OpenFiles"]


@frozen
class OpenFiles:
    """The files of a task that a worker has open.

    Attributes:
        task_id: The task.
        folder: The folder of the environment, in that of its generation.
        inode: The number by which the file system knows the file of their status.
        stores: The names of the stores that are in them.
        partitions: The number of partitions of these stores in the whole application.
        token: Another one if the worker has closed the files in between.
    """

    task_id: TaskId
    folder: Path
    inode: int
    stores: frozenset[str]
    partitions: int
    token: tuple[int, int]

    @property
    def generation(self) -> int:
        """The number of their generation: a later one of a task counts."""
        return int(self.folder.parent.name)
