"""Looking up a group's coordinator, in both forms of FindCoordinator."""

import random
from typing import Any

import pytest

from kafka_groups.client.background import BackgroundErrors
from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.client.coordinators import CoordinatorManager
from kafka_groups.client.metadata import Metadata, Node
from kafka_groups.client.requests import ClientResponse
from kafka_groups.errors import DisconnectedError, GroupAuthorizationFailedError
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.find_coordinator import Coordinator, CoordinatorType, FindCoordinatorResponse


class LookUp:
    def __init__(self, key_type: CoordinatorType = CoordinatorType.GROUP) -> None:
        self.errors, self.metadata = BackgroundErrors(), Metadata()
        self.manager = CoordinatorManager(
            "group",
            self.metadata,
            self.errors,
            backoff=BackoffTimer(100, 1000, random.Random(1)),
            timeout_ms=30_000,
            key_type=key_type,
        )
        self.manager.wanted = True

    def answer(self, response: FindCoordinatorResponse, now_ms: int = 0, version: int = 6) -> None:
        (request,) = self.manager.poll(now_ms).requests
        assert request.node_id is None
        self.manager.on_response(request, ClientResponse(response, version, 1), now_ms)


def batched(**values: Any) -> FindCoordinatorResponse:
    found: dict[str, Any] = {"key": "group", "node_id": 3, "host": "b3", "port": 9} | values
    return FindCoordinatorResponse(coordinators=(Coordinator(**found),))


def test_nothing_is_asked_before_somebody_wants_to_know() -> None:
    look_up = LookUp()
    look_up.manager.wanted = False
    assert look_up.manager.poll(0).requests == ()


def test_version_3_names_one_key_and_version_4_a_list() -> None:
    (request,) = LookUp().manager.poll(0).requests
    old: Any = request.build(3)
    new: Any = request.build(4)
    assert (old.key, old.key_type, old.coordinator_keys) == ("group", 0, ())
    assert (new.key, new.key_type, new.coordinator_keys) == ("", 0, ("group",))


@pytest.mark.parametrize(
    ("response", "version"), [(FindCoordinatorResponse(node_id=3, host="b3", port=9), 3), (batched(), 4)]
)
def test_the_coordinator_is_taken_from_either_form_with_its_address(
    response: FindCoordinatorResponse, version: int
) -> None:
    look_up = LookUp()
    look_up.answer(response, version=version)
    assert look_up.manager.node_id == 3
    assert look_up.metadata.nodes[3] == Node(3, "b3", 9)
    assert look_up.manager.poll(0).requests == ()


def test_the_address_of_a_known_broker_leaves_its_rack_as_it_is() -> None:
    look_up = LookUp()
    look_up.metadata.nodes[3] = Node(3, "old", 9, "r1")
    look_up.answer(batched())
    assert look_up.metadata.nodes[3] == Node(3, "b3", 9, "r1")
    look_up.manager.mark_unknown()
    assert len(look_up.manager.poll(0).requests) == 1


def test_one_look_up_at_a_time() -> None:
    look_up = LookUp()
    look_up.manager.poll(0)
    assert look_up.manager.poll(0).requests == ()


def test_a_coordinator_not_there_yet_is_looked_for_at_a_bounded_rate() -> None:
    look_up, now_ms, requests = LookUp(), 0, 0
    while now_ms < 10_000:
        result = look_up.manager.poll(now_ms)
        if result.requests:
            requests += 1
            answer = batched(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
            look_up.manager.on_response(result.requests[0], ClientResponse(answer, 6, 1), now_ms)
        else:
            now_ms += result.wait_ms
    assert 8 <= requests <= 20
    assert not look_up.errors


def test_an_error_that_stays_ends_the_client_and_the_look_ups() -> None:
    look_up = LookUp()
    look_up.answer(batched(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED, error_message="no"))
    assert isinstance(look_up.errors.fatal, GroupAuthorizationFailedError)
    assert look_up.manager.poll(100_000).requests == ()


def test_a_lost_look_up_and_a_throttle_time_wait() -> None:
    look_up = LookUp()
    (request,) = look_up.manager.poll(0).requests
    look_up.manager.on_failure(request, DisconnectedError("gone"), 0)
    wait_ms = look_up.manager.poll(0).wait_ms
    assert 80 <= wait_ms <= 120
    throttled = FindCoordinatorResponse(
        throttle_time_ms=900, coordinators=batched(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE).coordinators
    )
    look_up.answer(throttled, now_ms=wait_ms)
    assert look_up.manager.poll(wait_ms).wait_ms == 900


def test_the_coordinator_of_a_transactional_id_is_another_one() -> None:
    look_up = LookUp(CoordinatorType.TRANSACTION)
    (request,) = look_up.manager.poll(0).requests
    old: Any = request.build(3)
    new: Any = request.build(4)
    assert (old.key_type, new.key_type) == (1, 1)
    answer = batched(error_code=ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    look_up.manager.on_response(request, ClientResponse(answer, 6, 1), 0)
    assert "needs WRITE on the transactional id group (" in str(look_up.errors.fatal)
