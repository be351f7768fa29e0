"""The share coordinator as leaders of share-partitions use it."""

from collections.abc import Callable
from typing import Protocol
from uuid import UUID

from kafka_groups.broker.share_partitions.history import DeliveryHistory
from kafka_groups.broker.share_partitions.persisted_state import PersistedState
from kafka_groups.errors import BrokerError
from kafka_groups.protocol.messages.write_share_group_state import WriteShareStatePartition

__all__ = ["Persister"]


class Persister(Protocol):
    """Keeps the state of share-partitions (KIP-932, "Share-group state persister interface").

    `SharePersister` implements this.

    Each operation takes a group id, topic id and partition, and a function for its outcome, which may be called at once
    or later.
    """

    @property
    def history(self) -> DeliveryHistory:
        """The deliveries that ended, for tests."""
        ...

    def read(
        self, key: tuple[str, UUID, int], leader_epoch: int, done: Callable[[PersistedState | BrokerError], None]
    ) -> None:
        """Read the state for a leader with the given epoch. Fences leaders with older epochs.

        The outcome is an error if there is no state, or if a leader with a newer epoch has read it.
        """
        ...

    def write(
        self, key: tuple[str, UUID, int], change: WriteShareStatePartition, done: Callable[[BrokerError | None], None]
    ) -> None:
        """Persist a change.

        The outcome is an error if there is no state, or if a newer leader or a newer state has taken over.
        """
        ...
