"""What a leader of share-partitions needs of the share coordinator."""

from typing import Protocol
from uuid import UUID

from kafka_groups.broker.share_partitions.history import DeliveryHistory
from kafka_groups.broker.share_partitions.persisted_state import PersistedState, StateUpdate

__all__ = ["Persister"]


class Persister(Protocol):
    """Keeps the state of share-partitions (KIP-932, "Share-group persister"). `SharePersister` implements this."""

    @property
    def history(self) -> DeliveryHistory:
        """The deliveries that ended, for tests."""
        ...

    def read(self, group_id: str, topic_id: UUID, partition: int, leader_epoch: int) -> PersistedState:
        """Return the state for a leader with the given epoch. Fences leaders with older epochs.

        Raises:
            BrokerError: There is no state, or a leader with a newer epoch has read it.
        """
        ...

    def write(self, group_id: str, topic_id: UUID, partition: int, update: StateUpdate) -> None:
        """Persist a change.

        Raises:
            BrokerError: There is no state, or a newer leader or a newer state has taken over.
        """
        ...
