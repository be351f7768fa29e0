"""Questions to the share coordinator of another broker: those that wait for a request become one request together."""

from typing import Any
from uuid import UUID

from attrs import evolve

from kafka_groups.broker.runtime.share_state.remote_share_coordinator import RemoteShareCoordinator
from kafka_groups.errors import BrokerError, CoordinatorNotAvailableError, InvalidRequestError, UnknownServerError
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.share_state import ShareStatePartitionResult, ShareStateTopicResult
from kafka_groups.protocol.messages.write_share_group_state import (
    WriteShareGroupStateRequest,
    WriteShareGroupStateResponse,
)
from tests.support.broker.share_state import change_of

ONE, TWO = UUID(int=1), UUID(int=2)
CHANGE = change_of(0, 0, 0, 0)


class Peers:
    """Takes requests, and answers when the test wants it."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, Any]] = []

    def ask(self, _node_id: int, request: object, done: Any) -> None:
        self.asked.append((request, done))

    def places(self) -> list[list[tuple[int, int]]]:
        """The share-partitions of each request that was not answered."""
        return [_places(request) for request, _ in self.asked]

    def answer(self, *failing: tuple[int, int], leaves_out: tuple[int, int] | None = None) -> None:
        """Answer the oldest request; some share-partitions have no state."""
        request, done = self.asked.pop(0)
        topics: dict[int, list[ShareStatePartitionResult]] = {}
        for topic, partition in _places(request):
            if (topic, partition) != leaves_out:
                code = ErrorCode.INVALID_REQUEST if (topic, partition) in failing else ErrorCode.NONE
                topics.setdefault(topic, []).append(ShareStatePartitionResult(partition=partition, error_code=code))
        results = tuple(
            ShareStateTopicResult(topic_id=UUID(int=topic), partitions=tuple(parts)) for topic, parts in topics.items()
        )
        done(WriteShareGroupStateResponse(results=results))


def _places(request: WriteShareGroupStateRequest) -> list[tuple[int, int]]:
    return [
        (topic.topic_id.int, each.partition) for topic in request.topics for each in topic.partitions if topic.topic_id
    ]


class Scene:
    """A remote coordinator and the outcomes of what it was asked."""

    def __init__(self) -> None:
        self.peers = Peers()
        self.remote = RemoteShareCoordinator(self.peers, 2)  # type: ignore[arg-type]
        self.outcomes: list[tuple[int, int, type[BrokerError] | None]] = []

    def write(self, topic_id: UUID, partition: int, group_id: str = "g") -> None:
        def done(outcome: BrokerError | None) -> None:
            self.outcomes.append((topic_id.int, partition, None if outcome is None else type(outcome)))

        self.remote.write((group_id, topic_id, partition), evolve(CHANGE, partition=partition), done)


def test_what_comes_while_a_request_is_under_way_becomes_one_request() -> None:
    scene = Scene()
    for topic_id, partition in ((ONE, 0), (ONE, 1), (TWO, 0), (ONE, 2)):
        scene.write(topic_id, partition)
    assert scene.peers.places() == [[(1, 0)]]
    scene.peers.answer()
    assert scene.peers.places() == [[(1, 1), (1, 2), (2, 0)]]
    scene.peers.answer()
    assert scene.outcomes == [(1, 0, None), (1, 1, None), (2, 0, None), (1, 2, None)]
    assert scene.peers.asked == []
    assert scene.remote._lines == {}


def test_each_share_partition_has_its_own_outcome() -> None:
    scene = Scene()
    for partition in range(4):
        scene.write(ONE, partition)
    scene.peers.answer()
    scene.peers.answer((1, 2), leaves_out=(1, 3))
    assert scene.outcomes == [(1, 0, None), (1, 1, None), (1, 2, InvalidRequestError), (1, 3, UnknownServerError)]


def test_a_request_names_a_share_partition_once() -> None:
    scene = Scene()
    for partition in (0, 1, 1, 2):
        scene.write(ONE, partition)
    scene.peers.answer()
    assert scene.peers.places() == [[(1, 1), (1, 2)]]
    scene.peers.answer((1, 1))
    assert scene.peers.places() == [[(1, 1)]]
    scene.peers.answer()
    assert scene.outcomes[1:] == [(1, 1, InvalidRequestError), (1, 2, None), (1, 1, None)]


def test_groups_and_kinds_of_requests_do_not_wait_for_each_other() -> None:
    scene = Scene()
    scene.write(ONE, 0)
    scene.write(ONE, 0, "other")
    scene.remote.delete(("g", ONE, 0), lambda _outcome: None)
    assert [type(request).__name__ for request, _ in scene.peers.asked] == [
        "WriteShareGroupStateRequest",
        "WriteShareGroupStateRequest",
        "DeleteShareGroupStateRequest",
    ]


def test_without_an_answer_all_hear_of_it_and_the_next_go_on() -> None:
    scene = Scene()
    for partition in range(3):
        scene.write(ONE, partition)
    scene.peers.answer()
    scene.write(ONE, 7)
    _, done = scene.peers.asked.pop(0)
    done(CoordinatorNotAvailableError())
    assert scene.outcomes[1:] == [(1, 1, CoordinatorNotAvailableError), (1, 2, CoordinatorNotAvailableError)]
    assert scene.peers.places() == [[(1, 7)]]
