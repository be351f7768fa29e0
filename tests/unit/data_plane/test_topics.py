"""Topics are created again when that may help."""

from concurrent.futures import Future

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka import TopicPartition as Position

from kafka_groups.data_plane import topics
from kafka_groups.errors import OperationTimeoutError, TopicAlreadyExistsError, TopicAuthorizationFailedError
from kafka_groups.types import TopicPartition


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
    topics._insist(flaky)
    assert len(calls) == 2


def test_any_other_error_is_raised_at_once() -> None:
    calls, refused = operation(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))
    with pytest.raises(TopicAuthorizationFailedError, match="topic: "):
        topics._insist(refused)
    assert len(calls) == 1


def test_a_topic_that_an_unanswered_attempt_made_is_there() -> None:
    lost = KafkaError(KafkaError.REQUEST_TIMED_OUT)
    calls, made = operation(lost, KafkaError(KafkaError.TOPIC_ALREADY_EXISTS))
    topics._insist(made)
    assert len(calls) == 2


def test_a_topic_that_somebody_else_made_is_an_error() -> None:
    _, taken = operation(KafkaError(KafkaError.TOPIC_ALREADY_EXISTS))
    with pytest.raises(TopicAlreadyExistsError):
        topics._insist(taken)


class SilentAdmin:
    """Sends requests that are never answered."""

    def delete_records(self, positions: list[Position], request_timeout: float) -> dict[Position, "Future[None]"]:
        return {position: Future() for position in positions}


def test_a_deletion_of_records_that_is_not_answered_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics, "_admin", lambda _config: SilentAdmin())
    monkeypatch.setattr(topics, "_DELETION_SECONDS", 0.001)
    with pytest.raises(OperationTimeoutError, match="records of orders-1 were not deleted: no answer in"):
        topics.delete_records({}, {TopicPartition("orders", 1): 5})
