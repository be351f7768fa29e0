"""A share session with one leader: its epochs, and which partitions the leader knows to be in it (KIP-932)."""

from collections.abc import Iterable

from attrs import frozen

from kafka_groups.protocol.messages.share_fetch import INITIAL_EPOCH, MAX_EPOCH
from kafka_groups.share.delivery.delivery import SessionId
from kafka_groups.types import TopicIdPartition

__all__ = ["SessionChange", "ShareSessionHandler"]


@frozen
class SessionChange:
    """What a fetch changes in the session: partitions to add and to forget."""

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
        """Names this life of the session; another one follows when it is lost."""
        return SessionId(self.node_id, self.generation)

    @property
    def is_open(self) -> bool:
        """Whether the leader has answered the opening request."""
        return self.epoch != INITIAL_EPOCH

    def __contains__(self, partition: TopicIdPartition) -> bool:
        return partition in self._partitions

    def change_to(self, wanted: Iterable[TopicIdPartition]) -> SessionChange:
        """What the next fetch has to say so that the session holds the wanted partitions; takes it as said."""
        wanted = tuple(wanted)
        if wanted == self._wanted:  # as for almost every fetch; cheaper than looking each of them up
            return _NO_CHANGE
        partitions = dict.fromkeys(wanted)
        added = tuple(p for p in partitions if p not in self._partitions)
        forgotten = tuple(p for p in self._partitions if p not in partitions)
        self._partitions, self._wanted = partitions, wanted
        return SessionChange(added, forgotten)

    def answered(self) -> None:
        """The leader took the request with the current epoch; after the largest epoch comes 1."""
        self.epoch = 1 if self.epoch == MAX_EPOCH else self.epoch + 1

    def lost(self) -> None:
        """The session is gone, and with it every lock that was acquired in it."""
        self.epoch = INITIAL_EPOCH
        self.generation += 1
        self._partitions = {}
        self._wanted = ()
