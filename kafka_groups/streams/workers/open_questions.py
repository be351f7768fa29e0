"""The questions to stores that an application's parent has sent to its worker processes."""

from concurrent.futures import Future
from itertools import count

from attrs import define, field

from kafka_groups.streams.engines.questions import TaskAnswer
from kafka_groups.streams.errors import InvalidStateStoreError
from kafka_groups.streams.workers.worker_messages import StoreAnswered

__all__ = ["OpenQuestions"]


@define(eq=False)
class _OpenQuestion:
    promise: "Future[list[TaskAnswer]]"
    awaited: set[int]
    found: list[TaskAnswer] = field(factory=list)
    error: InvalidStateStoreError | None = None


class OpenQuestions:
    """Gathers the answers of all workers to each question. A worker that has died has no tasks."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._open: dict[int, _OpenQuestion] = {}

    def __repr__(self) -> str:
        return f"<OpenQuestions: {len(self._open)}>"

    def add(self, promise: "Future[list[TaskAnswer]]", workers: set[int]) -> int:
        """Return the number of a question that was sent to workers with these numbers."""
        number = next(self._numbers)
        self._open[number] = _OpenQuestion(promise, workers)
        self._settle(number)
        return number

    def answered(self, worker: int, message: StoreAnswered) -> None:
        """Take the answers of a worker."""
        question = self._open.get(message.number)
        if question is not None:
            question.found += message.answers
            question.error = question.error or message.error
            self._no_longer(worker, message.number)

    def died(self, worker: int) -> None:
        """Await nothing more from a worker."""
        for number in list(self._open):
            self._no_longer(worker, number)

    def _no_longer(self, worker: int, number: int) -> None:
        self._open[number].awaited.discard(worker)
        self._settle(number)

    def _settle(self, number: int) -> None:
        question = self._open[number]
        if question.awaited:
            return
        del self._open[number]
        if question.error is not None:
            question.promise.set_exception(question.error)
        else:
            question.promise.set_result(question.found)
