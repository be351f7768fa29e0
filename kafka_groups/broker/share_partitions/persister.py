"""The share coordinator as leaders of share-partitions use it."""

from collections.abc import Callable
from typing import Protocol
from uuid import UUID

from kafka_groups.broker.share_partitions.history import DeliveryHistory
from kafka_groups.broker.share_partitions.persisted_state import PersistedState, StateUpdate
from kafka_groups.errors import BrokerError

__all__ = ["Persister"]


class Persister(Protocol):
    """Keeps the state of share-partitions (KIP-932, "Share-group persister"). `SharePersister` implements this.

    Each operation takes a function for its outcome, which may be called at once or later.
    """

    @property
    def history(self) -> DeliveryHistory:
        """The deliveries that ended, for tests."""
        ...

    def read(
        self,
        group_id: str,
        topic_id: UUID,
        partition: int,
        leader_epoch: int,
        done: Callable[[PersistedState | BrokerError], None],
    ) -> None:
        """Read the state for a leader with the given epoch. Fences leaders with older epochs.

        The outcome is an error if there is no state, or if a leader with a newer epoch has read it.
        """
        ...

    def write(
        self,
        group_id: str,
        topic_id: UUID,
        partition: int,
        update: StateUpdate,
        done: Callable[[BrokerError | None], None],
    ) -> None:
        """Persist a change.

        The outcome is an error if there is no state, or if a newer leader or a newer state has taken over.
        """
        ...
