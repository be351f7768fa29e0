"""Effects of share groups: share states that the share coordinator must create or delete."""

from collections.abc import Mapping
from uuid import UUID

from attrs import frozen

from kafka_groups.broker.coordinators.groups.share.records import PartitionsOfTopics
from kafka_groups.broker.coordinators.result import Effect

__all__ = ["DeleteShareState", "InitializeShareState", "ShareStateEffect"]


@frozen
class InitializeShareState(Effect):
    """The states of share-partitions have to be created.

    Attributes:
        group_id: The group.
        state_epoch: Epoch of the states: the group's epoch.
        start_offsets: Where delivery starts, by topic id and partition. -1 means the group's
            `share.auto.offset.reset`.
        restarts: Whether states that exist begin afresh.
        token: The parked request that waits for it, if one does.
    """

    group_id: str
    state_epoch: int
    start_offsets: Mapping[tuple[UUID, int], int]
    restarts: bool = False
    token: int | None = None


@frozen
class DeleteShareState(Effect):
    """The states of share-partitions have to be deleted.

    Attributes:
        group_id: The group.
        partitions: The share-partitions.
        deletes_group: Whether the group is deleted afterwards.
        token: The parked request that waits for it, if one does.
    """

    group_id: str
    partitions: PartitionsOfTopics
    deletes_group: bool = False
    token: int | None = None


ShareStateEffect = InitializeShareState | DeleteShareState
