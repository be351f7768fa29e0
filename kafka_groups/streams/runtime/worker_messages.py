"""Messages that worker processes and their parent send each other through a pipe."""

from attrs import frozen

from kafka_groups.streams.member.rules.member_events import GroupMembershipOperation
from kafka_groups.streams.runtime.application_state import StreamsState
from kafka_groups.streams.runtime.metrics import StreamsMetric

__all__ = ["AskShutdown", "PauseWorker", "ResumeWorker", "StopWorker", "WorkerChanged", "WorkerMeasured"]


@frozen
class WorkerChanged:
    """From a worker: its new state, and the error that ended it, as text."""

    state: StreamsState
    error: str | None = None


@frozen
class WorkerMeasured:
    """From a worker, once a second: its metrics."""

    metrics: tuple[StreamsMetric, ...]


@frozen
class StopWorker:
    """To a worker: commit, close and leave."""

    operation: GroupMembershipOperation


@frozen
class AskShutdown:
    """To a worker: ask all members of the group to shut down."""


@frozen
class PauseWorker:
    """To a worker: process nothing for now."""


@frozen
class ResumeWorker:
    """To a worker: process again."""
