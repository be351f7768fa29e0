"""The share coordinator of another broker, by the RPCs 83 to 87 (KIP-932, "Share coordinator")."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from kafka_groups.broker.coordinators.share_state.shard import StateWrite
from kafka_groups.broker.coordinators.share_state.state import StateKey
from kafka_groups.broker.runtime.coordinator_runtime import Done
from kafka_groups.broker.runtime.peers import Peers
from kafka_groups.broker.runtime.share_coordinator import StateRead
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


class RemoteShareCoordinator:
    """Has the operations of `ShareCoordinator`. An outcome may also be CoordinatorNotAvailableError: no answer came.

    Args:
        peers: The connections to other brokers.
        node_id: The broker that is asked.
    """

    def __init__(self, peers: Peers, node_id: int) -> None:
        self._peers = peers
        self._node_id = node_id

    def create(self, key: StateKey, state_epoch: int, start_offset: int, done: Done[None]) -> None:
        """Create the state of a share-partition, unless it has one."""
        partition = InitializeShareStatePartition(partition=key[2], state_epoch=state_epoch, start_offset=start_offset)
        topic = InitializeShareStateTopic(topic_id=key[1], partitions=(partition,))
        self._ask(InitializeShareGroupStateRequest(group_id=key[0], topics=(topic,)), _nothing, done)

    def read(self, key: StateKey, leader_epoch: int, done: Done[StateRead]) -> None:
        """Return the state of a share-partition for a leader with the given epoch. It has no count."""
        partition = ReadShareStatePartition(partition=key[2], leader_epoch=leader_epoch)
        topic = ReadShareStateTopic(topic_id=key[1], partitions=(partition,))
        self._ask(ReadShareGroupStateRequest(group_id=key[0], topics=(topic,)), partial(_state, leader_epoch), done)

    def write(self, key: StateKey, change: StateWrite, done: Done[None]) -> None:
        """Change the state of a share-partition."""
        partition = WriteShareStatePartition(
            partition=key[2],
            state_epoch=change.state_epoch,
            leader_epoch=change.leader_epoch,
            start_offset=change.start_offset,
            delivery_complete_count=change.delivery_complete_count,
            state_batches=change.batches,
        )
        topic = WriteShareStateTopic(topic_id=key[1], partitions=(partition,))
        self._ask(WriteShareGroupStateRequest(group_id=key[0], topics=(topic,)), _nothing, done)

    def delete(self, key: StateKey, done: Done[None]) -> None:
        """Delete the state of a share-partition, if it has one. The state of a deleted topic goes by itself."""
        topic = DeleteShareStateTopic(topic_id=key[1], partitions=(DeleteShareStatePartition(partition=key[2]),))

        def deleted(outcome: BrokerError | None) -> None:
            is_gone = isinstance(outcome, UnknownTopicOrPartitionError | UnknownTopicIdError)
            done(None if is_gone else outcome)

        self._ask(DeleteShareGroupStateRequest(group_id=key[0], topics=(topic,)), _nothing, deleted)

    def summarize(self, key: StateKey, done: Done[StateRead | None]) -> None:
        """Return the state of a share-partition without its batches, or None if it has none or was never used."""
        partition = ReadShareStateSummaryPartition(partition=key[2], leader_epoch=_UNKNOWN_EPOCH)
        topic = ReadShareStateSummaryTopic(topic_id=key[1], partitions=(partition,))
        self._ask(ReadShareGroupStateSummaryRequest(group_id=key[0], topics=(topic,)), _summary, done)

    def _ask(self, request: object, read: Callable[[Any], T], done: Done[T]) -> None:
        self._peers.ask(self._node_id, request, partial(_answered, read, done))


def _answered(read: Callable[[Any], T], done: Done[T], response: Any) -> None:
    """Pass on the result of the only share-partition of a response."""
    if isinstance(response, BrokerError):
        done(response)
        return
    results = [partition for topic in response.results for partition in topic.partitions]
    if len(results) != 1:
        done(UnknownServerError(f"The share coordinator answered for {len(results)} share-partitions instead of one."))
        return
    [result] = results
    if result.error_code:
        done(error_for(result.error_code, result.error_message))
    else:
        done(read(result))


def _nothing(_result: object) -> None:
    return None


def _state(leader_epoch: int, result: Any) -> StateRead:
    return StateRead(result.state_epoch, leader_epoch, result.start_offset, UNKNOWN_COUNT, result.state_batches)


def _summary(result: Any) -> StateRead | None:
    if result.start_offset == UNINITIALIZED_OFFSET:
        return None
    return StateRead(result.state_epoch, result.leader_epoch, result.start_offset, result.delivery_complete_count)
