"""The lines of `kafka-groups top --json`."""

from attrs import frozen

from kafka_groups.cli.documents.document import ErrorEntry
from kafka_groups.share.workers.status import WorkerStatus

__all__ = ["TOP_WORKER", "TopWorkerEntry"]

TOP_WORKER = "worker"
"""The kind of lines about workers."""


@frozen
class TopWorkerEntry:
    """A worker at one moment.

    Attributes:
        kind: The text `worker`.
        worker: The address, as it was given.
        status: What the worker has answered at `/status`, or null if it has not.
        error: The reason why there is no answer, or null.
    """

    kind: str
    worker: str
    status: WorkerStatus | None
    error: ErrorEntry | None
