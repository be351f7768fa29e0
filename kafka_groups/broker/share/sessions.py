"""Share sessions: what a member fetches from this broker, without naming it in every request (KIP-932).

A session belongs to the connection that opened it: it ends with that connection, also while the member goes on using
it over another one.
"""

from collections.abc import Iterable

from attrs import define, field, frozen

from kafka_groups.errors import (
    InvalidShareSessionEpochError,
    ShareSessionLimitReachedError,
    ShareSessionNotFoundError,
)
from kafka_groups.types import TopicIdPartition

__all__ = ["FINAL_EPOCH", "INITIAL_EPOCH", "SessionKey", "ShareSession", "ShareSessions", "next_epoch", "rotated"]

INITIAL_EPOCH = 0
"""Opens a session, or replaces one."""
FINAL_EPOCH = -1
"""Closes a session."""
_LAST_EPOCH = 2**31 - 1


@frozen
class SessionKey:
    """Whose session."""

    group_id: str
    member_id: str


@define(eq=False)
class ShareSession:
    """One member's session with this broker.

    Attributes:
        key: Whose it is.
        connection_id: The connection that opened it.
        epoch: What the next request must carry.
        partitions: What is fetched, in the order in which it was listed. The value says whether the next response
            must name the partition even when there is nothing to tell: when it joined
            since, or had an error before.
    """

    key: SessionKey
    connection_id: int
    epoch: int = INITIAL_EPOCH + 1
    partitions: dict[TopicIdPartition, bool] = field(factory=dict)

    def update(self, listed: Iterable[TopicIdPartition], forgotten: Iterable[TopicIdPartition]) -> None:
        """Add what a request lists, then drop what it forgets.

        So a partition that is in both is not fetched: that is how acknowledgements are sent for a partition which
        the member does not fetch any more.
        """
        for partition in listed:
            self.partitions.setdefault(partition, True)
        for partition in forgotten:
            self.partitions.pop(partition, None)


class ShareSessions:
    """The sessions of one broker.

    Args:
        max_sessions: How many there may be (`group.share.max.share.sessions`).
    """

    def __init__(self, max_sessions: int) -> None:
        self.max_sessions = max_sessions
        self._sessions: dict[SessionKey, ShareSession] = {}
        self._by_connection: dict[int, dict[SessionKey, None]] = {}

    def __repr__(self) -> str:
        return f"<ShareSessions: {len(self)} of {self.max_sessions}>"

    def __len__(self) -> int:
        """How many sessions there are."""
        return len(self._sessions)

    def get(self, key: SessionKey) -> ShareSession | None:
        """The member's session."""
        return self._sessions.get(key)

    def known(self, key: SessionKey) -> ShareSession:
        """The member's session.

        Raises:
            ShareSessionNotFoundError: It has none.
        """
        session = self._sessions.get(key)
        if session is None:
            raise ShareSessionNotFoundError(f"member {key.member_id} has no share session for group '{key.group_id}'")
        return session

    def open(self, key: SessionKey, connection_id: int, partitions: Iterable[TopicIdPartition]) -> ShareSession:
        """Open a session, in place of the one that the member may have.

        Raises:
            ShareSessionLimitReachedError: There are as many sessions as there may be.
        """
        self._remove(key)
        if len(self._sessions) >= self.max_sessions:
            raise ShareSessionLimitReachedError(f"this broker keeps {self.max_sessions} share sessions and no more")
        # The first response names them all in any case, so none is due afterwards.
        session = ShareSession(key, connection_id, partitions=dict.fromkeys(partitions, False))
        self._sessions[key] = session
        self._by_connection.setdefault(connection_id, {})[key] = None
        return session

    def advance(self, key: SessionKey, epoch: int) -> ShareSession:
        """The session for a request of the given epoch, which is then used up.

        Raises:
            ShareSessionNotFoundError: There is no such session.
            InvalidShareSessionEpochError: The epoch is not the expected one.
        """
        session = self.known(key)
        if epoch != session.epoch:
            raise InvalidShareSessionEpochError(f"share session epoch {epoch}, where {session.epoch} was expected")
        session.epoch = next_epoch(epoch)
        return session

    def close(self, key: SessionKey) -> ShareSession:
        """Close a session; returns what it was.

        Raises:
            ShareSessionNotFoundError: There is no such session.
        """
        session = self.known(key)
        self._remove(key)
        return session

    def close_connection(self, connection_id: int) -> list[ShareSession]:
        """Close the sessions that a connection opened; returns what they were."""
        return [self.close(key) for key in list(self._by_connection.get(connection_id, ()))]

    def _remove(self, key: SessionKey) -> None:
        session = self._sessions.pop(key, None)
        if session is None:
            return
        of_connection = self._by_connection[session.connection_id]
        del of_connection[key]
        if not of_connection:
            del self._by_connection[session.connection_id]


def next_epoch(epoch: int) -> int:
    """The epoch of the request after this one: it wraps to 1, as 0 would open a session."""
    return INITIAL_EPOCH + 1 if epoch == _LAST_EPOCH else epoch + 1


def rotated(partitions: Iterable[TopicIdPartition], epoch: int) -> list[TopicIdPartition]:
    """The partitions in the order in which the request of this epoch reads them.

    The first one goes round, so that none starves while those before it fill MaxBytes or MaxRecords.
    """
    order = list(partitions)
    if epoch <= INITIAL_EPOCH or not order:
        return order
    first = epoch % len(order)
    return order[first:] + order[:first]
