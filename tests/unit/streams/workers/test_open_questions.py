"""Questions to the stores of worker processes are answered when all workers have answered, or died."""

from concurrent.futures import Future

import pytest

from kafka_groups.streams import StateStoreMigratedError
from kafka_groups.streams.engines.questions import TaskAnswer
from kafka_groups.streams.workers.open_questions import OpenQuestions
from kafka_groups.streams.workers.worker_messages import StoreAnswered
from kafka_groups.types import TaskId


def answer(partition: int) -> TaskAnswer:
    return TaskAnswer(TaskId("0", partition), (1, partition), b"x", 2)


def asked(questions: OpenQuestions, *workers: int) -> tuple[int, "Future[list[TaskAnswer]]"]:
    promise: Future[list[TaskAnswer]] = Future()
    return questions.add(promise, set(workers)), promise


def test_the_answers_of_all_workers_come_together() -> None:
    questions = OpenQuestions()
    number, promise = asked(questions, 1, 2)
    other, _ = asked(questions, 1, 2)
    assert other != number
    questions.answered(1, StoreAnswered(number, (answer(0), answer(2))))
    questions.answered(1, StoreAnswered(number, (answer(0),)))  # of a question that it has answered
    assert not promise.done()
    questions.answered(2, StoreAnswered(number, (answer(1),)))
    assert sorted(each.task_id.partition for each in promise.result(0)) == [0, 0, 1, 2]


def test_a_worker_that_dies_has_no_tasks() -> None:
    questions = OpenQuestions()
    number, promise = asked(questions, 1, 2)
    questions.answered(1, StoreAnswered(number, (answer(0),)))
    questions.died(2)
    assert promise.result(0) == [answer(0)]
    assert asked(questions)[1].result(0) == [], "there is no worker"


def test_an_error_of_a_worker_is_raised_when_all_have_answered() -> None:
    questions = OpenQuestions()
    number, promise = asked(questions, 1, 2)
    questions.answered(1, StoreAnswered(number, error=StateStoreMigratedError("gone")))
    assert not promise.done()
    questions.answered(2, StoreAnswered(number, (answer(0),)))
    with pytest.raises(StateStoreMigratedError, match="gone"):
        promise.result(0)


def test_late_answers_are_for_nobody() -> None:
    questions = OpenQuestions()
    number, promise = asked(questions, 1)
    questions.died(1)
    questions.answered(1, StoreAnswered(number, (answer(0),)))
    assert promise.result(0) == []
