"""Numbers in the configuration of a group, which a client reads when they matter."""

import random
from collections.abc import Iterable
from typing import Any

import pytest

from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.client.events import Events
from kafka_groups.client.group_configs import GroupConfigsManager, GroupNumbers
from kafka_groups.client.metadata import Metadata, Node
from kafka_groups.client.requests import ClientResponse, OutgoingRequest
from kafka_groups.errors import DisconnectedError, GroupAuthorizationFailedError
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)

NAMES = ("share.delivery.count.limit", "share.partition.max.record.locks")


def manager(events: Events, brokers: Iterable[int] = ()) -> GroupConfigsManager:
    metadata = Metadata()
    metadata.nodes.update({node_id: Node(node_id, "b", 9) for node_id in brokers})
    backoff = BackoffTimer(100, 1_000, random.Random(1))
    numbers = GroupNumbers("g", NAMES, since="4.3")
    return GroupConfigsManager(numbers, metadata=metadata, events=events, backoff=backoff, timeout_ms=30_000)


def asked(it: GroupConfigsManager, now_ms: int = 0) -> OutgoingRequest:
    it.wanted = True
    [request] = it.poll(now_ms).requests
    return request


def answer(it: GroupConfigsManager, values: dict[str, str | None], now_ms: int = 0, **error: Any) -> None:
    configs = tuple(
        DescribeConfigsResourceResult(name=name, value=value, read_only=False, is_sensitive=False)
        for name, value in values.items()
    )
    result = DescribeConfigsResult(resource_type=32, resource_name="g", configs=configs, **error)
    it.on_response(asked(it, now_ms), ClientResponse(DescribeConfigsResponse(results=(result,)), 4, 1), now_ms)


def test_nothing_is_asked_before_it_matters() -> None:
    assert manager(Events()).poll(0).requests == ()


def test_numbers_are_asked_for_once() -> None:
    it = manager(Events())
    message: Any = asked(it).build(4)
    [resource] = message.resources
    assert (resource.resource_type, resource.resource_name, resource.configuration_keys) == (32, "g", NAMES)
    assert it.poll(0).requests == ()
    it = manager(events := Events())
    answer(it, {NAMES[0]: "5", NAMES[1]: "2000"})
    assert it.values == {NAMES[0]: 5, NAMES[1]: 2000}
    assert it.poll(0).requests == ()
    assert list(events.take()) == []


def test_what_an_older_broker_does_not_have_stays_unknown_and_is_logged() -> None:
    it = manager(events := Events())
    answer(it, {NAMES[1]: "2000"})
    assert it.values == {NAMES[1]: 2000}
    [event] = events.take()
    assert "(they are older than Kafka 4.3); assuming Kafka's defaults." in event.text
    assert [name for name in NAMES if name in event.text] == [NAMES[0]]


def test_a_refusal_is_logged_with_its_reason() -> None:
    it = manager(events := Events())
    answer(it, {}, error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED, error_message="Not allowed.")
    [event] = events.take()
    assert "(Not allowed)" in event.text


def test_failures_are_repeated_after_the_back_off_and_only_a_few_times() -> None:
    it = manager(events := Events())
    now_ms = 0
    for _ in range(3):
        it.on_failure(asked(it, now_ms), DisconnectedError("gone"), now_ms)
        now_ms += it.poll(now_ms).wait_ms
    assert it.poll(now_ms).requests == ()
    [event] = events.take()
    assert "gone" in event.text


def test_a_failure_that_will_not_pass_is_not_repeated() -> None:
    it = manager(events := Events())
    it.on_failure(asked(it), GroupAuthorizationFailedError("no"), 0)
    assert it.poll(60_000).requests == ()
    assert len(list(events.take())) == 1


@pytest.mark.parametrize("value", [None, "", "many"])
def test_what_is_not_a_number_is_unknown(value: str | None) -> None:
    it = manager(events := Events())
    answer(it, {NAMES[0]: value, NAMES[1]: "1"})
    assert it.values == {NAMES[1]: 1}
    assert len(list(events.take())) == 1


def test_what_a_group_cannot_have_is_asked_of_a_broker() -> None:
    it = manager(Events(), brokers=(7, 3))
    answer(it, {})
    request = asked(it)
    message: Any = request.build(4)
    [resource] = message.resources
    assert request.node_id == 3
    assert (resource.resource_type, resource.resource_name) == (4, "3")
    assert resource.configuration_keys == tuple(f"group.{name}" for name in NAMES)


def test_a_broker_tells_what_holds_for_all_groups() -> None:
    it = manager(events := Events(), brokers=(3,))
    answer(it, {NAMES[1]: "100"})
    assert not it.is_fresh(0)
    answer(it, {f"group.{NAMES[0]}": "2", f"group.{NAMES[1]}": "2000"})
    assert it.values == {NAMES[0]: 2, NAMES[1]: 2000}
    assert it.is_fresh(0)
    assert not events


def test_a_number_that_must_be_fresh_is_asked_for_again_when_it_is_old() -> None:
    it = manager(Events())
    answer(it, {NAMES[0]: "5", NAMES[1]: "2000"})
    assert it.is_fresh(29_999)
    assert not it.is_fresh(30_000)
    assert it.poll(30_000).requests == ()
    it.must_be_fresh = True
    answer(it, {NAMES[0]: "2", NAMES[1]: "2000"}, now_ms=30_000)
    assert it.values[NAMES[0]] == 2
    assert it.is_fresh(30_000)


def test_a_number_that_must_be_fresh_is_asked_for_until_a_broker_answers() -> None:
    it = manager(events := Events())
    it.must_be_fresh = True
    now_ms = 0
    for _ in range(20):
        it.on_failure(asked(it, now_ms), DisconnectedError("gone"), now_ms)
        now_ms += it.poll(now_ms).wait_ms
    assert not it.is_fresh(now_ms)
    answer(it, {NAMES[0]: "3", NAMES[1]: "1"}, now_ms)
    assert it.is_fresh(now_ms)
    assert not events
