"""Messages that worker processes and their parent send each other through a pipe, and those inside of each."""

import queue
from concurrent.futures import Future

from attrs import frozen

from kafka_groups.streams.member.rules.member_events import GroupMembershipOperation
from kafka_groups.streams.workers.application_state import StreamsState
from kafka_groups.streams.workers.metrics import StreamsMetric

__all__ = [
    "AddWorker",
    "AskShutdown",
    "LeaveSoon",
    "Order",
    "OrderToWorker",
    "Orders",
    "PauseWorker",
    "RemoveWorker",
    "ResumeWorker",
    "StopWorker",
    "WorkerChanged",
    "WorkerEnded",
    "WorkerMeasured",
]


@frozen
class WorkerChanged:
    """From a worker: its new state, and the error that ended it, as text."""

    state: StreamsState
    error: str | None = None


@frozen
class WorkerMeasured:
    """From a worker process, once a second: its metrics, and how often its worker has failed and was replaced."""

    metrics: tuple[StreamsMetric, ...]
    replaced: int


@frozen
class StopWorker:
    """To a worker: commit, close and leave."""

    timeout_s: float | None
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


@frozen
class LeaveSoon:
    """To a worker, inside its process: commit, close and leave within seconds, and end with an exit status."""

    status: int


@frozen
class WorkerEnded:
    """Inside the process of a worker: its thread has ended."""


@frozen(eq=False)
class AddWorker:
    """Inside the parent: start one more worker."""

    added: "Future[str | None]"


@frozen(eq=False)
class RemoveWorker:
    """Inside the parent: let a worker leave."""

    removed: "Future[str | None]"


OrderToWorker = AskShutdown | PauseWorker | ResumeWorker | StopWorker
Order = OrderToWorker | LeaveSoon | WorkerEnded
Orders = queue.SimpleQueue[Order]
