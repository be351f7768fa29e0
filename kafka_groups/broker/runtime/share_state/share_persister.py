"""Client of the cluster's share coordinators, for leaders of share-partitions.

KIP-932, "Share-group state persister interface".

A leader reads a share-partition's state when it starts to lead it, and writes every change of hard state before it
applies the change. Acquisitions are not hard state: after a change of leader those records are available again, with
the delivery count that was last persisted. The group coordinator has states created and deleted.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from attrs import frozen

from kafka_groups.broker.coordinators.share_state.share_partition_state import StateKey
from kafka_groups.broker.metadata.placement import leader_of
from kafka_groups.broker.metadata.topics import NO_LEADER
from kafka_groups.broker.runtime.led_shard import Done
from kafka_groups.broker.runtime.outcome import outcome_of
from kafka_groups.broker.runtime.parts import BrokerParts
from kafka_groups.broker.runtime.peers import Peers
from kafka_groups.broker.runtime.share_state.remote_share_coordinator import RemoteShareCoordinator
from kafka_groups.broker.runtime.share_state.share_coordinator import ShareCoordinator, state_partition
from kafka_groups.broker.share_partitions.persisted_state import PersistedState
from kafka_groups.errors import (
    BrokerError,
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    NotCoordinatorError,
)
from kafka_groups.protocol.messages.write_share_group_state import WriteShareStatePartition

__all__ = ["SharePersister"]

_RETRIABLE = (CoordinatorLoadInProgressError, CoordinatorNotAvailableError, NotCoordinatorError)
_FIRST_BACK_OFF_MS, _MOST_BACK_OFF_MS = 50, 1_000
_MOST_TRIES = 12
"""With these, a coordinator may be away for some eight seconds. Kafka waits longer, with fewer tries."""

AnyShareCoordinator = ShareCoordinator | RemoteShareCoordinator
"""The share coordinator of this broker, or of another one."""


@frozen
class _Question:
    """A request to the coordinator of a key."""

    key: StateKey
    ask: Callable[[AnyShareCoordinator, Done[Any]], None]
    done: Done[Any]


class SharePersister:
    """The states of all share-partitions, for one broker.

    Args:
        broker: The broker.
        coordinator: The share coordinator of this broker. Its topic is created with the first use.
        peers: The way to other brokers.

    Attributes:
        history: Takes the deliveries that ended, for tests.
    """

    def __init__(self, broker: BrokerParts, coordinator: ShareCoordinator, peers: Peers) -> None:
        self.history = broker.cluster.history
        self._node_id = broker.node_id
        self._later = broker.later
        self._topic = coordinator.topic
        self._coordinator = coordinator
        self._peers = peers
        self._remote: dict[int, RemoteShareCoordinator] = {}

    def __repr__(self) -> str:
        return f"<SharePersister to {self._topic.name}>"

    # ------------------------------------------------------------------------- for the group coordinator

    def create(self, key: StateKey, state_epoch: int, start_offset: int, done: Done[None]) -> None:
        """Create the state of a share-partition, unless it has one.

        Kafka's coordinator would begin an existing state afresh, so a repeated request could un-accept records. Here
        the group coordinator may ask twice.

        Args:
            key: The share-partition.
            state_epoch: Epoch of the state.
            start_offset: Offset at which delivery starts. -1 means the group's `share.auto.offset.reset`.
            done: Takes None, or the error.
        """
        self._ask(
            _Question(key, lambda coordinator, end: coordinator.create(key, state_epoch, start_offset, end), done)
        )

    def restart(self, key: StateKey, state_epoch: int, start_offset: int, done: Done[None]) -> None:
        """Begin the state of a share-partition afresh, or create it. The arguments are those of `create`.

        It is deleted and created. Each of the two may be repeated, if an answer is lost.
        """

        def deleted(error: BrokerError | None) -> None:
            if error is None:
                self.create(key, state_epoch, start_offset, done)
            else:
                done(error)

        self.delete(key, deleted)

    def delete(self, key: StateKey, done: Done[None]) -> None:
        """Delete the state of a share-partition, if it has one."""
        self._ask(_Question(key, lambda coordinator, end: coordinator.delete(key, end), done))

    async def summarize(self, key: StateKey) -> PersistedState | None:
        """Return the state of a share-partition without its batches, or None if there is none.

        Raises:
            BrokerError: The coordinator does not answer.
        """

        def begin(done: Done[PersistedState | None]) -> None:
            self._ask(_Question(key, lambda coordinator, end: coordinator.summarize(key, end), done))

        return await outcome_of(begin)

    # ------------------------------------------------------------------------- for share-partition leaders

    def read(self, key: StateKey, leader_epoch: int, done: Done[PersistedState]) -> None:
        """Read the state for a leader with the given epoch. Fences leaders with older epochs."""
        self._ask(_Question(key, lambda coordinator, end: coordinator.read(key, leader_epoch, end), done))

    def write(self, key: StateKey, change: WriteShareStatePartition, done: Done[None]) -> None:
        """Persist a change."""
        self._ask(_Question(key, lambda coordinator, end: coordinator.write(key, change, end), done))

    # -------------------------------------------------------------------------------------------- insides

    def _ask(self, question: _Question, number: int = 1) -> None:
        answered = partial(self._answered, question, number)
        try:
            coordinator = self._coordinator_of(question.key)
        except BrokerError as error:
            answered(error)
            return
        question.ask(coordinator, answered)

    def _answered(self, question: _Question, number: int, outcome: Any) -> None:
        # The coordinator moves or loads its partition: it is looked up again with each try. Any other error is an
        # answer.
        if isinstance(outcome, _RETRIABLE) and number < _MOST_TRIES:
            back_off_ms = min(_FIRST_BACK_OFF_MS * 2 ** (number - 1), _MOST_BACK_OFF_MS)
            self._later(back_off_ms, partial(self._ask, question, number + 1))
        else:
            question.done(outcome)

    def _coordinator_of(self, key: StateKey) -> AnyShareCoordinator:
        topic = self._topic.ensured()
        led = leader_of(topic, state_partition(key, topic.num_partitions))
        # The partition of the state topic has no leader at the moment. That passes, so the request is tried again.
        if led is None or led.leader_id == NO_LEADER:
            raise CoordinatorNotAvailableError
        # KIP-932, "The share coordinator and the share-group state topic": the coordinator of a share-partition is the
        # leader of the partition that its key hashes to. Within a broker it is called directly.
        if led.leader_id == self._node_id:
            return self._coordinator
        remote = self._remote.get(led.leader_id)
        if remote is None:
            remote = self._remote[led.leader_id] = RemoteShareCoordinator(self._peers, led.leader_id)
        return remote
