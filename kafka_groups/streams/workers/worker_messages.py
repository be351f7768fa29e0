"""Messages that worker processes and their parent send each other through a pipe, and those inside of each."""

import queue
from concurrent.futures import Future

from attrs import field, frozen

from kafka_groups.streams.engines.open_files import OpenFiles
from kafka_groups.streams.engines.questions import StoreQuestion, TaskAnswer
from kafka_groups.streams.errors import InvalidStateStoreError
from kafka_groups.streams.member.rules.member_events import GroupMembershipOperation
from kafka_groups.streams.workers.application_metrics import StreamsMetric
from kafka_groups.streams.workers.application_state import StreamsState
from kafka_groups.streams.workers.query_places import QueryPlaces

__all__ = [
    "AddWorker",
    "AskShutdown",
    "AskStore",
    "AskWorkers",
    "FilesOpened",
    "LeaveSoon",
    "Order",
    "OrderToWorker",
    "Orders",
    "PauseWorker",
    "RemoveWorker",
    "ResumeWorker",
    "StopWorker",
    "StoreAnswered",
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
    """From a worker process, once a second.

    Attributes:
        metrics: Its metrics.
        replaced: How often its worker has failed and was replaced.
        places: What it knows of the processes of its group.
    """

    metrics: tuple[StreamsMetric, ...]
    replaced: int
    places: QueryPlaces = field(factory=QueryPlaces)


@frozen
class StoreAnswered:
    """From a worker process: its answers to a question.

    Attributes:
        number: The number of the question.
        answers: What each of its tasks answered.
        error: Why it did not answer.
    """

    number: int
    answers: tuple[TaskAnswer, ...] = ()
    error: InvalidStateStoreError | None = None


@frozen
class FilesOpened:
    """From a worker process: the files of its tasks, whenever other tasks have come or gone."""

    files: tuple[OpenFiles, ...]


@frozen
class AskStore:
    """To a worker: ask the tasks that have a store.

    Attributes:
        number: The number of the question.
        question: The question.
    """

    number: int
    question: StoreQuestion


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

    answer: "Future[str | None]"


@frozen(eq=False)
class AskWorkers:
    """Inside the parent: ask the workers for what a store has."""

    question: StoreQuestion
    answer: "Future[list[TaskAnswer]]"


@frozen(eq=False)
class RemoveWorker:
    """Inside the parent: let a worker leave."""

    answer: "Future[str | None]"


OrderToWorker = AskShutdown | AskStore | PauseWorker | ResumeWorker | StopWorker
Order = OrderToWorker | LeaveSoon | WorkerEnded
Orders = queue.SimpleQueue[Order]
