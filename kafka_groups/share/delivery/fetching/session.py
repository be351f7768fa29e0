"""A share session with one leader: its epochs, and the partitions that the leader has in it (KIP-932)."""

from collections.abc import Iterable

from attrs import frozen

from kafka_groups.protocol.messages.share_fetch import INITIAL_EPOCH, MAX_EPOCH
from kafka_groups.share.delivery.delivery import SessionId
from kafka_groups.types import TopicIdPartition

__all__ = ["SessionChange", "ShareSessionHandler"]


@frozen
class SessionChange:
    """The changes that a fetch makes in the session: partitions to add and to forget."""

    added: tuple[TopicIdPartition, ...]
    forgotten: tuple[TopicIdPartition, ...]


_NO_CHANGE = SessionChange((), ())


class ShareSessionHandler:
    """The client's side of the share session with one leader.

    Args:
        node_id: The leader.
    """

    def __init__(self, node_id: int) -> None:
        self.node_id = node_id
        self.epoch = INITIAL_EPOCH
        self.generation = 0
        self._partitions: dict[TopicIdPartition, None] = {}
        self._wanted: tuple[TopicIdPartition, ...] = ()

    def __repr__(self) -> str:
        return f"<ShareSessionHandler node {self.node_id} epoch {self.epoch} partitions {len(self._partitions)}>"

    @property
    def id(self) -> SessionId:
        """The id of the session. A session that was lost is replaced by one with a new id."""
        return SessionId(self.node_id, self.generation)

    @property
    def is_open(self) -> bool:
        """True if the leader has answered the opening request."""
        return self.epoch != INITIAL_EPOCH

    def __contains__(self, partition: TopicIdPartition) -> bool:
        return partition in self._partitions

    def change_to(self, wanted: Iterable[TopicIdPartition]) -> SessionChange:
        """Return the partitions to add and forget in the next fetch. Assumes that it is sent."""
        wanted = tuple(wanted)
        if wanted == self._wanted:  # as for almost every fetch; cheaper than looking each of them up
            return _NO_CHANGE
        partitions = dict.fromkeys(wanted)
        # With epoch 0 the request must list all partitions (KIP-932, "Share sessions"). It does, because `lost` empties
        # the set.
        added = tuple(p for p in partitions if p not in self._partitions)
        forgotten = tuple(p for p in self._partitions if p not in partitions)
        self._partitions, self._wanted = partitions, wanted
        return SessionChange(added, forgotten)

    def answered(self) -> None:
        """Note that the leader accepted the request with the current epoch. The largest epoch is followed by 1."""
        # After the largest int32 comes 1 and not 0, as 0 would open a new session (ShareRequestMetadata.nextEpoch in
        # Kafka).
        self.epoch = 1 if self.epoch == MAX_EPOCH else self.epoch + 1

    def lost(self) -> None:
        """Note that the session is lost, and with it every lock that was acquired in it."""
        # The next fetch has epoch 0, with which the broker replaces the old session if it still has it
        # (ShareRequestMetadata.nextCloseExistingAttemptNew in Kafka). KIP-932, "Share sessions", has it release the
        # records of the old one; Kafka keeps them locked until the locks expire. The client counts on neither, and the
        # new generation tells acknowledgements of the two sessions apart.
        self.epoch = INITIAL_EPOCH
        self.generation += 1
        self._partitions = {}
        self._wanted = ()
