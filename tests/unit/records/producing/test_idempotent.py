"""The identity without transactions: an id from any broker, and epochs of its own."""

import random
from typing import Any

import pytest

from kafka_groups.client.background import BackgroundErrors
from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.client.requests import ClientResponse, OutgoingRequest
from kafka_groups.errors import (
    ClusterAuthorizationFailedError,
    DisconnectedError,
    OperationTimeoutError,
    UnsupportedVersionError,
)
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kafka_groups.records.producing.idempotent import IdempotentIdentity
from kafka_groups.records.producing.producer_ids import NO_PRODUCER, ProducerIdAndEpoch
from kafka_groups.types import TopicPartition

PLACE = TopicPartition("t", 0)


class Bench:
    """An identity, and a broker for it."""

    def __init__(self) -> None:
        self.errors = BackgroundErrors()
        self.identity = IdempotentIdentity(self.errors, BackoffTimer(100, 1_000, random.Random(1)), 30_000)

    def asked(self, now_ms: int = 0) -> OutgoingRequest:
        [request] = self.identity.poll(now_ms).requests
        return request

    def answer(self, request: OutgoingRequest, now_ms: int = 0, **fields: Any) -> None:
        response = InitProducerIdResponse(**{"producer_epoch": 0, "producer_id": 7, **fields})
        self.identity.on_response(request, ClientResponse(response, 5, 1), now_ms)

    def has_id(self) -> None:
        self.identity.may_produce(PLACE)
        self.answer(self.asked())


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_nobody_is_asked_before_a_batch_wants_an_id(bench: Bench) -> None:
    assert bench.identity.poll(0).requests == ()
    assert not bench.identity.may_produce(PLACE)
    request = bench.asked()
    assert request.node_id is None
    assert request.build(5) == InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=2**31 - 1)
    assert bench.identity.poll(0).requests == (), "one question at a time"


def test_the_id_is_the_one_of_the_answer(bench: Bench) -> None:
    bench.has_id()
    assert bench.identity.producer == ProducerIdAndEpoch(7, 0)
    assert bench.identity.may_produce(PLACE)
    assert bench.identity.poll(0).requests == ()
    assert (bench.identity.is_transactional, bench.identity.transactional_id) == (False, None)
    assert bench.identity.newest_produce_version is None


@pytest.mark.parametrize("error", [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.UNKNOWN_SERVER_ERROR])
def test_an_error_that_may_pass_is_asked_again_later(bench: Bench, error: ErrorCode) -> None:
    bench.identity.may_produce(PLACE)
    bench.answer(bench.asked(), error_code=error, producer_id=-1)
    assert bench.identity.producer == NO_PRODUCER
    assert 0 < bench.identity.poll(0).wait_ms <= 120
    bench.answer(bench.asked(120))
    assert bench.identity.producer == ProducerIdAndEpoch(7, 0)
    assert bench.errors.fatal is None


def test_a_missing_right_ends_the_producer(bench: Bench) -> None:
    bench.identity.may_produce(PLACE)
    bench.answer(bench.asked(), error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, producer_id=-1)
    assert isinstance(bench.errors.fatal, ClusterAuthorizationFailedError)


@pytest.mark.parametrize("failure", [DisconnectedError("gone"), OperationTimeoutError("silent")])
def test_a_request_that_failed_is_sent_again(bench: Bench, failure: Exception) -> None:
    bench.identity.may_produce(PLACE)
    bench.identity.on_failure(bench.asked(), failure, 0)
    assert bench.asked(120).api is ApiKey.INIT_PRODUCER_ID
    assert bench.errors.fatal is None


def test_brokers_without_the_api_end_the_producer(bench: Bench) -> None:
    bench.identity.may_produce(PLACE)
    bench.identity.on_failure(bench.asked(), UnsupportedVersionError(), 0)
    assert isinstance(bench.errors.fatal, UnsupportedVersionError)


def test_a_throttled_answer_holds_back_the_next_question(bench: Bench) -> None:
    bench.identity.may_produce(PLACE)
    bench.answer(bench.asked(), throttle_time_ms=700, error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert bench.identity.poll(0).wait_ms == 700


def test_an_epoch_is_raised_without_a_question(bench: Bench) -> None:
    bench.has_id()
    bench.identity.raise_epoch()
    assert bench.identity.producer == ProducerIdAndEpoch(7, 1)
    assert bench.identity.poll(0).requests == ()


def test_a_new_id_follows_the_last_epoch(bench: Bench) -> None:
    bench.identity.may_produce(PLACE)
    bench.answer(bench.asked(), producer_epoch=32_765)
    bench.identity.raise_epoch()
    assert bench.identity.producer == ProducerIdAndEpoch(7, 32_766)
    bench.identity.raise_epoch()
    assert bench.identity.producer == NO_PRODUCER
    bench.answer(bench.asked(), producer_id=8)
    assert bench.identity.producer == ProducerIdAndEpoch(8, 0)


def test_a_renewed_identity_asks_when_a_batch_wants_it(bench: Bench) -> None:
    bench.has_id()
    bench.identity.renew()
    assert bench.identity.producer == NO_PRODUCER
    assert bench.identity.poll(0).requests == ()
    bench.has_id()


def test_a_lost_identity_is_a_fatal_error(bench: Bench) -> None:
    bench.identity.note_produced(PLACE)
    error = UnsupportedVersionError()
    bench.identity.lose(error)
    assert bench.errors.fatal is error


def test_the_second_refusal_in_a_row_is_a_warning(bench: Bench) -> None:
    bench.identity.may_produce(PLACE)
    for now_ms in (0, 1_000, 3_000):
        bench.answer(bench.asked(now_ms), now_ms, error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    assert [event.subject for event in bench.errors.events.take()] == ["producer id"] * 2
