"""The hard state of a share-partition as values: what is written, read and described (KIP-932)."""

from attrs import frozen

from kafka_groups.broker.share_partitions.record_state import RecordState

__all__ = ["PersistedState", "PersisterStateBatch", "StateUpdate"]


@frozen
class PersisterStateBatch:
    """The state of a range of offsets, as in WriteShareGroupState."""

    first_offset: int
    last_offset: int
    delivery_state: RecordState
    delivery_count: int


@frozen
class StateUpdate:
    """One record of the state log: the changes of an operation.

    Attributes:
        state_epoch: Epoch of the state that it belongs to.
        leader_epoch: Epoch of the leader that writes it.
        start_offset: The start offset before the change. Replaying the record moves it past terminal records. Kafka
            does the same, so a described start offset may be one write behind.
        delivery_complete_count: Terminal records from `start_offset` on, after the change (KIP-1226).
        batches: The new states.
    """

    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    batches: tuple[PersisterStateBatch, ...]


@frozen
class PersistedState:
    """The full state of a share-partition. Offsets from `start_offset` on that are in no batch are available."""

    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    batches: tuple[PersisterStateBatch, ...]
