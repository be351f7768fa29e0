"""The hard state of a share-partition as a value: what is read and described (KIP-932)."""

from attrs import frozen

from kafka_groups.protocol.messages.share_state import StateBatch

__all__ = ["PersistedState"]


@frozen
class PersistedState:
    """The hard state of a share-partition.

    Attributes:
        state_epoch: Changes when an administrator resets the state.
        leader_epoch: Epoch of the last leader that read the state.
        start_offset: Offset at which delivery starts, or `UNINITIALIZED_OFFSET`.
        delivery_complete_count: Offsets from there on that are done (KIP-1226), or -1 if unknown.
        batches: The states of offsets. Others are available. Empty in a summary.
    """

    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    batches: tuple[StateBatch, ...] = ()
