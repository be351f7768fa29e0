"""The lines of `kafka-groups top --json`."""

from attrs import frozen

from kafka_groups.cli.documents.document import ErrorEntry
from kafka_groups.share.workers.status import WorkerStatus

__all__ = ["TOP_GROUP", "TOP_WORKER", "TopGroupEntry", "TopWorkerEntry"]

TOP_WORKER = "worker"
"""The kind of lines about workers."""

TOP_GROUP = "group"
"""The kind of lines about groups."""


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


@frozen
class TopGroupEntry:
    """A group at one moment, as brokers tell it.

    Attributes:
        kind: The text `group`.
        group: The group, or null if the brokers did not list their groups.
        type: `classic`, `consumer`, `share` or `streams`, or null if the group could not be described.
        state: Its state, or null.
        members: The number of its members, or null.
        lag: The sum of its lags, or null if one of them is unknown.
        acknowledged_per_s: The records that it has finished in a second since the last look, or null.
        arriving_per_s: The records that were written to its partitions in a second since the last look, or null.
        error: The reason why something is unknown, or null.
    """

    kind: str
    group: str | None
    type: str | None
    state: str | None
    members: int | None
    lag: int | None
    acknowledged_per_s: float | None
    arriving_per_s: float | None
    error: ErrorEntry | None
