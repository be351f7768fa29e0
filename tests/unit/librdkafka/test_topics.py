"""Topics are created again when that may help."""

from concurrent.futures import Future

import pytest
from confluent_kafka import KafkaError, KafkaException
from tenacity import wait_none

from kafka_groups.errors import (
    KafkaGroupsError,
    TopicAlreadyExistsError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.librdkafka import topics
from kafka_groups.librdkafka.failures import LOCAL, failure_of


def answer(error: KafkaError | None) -> dict[str, "Future[None]"]:
    future: Future[None] = Future()
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(KafkaException(error))
    return {"topic": future}


def operation(*errors: KafkaError | None) -> tuple[list[int], "Operation"]:
    calls: list[int] = []
    return calls, Operation(calls, list(errors))


class Operation:
    """Answers with one error after the other."""

    def __init__(self, calls: list[int], errors: list[KafkaError | None]) -> None:
        self._calls = calls
        self._errors = errors

    def __call__(self) -> dict[str, "Future[None]"]:
        self._calls.append(1)
        return answer(self._errors[len(self._calls) - 1])


def test_a_retriable_error_is_overcome() -> None:
    calls, flaky = operation(KafkaError(KafkaError.COORDINATOR_NOT_AVAILABLE), None)
    topics._insist(flaky, TopicAlreadyExistsError)
    assert len(calls) == 2


def test_any_other_error_is_raised_at_once() -> None:
    calls, refused = operation(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))
    with pytest.raises(TopicAuthorizationFailedError, match="topic: "):
        topics._insist(refused, TopicAlreadyExistsError)
    assert len(calls) == 1


def test_a_topic_that_an_unanswered_attempt_made_is_there() -> None:
    lost = KafkaError(KafkaError.REQUEST_TIMED_OUT)
    calls, made = operation(lost, KafkaError(KafkaError.TOPIC_ALREADY_EXISTS))
    topics._insist(made, TopicAlreadyExistsError)
    assert len(calls) == 2


def test_a_topic_that_somebody_else_made_is_an_error() -> None:
    _, taken = operation(KafkaError(KafkaError.TOPIC_ALREADY_EXISTS))
    with pytest.raises(TopicAlreadyExistsError):
        topics._insist(taken, TopicAlreadyExistsError)


@pytest.mark.parametrize("code", sorted(LOCAL))
def test_local_errors_that_may_pass_are_tried_again_and_no_others(code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics, "wait_random_exponential", lambda **_: wait_none())
    error = KafkaError(code)
    passes = failure_of(error, "").retriable
    calls, flaky = operation(error, None)
    if passes:
        topics._insist(flaky, TopicAlreadyExistsError)
    else:
        with pytest.raises(KafkaGroupsError):
            topics._insist(flaky, TopicAlreadyExistsError)
    assert len(calls) == 1 + passes


def test_a_topic_that_an_unanswered_attempt_deleted_is_gone_and_one_that_never_was_is_an_error() -> None:
    unknown = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)
    calls, deleted = operation(KafkaError(KafkaError.REQUEST_TIMED_OUT), unknown)
    topics._insist(deleted, UnknownTopicOrPartitionError)
    assert len(calls) == 2
    calls, never = operation(unknown)
    with pytest.raises(UnknownTopicOrPartitionError):
        topics._insist(never, UnknownTopicOrPartitionError)
    assert len(calls) == 1
