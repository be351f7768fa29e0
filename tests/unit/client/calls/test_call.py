"""The state of a call, against scripted responses: where keys are asked for, what is asked again, and when it ends."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.client.calls.call import Call, CallSettings
from kafka_groups.client.calls.questions import COORDINATORS, LEADERS, Answer, Lookup, Question, Unfinished
from kafka_groups.client.metadata import Metadata, Node
from kafka_groups.client.requests import ClientResponse, OutgoingRequest
from kafka_groups.errors import (
    BrokerError,
    ClosedError,
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    DisconnectedError,
    GroupAuthorizationFailedError,
    GroupIdNotFoundError,
    KafkaGroupsError,
    NotCoordinatorError,
    OperationTimeoutError,
    ProtocolError,
    UnknownTopicOrPartitionError,
    UnsupportedVersionError,
)
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.delete_groups import DeletableGroupResult, DeleteGroupsResponse
from kafka_groups.protocol.messages.find_coordinator import Coordinator, FindCoordinatorResponse
from kafka_groups.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_groups.types import TopicPartition

TIMEOUT_MS = 10_000
FIND, ASK = ApiKey.FIND_COORDINATOR, ApiKey.DELETE_GROUPS
NONE = ErrorCode.NONE


def read(_keys: Sequence[Any], response: Any) -> Mapping[Any, Answer[str]]:
    """The answers are what the script says."""
    answers: Mapping[Any, Answer[str]] = response.results
    return answers


class Script:
    """A call whose requests the test answers.

    Attributes:
        requests: Those that are under way, in the order in which they were sent.
    """

    def __init__(self, *keys: Any, lookup: Lookup[Any] | None = COORDINATORS, places: Any = None) -> None:
        self.metadata = Metadata()
        question: Question[Any, str] = Question(
            "ask", ASK, keys, lambda keys, _version: tuple(keys), read, lookup, places or {}
        )
        backoff = BackoffTimer(100, 1_000, random.Random(1))
        self.ended = 0
        self.call = Call(question, self.metadata, backoff, CallSettings(TIMEOUT_MS, TIMEOUT_MS, 500), self.end)
        self.requests: list[OutgoingRequest] = []
        self.now_ms = 0

    def end(self) -> None:
        self.ended += 1

    def turn(self) -> list[tuple[ApiKey, int | None, tuple[Any, ...]]]:
        """Take the requests that are due now; returns API, broker and keys of each."""
        sent = self.call.poll(self.now_ms).requests
        self.requests += sent
        return [(each.api, each.node_id, each.context.keys) for each in sent]

    def wait(self) -> list[tuple[ApiKey, int | None, tuple[Any, ...]]]:
        """Let the time pass for which the call wants to wait."""
        self.now_ms += self.call.poll(self.now_ms).wait_ms
        return self.turn()

    def found(self, *nodes: int | ErrorCode) -> None:
        """Answer the first request: the coordinators of its keys."""
        request = self.requests.pop(0)
        assert request.api is FIND
        pairs = zip(request.context.keys, nodes, strict=True)
        self.respond(request, FindCoordinatorResponse(coordinators=tuple(coordinator(*pair) for pair in pairs)))

    def told(self, throttle_time_ms: int = 0, **answers: Answer[str]) -> None:
        """Answer the first request."""
        message = DeleteGroupsResponse(throttle_time_ms=throttle_time_ms, results=answers)  # type: ignore[arg-type]
        self.respond(self.requests.pop(0), message)

    def lost(self, error: Exception | None = None) -> None:
        """Let the first request fail."""
        request = self.requests.pop(0)
        self.call.on_failure(request.context, error or DisconnectedError("gone"), self.now_ms)

    def respond(self, request: OutgoingRequest, message: Any) -> None:
        self.call.on_response(request.context, ClientResponse(message, 6, 1), self.now_ms)

    def outcome(self) -> dict[Any, Any]:
        """Values, and the classes of errors."""
        assert self.call.is_done
        assert self.ended == 1
        results = self.call.results
        return {**results.values, **{key: type(error) for key, error in results.errors.items()}}


def coordinator(key: str, node: int | ErrorCode) -> Coordinator:
    if isinstance(node, ErrorCode):
        return Coordinator(key=key, node_id=-1, host="", port=-1, error_code=node)
    return Coordinator(key=key, node_id=node, host=f"b{node}", port=9)


def test_keys_are_looked_up_together_and_asked_for_at_each_coordinator() -> None:
    script = Script("a", "b", "c")
    assert script.turn() == [(FIND, None, ("a", "b", "c"))]
    assert script.turn() == []
    script.found(1, 2, 1)
    assert script.metadata.nodes[2] == Node(2, "b2", 9)
    assert script.turn() == [(ASK, 1, ("a", "c")), (ASK, 2, ("b",))]
    script.told(a="A", c="C")
    assert not script.call.is_done
    script.told(b="B")
    assert script.outcome() == {"a": "A", "b": "B", "c": "C"}
    assert script.turn() == []


def test_without_a_lookup_any_broker_is_asked_or_those_that_are_known() -> None:
    assert Script("a", lookup=None).turn() == [(ASK, None, ("a",))]
    assert Script(1, 2, lookup=None, places={1: 1, 2: 2}).turn() == [(ASK, 1, (1,)), (ASK, 2, (2,))]


def test_what_fails_for_one_key_fails_for_no_other() -> None:
    script = Script("a", "b", "c")
    script.turn()
    script.found(1, ErrorCode.GROUP_AUTHORIZATION_FAILED, 1)
    script.turn()
    script.told(a="A", c=GroupIdNotFoundError("no c"))
    assert script.outcome() == {"a": "A", "b": GroupAuthorizationFailedError, "c": GroupIdNotFoundError}
    with pytest.raises(GroupIdNotFoundError, match="no c"):
        script.call.results.__getitem__("c")


def test_a_coordinator_that_has_moved_is_looked_up_again_for_its_keys_alone() -> None:
    script = Script("a", "b")
    script.turn()
    script.found(1, 1)
    script.turn()
    script.told(a=NotCoordinatorError(), b="B")
    assert script.turn() == []
    assert script.wait() == [(FIND, None, ("a",))]
    assert 80 <= script.now_ms <= 120
    script.found(2)
    assert script.turn() == [(ASK, 2, ("a",))]
    script.told(a="A")
    assert script.outcome() == {"a": "A", "b": "B"}


def test_a_coordinator_that_loads_is_asked_again_without_a_lookup() -> None:
    script = Script("a")
    script.turn()
    script.found(1)
    script.turn()
    script.told(a=CoordinatorLoadInProgressError())
    assert script.wait() == [(ASK, 1, ("a",))]


def test_waits_grow_while_nothing_comes_of_it() -> None:
    script, waits = Script("a"), []
    script.turn()
    while script.requests:
        before_ms = script.now_ms
        script.found(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        script.wait()
        waits.append(script.now_ms - before_ms)
    assert 12 <= len(waits) <= 16
    assert waits[0] <= 120
    assert max(waits) <= 1_200
    assert script.now_ms == TIMEOUT_MS
    assert script.outcome() == {"a": OperationTimeoutError}


@pytest.mark.parametrize("lost_lookup", [True, False])
def test_a_lost_request_is_sent_again_after_another_lookup(lost_lookup: bool) -> None:
    script = Script("a")
    script.turn()
    if not lost_lookup:
        script.found(1)
        script.turn()
    script.lost()
    assert script.turn() == []
    assert script.wait() == [(FIND, None, ("a",))]


def test_a_failure_that_stays_ends_its_keys() -> None:
    script = Script("a", "b")
    script.turn()
    script.found(1, 2)
    script.turn()
    script.lost(UnsupportedVersionError("too old"))
    script.told(b="B")
    assert script.outcome() == {"b": "B", "a": UnsupportedVersionError}


def test_a_bug_is_no_failure_of_the_call() -> None:
    script = Script("a")
    script.turn()
    with pytest.raises(ZeroDivisionError):
        script.lost(ZeroDivisionError())


def test_brokers_that_look_up_one_key_at_a_time() -> None:
    script = Script("a", "b")
    script.turn()
    (request,) = script.requests
    with pytest.raises(UnsupportedVersionError) as raised:
        request.build(3)
    script.lost(raised.value)
    assert script.turn() == [(FIND, None, ("a",)), (FIND, None, ("b",))]
    old: Any = script.requests[0].build(3)
    assert (old.key, old.coordinator_keys) == ("a", ())
    script.respond(script.requests.pop(0), FindCoordinatorResponse(node_id=3, host="b3", port=9))
    script.lost(UnsupportedVersionError("too old for b"))
    assert script.turn() == [(ASK, 3, ("a",))]
    script.told(a="A")
    assert script.outcome() == {"a": "A", "b": UnsupportedVersionError}


def test_a_key_that_the_response_leaves_out_is_an_error() -> None:
    script = Script("a", "b", lookup=None)
    script.turn()
    script.told(a="A")
    assert script.outcome() == {"a": "A", "b": ProtocolError}


def test_time_runs_out_for_keys_without_an_answer_and_the_error_says_why() -> None:
    script = Script("a", "b", "c")
    script.turn()
    script.found(1, 2, 3)
    script.turn()
    script.told(a="A")
    script.told(b=NotCoordinatorError("moved"))
    late = script.requests.pop(0)
    script.now_ms = TIMEOUT_MS
    assert script.turn() == []
    assert script.outcome() == {"a": "A", "b": OperationTimeoutError, "c": OperationTimeoutError}
    assert script.call.has_timed_out
    errors = script.call.results.errors
    assert str(errors["b"]) == "Could not ask (b) within 10000 ms: moved."
    assert isinstance(errors["b"].__cause__, NotCoordinatorError)
    assert str(errors["c"]) == "Could not ask (c) within 10000 ms: no response."
    script.respond(late, DeleteGroupsResponse(results=(DeletableGroupResult(group_id="c"),)))
    script.call.on_failure(late.context, DisconnectedError("late"), TIMEOUT_MS)
    assert script.outcome()["c"] is OperationTimeoutError


def test_a_part_that_may_pass_is_asked_for_again_and_counts_at_the_end() -> None:
    for better in (True, False):
        script = Script("a", lookup=None)
        script.turn()
        script.told(a=Unfinished("half", CoordinatorLoadInProgressError()))
        assert script.wait() == [(ASK, None, ("a",))]
        if better:
            script.told(a="whole")
        else:
            script.now_ms = TIMEOUT_MS
            script.turn()
        assert script.outcome() == {"a": "whole" if better else "half"}


def test_an_unknown_topic_is_not_waited_for() -> None:
    script = Script("a", lookup=None)
    script.turn()
    script.told(a=UnknownTopicOrPartitionError())
    assert script.outcome() == {"a": UnknownTopicOrPartitionError}


def test_a_throttle_time_delays_what_comes_next() -> None:
    script = Script("a", lookup=None)
    script.turn()
    script.told(throttle_time_ms=900, a=CoordinatorLoadInProgressError())
    script.wait()
    assert script.now_ms == 900


def test_a_call_without_keys_and_one_without_time_send_nothing() -> None:
    nothing = Script()
    assert nothing.turn() == []
    assert nothing.outcome() == {}
    late = Script("a")
    late.now_ms = TIMEOUT_MS
    assert late.turn() == []
    assert late.outcome() == {"a": OperationTimeoutError}


def test_a_call_that_fails_as_a_whole() -> None:
    script = Script("a")
    script.turn()
    script.call.fail(ClosedError("closed"))
    script.call.fail(KafkaGroupsError("later"))
    assert isinstance(script.call.failure, ClosedError)
    assert script.ended == 1
    assert script.turn() == []


# ------------------------------------------------------------------------------------------- leaders


def partition(number: int, leader: int) -> MetadataResponsePartition:
    return MetadataResponsePartition(partition_index=number, leader_id=leader)


def topic(name: str, *leaders: int, error: ErrorCode = NONE) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        name=name, error_code=error, partitions=tuple(partition(*each) for each in enumerate(leaders))
    )


def test_partitions_are_asked_for_at_their_leaders() -> None:
    keys = [TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("t", 2), TopicPartition("u", 0)]
    script = Script(*keys, lookup=LEADERS)
    assert script.turn() == [(ApiKey.METADATA, None, tuple(keys))]
    wanted: Any = script.requests[0].build(13)
    assert [each.name for each in wanted.topics] == ["t", "u"]
    assert not wanted.allow_auto_topic_creation
    assert script.requests[0].build(3).allow_auto_topic_creation  # type: ignore[attr-defined]  # v3 cannot say it
    brokers = (MetadataResponseBroker(node_id=4, host="b4", port=9),)
    refused = topic("u", error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    script.respond(script.requests.pop(0), MetadataResponse(brokers=brokers, topics=(topic("t", 4, -1), refused)))
    assert script.metadata.nodes[4] == Node(4, "b4", 9)
    assert script.turn() == []
    assert script.wait() == [(ApiKey.METADATA, None, (keys[1],)), (ASK, 4, (keys[0],))]
    script.now_ms = TIMEOUT_MS
    script.turn()
    assert script.outcome() == {
        keys[0]: OperationTimeoutError,
        keys[1]: OperationTimeoutError,
        keys[2]: UnknownTopicOrPartitionError,
        keys[3]: UnknownTopicOrPartitionError,
    }
    assert "LEADER_NOT_AVAILABLE" in str(script.call.results.errors[keys[1]])


def test_a_broker_that_has_the_client_rebootstrap() -> None:
    script = Script(TopicPartition("t", 0), lookup=LEADERS)
    script.metadata.nodes[1] = Node(1, "old", 9)
    script.turn()
    script.respond(script.requests.pop(0), MetadataResponse(error_code=ErrorCode.REBOOTSTRAP_REQUIRED))
    assert script.metadata.nodes == {}
    assert script.wait() == [(ApiKey.METADATA, None, (TopicPartition("t", 0),))]


def test_errors_keep_their_codes() -> None:
    script = Script("a")
    script.turn()
    script.found(ErrorCode.INVALID_GROUP_ID)
    error = script.call.results.errors["a"]
    assert isinstance(error, BrokerError)
    assert error.code == ErrorCode.INVALID_GROUP_ID
    assert not isinstance(error, CoordinatorNotAvailableError)
