"""Texts about files of applications that are damaged, or cannot be read."""

from collections.abc import Iterable, Iterator

from attrs import frozen

from kafka_groups.errors.texts import sentences
from kafka_groups.streams.engines.inspection import FilesHealth, KeptApplication, KeptTask

__all__ = ["StateProblem", "state_problems"]


@frozen(kw_only=True)
class StateProblem:
    """A task whose files are damaged, or cannot be read.

    Attributes:
        resource: The task and its application.
        message: What is wrong.
        remedy: What to do about it; None if the message says so.
    """

    resource: str
    message: str
    remedy: str | None


def state_problems(applications: Iterable[KeptApplication]) -> Iterator[StateProblem]:
    """Iterate over the problems of all tasks."""
    for application in applications:
        for task in application.tasks:
            if task.has_failed:
                yield _problem(application.application_id, task)


def _problem(application_id: str, task: KeptTask) -> StateProblem:
    resource = f"{task.title} of {application_id}"
    if task.health is FilesHealth.DAMAGED:
        return StateProblem(
            resource=resource,
            message=sentences(f"The files of {resource} are damaged: {task.reason}"),
            remedy=f"Stop the application and run `rm -r '{task.folder}'`. The next start restores the stores from "
            + ("their topics." if task.is_global else "their changelogs. Stores with changelog=False begin empty."),
        )
    message = sentences(f"The files of {resource} cannot be read: {task.reason}")
    return StateProblem(resource=resource, message=message, remedy=None)
