"""The share coordinator of another broker, by the RPCs 83 to 87.

KIP-932, "The share coordinator and the share-group state topic".
"""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

from attrs import define, field, frozen

from kafka_groups.broker.coordinators.share_state.share_partition_state import StateKey
from kafka_groups.broker.runtime.led_shard import Done
from kafka_groups.broker.runtime.peers import Peers
from kafka_groups.broker.share_partitions.persisted_state import PersistedState
from kafka_groups.errors import (
    BrokerError,
    UnknownServerError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
    error_for,
)
from kafka_groups.protocol.messages.delete_share_group_state import (
    DeleteShareGroupStateRequest,
    DeleteShareStatePartition,
    DeleteShareStateTopic,
)
from kafka_groups.protocol.messages.initialize_share_group_state import (
    InitializeShareGroupStateRequest,
    InitializeShareStatePartition,
    InitializeShareStateTopic,
)
from kafka_groups.protocol.messages.read_share_group_state import (
    ReadShareGroupStateRequest,
    ReadShareStatePartition,
    ReadShareStateTopic,
)
from kafka_groups.protocol.messages.read_share_group_state_summary import (
    ReadShareGroupStateSummaryRequest,
    ReadShareStateSummaryPartition,
    ReadShareStateSummaryTopic,
)
from kafka_groups.protocol.messages.share_state import UNINITIALIZED_OFFSET, UNKNOWN_COUNT
from kafka_groups.protocol.messages.write_share_group_state import (
    WriteShareGroupStateRequest,
    WriteShareStatePartition,
    WriteShareStateTopic,
)

__all__ = ["RemoteShareCoordinator"]

T = TypeVar("T")

_UNKNOWN_EPOCH = -1


@frozen
class _Rpc:
    """One of the RPCs: its request has the id of a group, and topics with partitions."""

    request: Callable[..., object]
    topic: Callable[..., object]


_CREATE = _Rpc(InitializeShareGroupStateRequest, InitializeShareStateTopic)
_READ = _Rpc(ReadShareGroupStateRequest, ReadShareStateTopic)
_WRITE = _Rpc(WriteShareGroupStateRequest, WriteShareStateTopic)
_DELETE = _Rpc(DeleteShareGroupStateRequest, DeleteShareStateTopic)
_SUMMARIZE = _Rpc(ReadShareGroupStateSummaryRequest, ReadShareStateSummaryTopic)


@frozen(eq=False)
class _PartitionRequest:
    """A request about one share-partition.

    Attributes:
        place: Topic id and partition.
        partition: Its part of the request.
        read: Makes the response of its result.
        done: Takes the response.
    """

    place: tuple[UUID, int]
    partition: object
    read: Callable[[Any], Any]
    done: Done[Any]


@define(eq=False)
class _Line:
    """The requests of one group by one RPC that wait for the request that is under way."""

    waiting: list[_PartitionRequest] = field(factory=list)
    is_under_way: bool = False

    def take(self) -> list[_PartitionRequest]:
        """Take the next ones: one of each share-partition, because a request names each once."""
        first: dict[tuple[UUID, int], _PartitionRequest] = {}
        for each in self.waiting:
            first.setdefault(each.place, each)
        self.waiting = [each for each in self.waiting if first[each.place] is not each]
        return list(first.values())


class RemoteShareCoordinator:
    """Has the operations of `ShareCoordinator`. An outcome may also be CoordinatorNotAvailableError: no answer came.

    While a request is under way, further ones of the same kind for the same group wait, and become one request
    together, as in Kafka.

    Args:
        peers: The connections to other brokers.
        node_id: The broker that is asked.
    """

    def __init__(self, peers: Peers, node_id: int) -> None:
        self._peers = peers
        self._node_id = node_id
        self._lines: dict[tuple[_Rpc, str], _Line] = {}

    def create(self, key: StateKey, state_epoch: int, start_offset: int, done: Done[None]) -> None:
        """Create the state of a share-partition, unless it has one."""
        partition = InitializeShareStatePartition(partition=key[2], state_epoch=state_epoch, start_offset=start_offset)
        self._ask(_CREATE, key, partition, _nothing, done)

    def read(self, key: StateKey, leader_epoch: int, done: Done[PersistedState]) -> None:
        """Return the state of a share-partition for a leader with the given epoch. It has no count."""
        partition = ReadShareStatePartition(partition=key[2], leader_epoch=leader_epoch)
        self._ask(_READ, key, partition, partial(_state, leader_epoch), done)

    def write(self, key: StateKey, change: WriteShareStatePartition, done: Done[None]) -> None:
        """Change the state of a share-partition."""
        self._ask(_WRITE, key, change, _nothing, done)

    def delete(self, key: StateKey, done: Done[None]) -> None:
        """Delete a share-partition's state, if it has one. The state of a deleted topic is deleted without this."""

        def deleted(outcome: BrokerError | None) -> None:
            # The coordinator deletes states together with their topic, so there is nothing left to delete.
            is_gone = isinstance(outcome, UnknownTopicOrPartitionError | UnknownTopicIdError)
            done(None if is_gone else outcome)

        self._ask(_DELETE, key, DeleteShareStatePartition(partition=key[2]), _nothing, deleted)

    def summarize(self, key: StateKey, done: Done[PersistedState | None]) -> None:
        """Return the state of a share-partition without its batches, or None if it has no state or was never used."""
        partition = ReadShareStateSummaryPartition(partition=key[2], leader_epoch=_UNKNOWN_EPOCH)
        self._ask(_SUMMARIZE, key, partition, _summary, done)

    def _ask(self, rpc: _Rpc, key: StateKey, partition: object, read: Callable[[Any], T], done: Done[T]) -> None:
        line = self._lines.setdefault((rpc, key[0]), _Line())
        line.waiting.append(_PartitionRequest((key[1], key[2]), partition, read, done))
        # One request at a time for each kind and group: the coordinator gets the changes of a share-partition in their
        # order.
        if not line.is_under_way:
            self._send(rpc, key[0], line)

    def _send(self, rpc: _Rpc, group_id: str, line: _Line) -> None:
        line.is_under_way = True
        asked = line.take()
        by_topic: dict[UUID, list[object]] = {}
        for each in asked:
            by_topic.setdefault(each.place[0], []).append(each.partition)
        topics = tuple(rpc.topic(topic_id=id_, partitions=tuple(parts)) for id_, parts in by_topic.items())
        answered = partial(self._answered, rpc, group_id, line, asked)
        self._peers.ask(self._node_id, rpc.request(group_id=group_id, topics=topics), answered)

    def _answered(self, rpc: _Rpc, group_id: str, line: _Line, asked: list[_PartitionRequest], response: Any) -> None:
        try:
            _pass_on(asked, response)
        finally:
            line.is_under_way = False
            if line.waiting:
                self._send(rpc, group_id, line)
            elif self._lines.get((rpc, group_id)) is line:
                del self._lines[rpc, group_id]


def _pass_on(asked: list[_PartitionRequest], response: Any) -> None:
    """Pass on the result of each share-partition, or the error that all of them have in common."""
    if isinstance(response, BrokerError):
        for each in asked:
            each.done(response)
        return
    results = {(topic.topic_id, part.partition): part for topic in response.results for part in topic.partitions}
    for each in asked:
        each.done(_outcome(each, results.get(each.place)))


def _outcome(asked: _PartitionRequest, result: Any) -> Any:
    # A coordinator answers for each share-partition of a request, so this one breaks the protocol.
    if result is None:
        return UnknownServerError("The share coordinator did not answer for all share-partitions.")
    return error_for(result.error_code, result.error_message) if result.error_code else asked.read(result)


def _nothing(_result: object) -> None:
    return None


def _state(leader_epoch: int, result: Any) -> PersistedState:
    return PersistedState(result.state_epoch, leader_epoch, result.start_offset, UNKNOWN_COUNT, result.state_batches)


def _summary(result: Any) -> PersistedState | None:
    # -1 stands for two cases: no state, or one that no leader has read yet. Neither has anything to summarize.
    if result.start_offset == UNINITIALIZED_OFFSET:
        return None
    return PersistedState(result.state_epoch, result.leader_epoch, result.start_offset, result.delivery_complete_count)
