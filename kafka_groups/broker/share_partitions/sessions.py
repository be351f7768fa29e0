"""Share sessions store what a member fetches from this broker, so that requests need not list it (KIP-932).

A session belongs to the connection that opened it. It ends with that connection, even if the member continues to use it
over another one.
"""

from collections import Counter
from collections.abc import Generator, Iterable

from attrs import define, field, frozen

from kafka_groups.errors import (
    InvalidShareSessionEpochError,
    ShareSessionLimitReachedError,
    ShareSessionNotFoundError,
)
from kafka_groups.protocol.messages.share_fetch import INITIAL_EPOCH, MAX_EPOCH
from kafka_groups.types import TopicIdPartition

__all__ = ["ShareSession", "ShareSessionKey", "ShareSessions", "next_epoch", "rotated"]


@frozen
class ShareSessionKey:
    """The group and member of a session."""

    group_id: str
    member_id: str


@define(eq=False)
class ShareSession:
    """One member's session with this broker.

    Attributes:
        key: The group and member.
        connection_id: The connection that opened it.
        epoch: The epoch of the next request.
        partitions: The partitions to fetch, those that gave records last at the end. The value is True if the next
            response must contain the partition even without records, because it was added or had an error before.
        just_served: The partitions that gave records to the fetch before.
    """

    key: ShareSessionKey
    connection_id: int
    epoch: int = INITIAL_EPOCH + 1
    partitions: dict[TopicIdPartition, bool] = field(factory=dict)
    just_served: frozenset[TopicIdPartition] = frozenset()

    def update(
        self, listed: Iterable[TopicIdPartition], forgotten: Iterable[TopicIdPartition]
    ) -> Generator[None, None, None]:
        """Add the partitions that a request lists, then drop those that it removes. Yields after each partition.

        A partition in both lists is therefore not fetched. Members use this to send acknowledgements for a partition
        that they no longer fetch.
        """
        # KIP-932, "Share sessions": an incremental fetch names only what changes (ShareSession.update in Kafka). A
        # partition in both lists is the case of KIP-932, "ShareFetch API", for acknowledgements of a partition that
        # leaves the session.
        for partition in listed:
            self.partitions.setdefault(partition, True)
            yield
        for partition in forgotten:
            self.partitions.pop(partition, None)
            yield

    def reading_order(self, epoch: int) -> tuple[TopicIdPartition, ...]:
        """Return the partitions in the order in which the request with this epoch reads them.

        As in Kafka, the first one rotates with the epoch, and those that have just given records come last. So none
        starves while others use up MaxBytes or MaxRecords.
        """
        order = rotated(self.partitions, epoch)
        # First the rotation of PartitionRotateStrategy.rotateRoundRobin, then those just served, in a stable order.
        # KIP-932, "Fetching and acknowledging records", only demands that the order rotates.
        return tuple(sorted(order, key=self.just_served.__contains__) if self.just_served else order)

    def served(self, partitions: Iterable[TopicIdPartition]) -> None:
        """Note the partitions that gave records to a fetch that continued the session."""
        self.just_served = frozenset(partitions)
        for partition in partitions:
            # To the end of the list, as ShareSessionContext.PartitionIterator does for partitions with records.
            if partition in self.partitions:
                self.partitions[partition] = self.partitions.pop(partition)


class ShareSessions:
    """The sessions of one broker.

    Args:
        max_sessions: Maximum number of sessions (`group.share.max.share.sessions`).
    """

    def __init__(self, max_sessions: int) -> None:
        self.max_sessions = max_sessions
        self._sessions: dict[ShareSessionKey, ShareSession] = {}
        self._by_connection: dict[int, dict[ShareSessionKey, None]] = {}
        self._groups_of: dict[int, set[str]] = {}
        self._connections_of: Counter[str] = Counter()

    def __repr__(self) -> str:
        return f"<ShareSessions: {len(self)} of {self.max_sessions}>"

    def __len__(self) -> int:
        """Number of sessions."""
        return len(self._sessions)

    @property
    def num_partitions(self) -> int:
        """Number of partitions in all sessions."""
        return sum(len(session.partitions) for session in self._sessions.values())

    def get(self, key: ShareSessionKey) -> ShareSession | None:
        """Return the member's session, or None."""
        return self._sessions.get(key)

    def known(self, key: ShareSessionKey) -> ShareSession:
        """Return the member's session.

        Raises:
            ShareSessionNotFoundError: The member has no session.
        """
        session = self._sessions.get(key)
        if session is None:
            raise ShareSessionNotFoundError(f"Member {key.member_id} has no share session for group '{key.group_id}'.")
        return session

    def open(self, key: ShareSessionKey, connection_id: int, partitions: Iterable[TopicIdPartition]) -> ShareSession:
        """Open a session, which replaces the member's existing one.

        Raises:
            ShareSessionLimitReachedError: The broker has reached its limit of sessions.
        """
        # First the old session goes, so that a member can open its own again at the limit. KIP-932 closes sessions that
        # were idle for two minutes; Kafka does not, and refuses new ones at the limit
        # (ShareSessionCache.maybeCreateSession).
        self._remove(key)
        if len(self._sessions) >= self.max_sessions:
            raise ShareSessionLimitReachedError(
                f"The broker has reached its limit of {self.max_sessions} share sessions."
            )
        # The first response contains all partitions anyway, so none is pending afterwards.
        session = ShareSession(key, connection_id, partitions=dict.fromkeys(partitions, False))
        self._sessions[key] = session
        self._note_group(connection_id, key.group_id)
        self._by_connection.setdefault(connection_id, {})[key] = None
        return session

    def advance(self, key: ShareSessionKey, epoch: int) -> ShareSession:
        """Return the session for a request with the given epoch, and advance the epoch.

        Raises:
            ShareSessionNotFoundError: The session does not exist.
            InvalidShareSessionEpochError: The epoch is not the expected one.
        """
        session = self.known(key)
        # The epoch shows a request that was lost or repeated. The session stays open: the client replaces it with epoch
        # 0.
        if epoch != session.epoch:
            raise InvalidShareSessionEpochError(f"Invalid share session epoch {epoch}: expected {session.epoch}.")
        session.epoch = next_epoch(epoch)
        return session

    def close(self, key: ShareSessionKey) -> ShareSession:
        """Close a session and return it.

        Raises:
            ShareSessionNotFoundError: The session does not exist.
        """
        session = self.known(key)
        self._remove(key)
        return session

    def close_connection(self, connection_id: int) -> list[ShareSession]:
        """Close the sessions that a connection opened, and return them."""
        return [self.close(key) for key in list(self._by_connection.get(connection_id, ()))]

    def forget_connection(self, connection_id: int) -> list[str]:
        """Return the groups for which this was the last connection that has opened sessions."""
        groups = self._groups_of.pop(connection_id, set())
        self._connections_of.subtract(groups)
        # The connections count that have opened sessions, also those whose session was closed since
        # (ShareSessionCache.checkAndNotifyListenersOnGroupEmpty).
        gone = sorted(group_id for group_id in groups if not self._connections_of[group_id])
        for group_id in gone:
            del self._connections_of[group_id]
        return gone

    def clear(self) -> None:
        """End all sessions."""
        self._sessions.clear()
        self._by_connection.clear()

    def _note_group(self, connection_id: int, group_id: str) -> None:
        groups = self._groups_of.setdefault(connection_id, set())
        if group_id not in groups:
            groups.add(group_id)
            self._connections_of[group_id] += 1

    def _remove(self, key: ShareSessionKey) -> None:
        session = self._sessions.pop(key, None)
        if session is None:
            return
        of_connection = self._by_connection[session.connection_id]
        del of_connection[key]
        if not of_connection:
            del self._by_connection[session.connection_id]


def next_epoch(epoch: int) -> int:
    """Return the epoch of the next request. It wraps to 1, because 0 would open a session."""
    return INITIAL_EPOCH + 1 if epoch == MAX_EPOCH else epoch + 1


def rotated(partitions: Iterable[TopicIdPartition], epoch: int) -> list[TopicIdPartition]:
    """Return the partitions, rotated to the left by the epoch."""
    order = list(partitions)
    # The opening and the closing epoch (0 and -1) do not rotate.
    if epoch <= INITIAL_EPOCH or not order:
        return order
    first = epoch % len(order)
    return order[first:] + order[:first]
