"""The partitions of the assignment by leader, and the search for unknown leaders."""

from collections.abc import Iterable

from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.client.events import Area, Events, listed
from kafka_groups.client.metadata import MetadataManager
from kafka_groups.client.requests import NEVER_MS
from kafka_groups.errors.texts import counted
from kafka_groups.share.membership.membership import ShareMembership
from kafka_groups.share.membership.states import MemberState
from kafka_groups.types import TopicIdPartition

__all__ = ["PartitionsByLeader"]


class PartitionsByLeader:
    """Follows the assignment and the metadata.

    Args:
        membership: Knows the assignment.
        metadata: Knows leaders and names.
        events: Receives events for the log.
        search: The intervals of metadata requests while a leader is unknown.

    Attributes:
        by_leader: The partitions to fetch from each leader, by node id.
    """

    def __init__(
        self, membership: ShareMembership, metadata: MetadataManager, events: Events, search: BackoffTimer
    ) -> None:
        self._membership = membership
        self._metadata = metadata
        self._events = events
        self._search = search
        self.by_leader: dict[int, tuple[TopicIdPartition, ...]] = {}
        self._followed: tuple[frozenset[TopicIdPartition], int] | None = None
        self._noted: frozenset[TopicIdPartition] = frozenset()
        self._leaderless = False

    def __repr__(self) -> str:
        return f"<PartitionsByLeader {self.by_leader}>"

    def follow(self) -> bool:
        """Read the assignment and the metadata. Return True if one of them changed."""
        assignment, metadata = self._membership.assignment, self._metadata.metadata
        # Neither the assignment nor the metadata has changed, as in almost every turn.
        if self._followed is not None and self._followed == (assignment, metadata.version):
            return False
        self._followed = (assignment, metadata.version)
        self.by_leader = self._by_leader(assignment)
        self._note(assignment)
        return True

    def search_leaders(self, now_ms: int) -> int:
        """Request metadata, with increasing intervals, while the leader or name of an assigned partition is unknown."""
        # Kafka's client asks for metadata in each poll in which a partition has no leader or no topic id
        # (ShareConsumeRequestManager.poll), and the metadata's own back-off limits the rate. Here the intervals grow.
        if not self._leaderless:
            self._search.succeeded()
            return NEVER_MS
        if self._search.remaining_ms(now_ms) == 0:
            self._metadata.request_update()
            self._search.failed(now_ms)
        return self._search.remaining_ms(now_ms)

    def _by_leader(self, assignment: Iterable[TopicIdPartition]) -> dict[int, tuple[TopicIdPartition, ...]]:
        metadata = self._metadata.metadata
        by_leader: dict[int, list[TopicIdPartition]] = {}
        self._leaderless = False
        for partition in sorted(assignment, key=lambda tip: (tip.topic_id, tip.partition)):
            leader, topic = metadata.leader_of(partition), metadata.name_of(partition.topic_id)
            # The heartbeat names topics by id only. A new topic may be assigned before the client's metadata has its
            # name.
            if leader is None or topic is None:
                self._leaderless = True
                continue
            by_leader.setdefault(leader, []).append(TopicIdPartition(partition.topic_id, partition.partition, topic))
        return {node_id: tuple(partitions) for node_id, partitions in by_leader.items()}

    def _note(self, assignment: frozenset[TopicIdPartition]) -> None:
        """Log a new assignment once the names of its topics are known."""
        name_of = self._metadata.metadata.name_of
        names = [(name_of(tip.topic_id), tip.partition) for tip in assignment]
        # While the member joins or leaves, its assignment is empty, which is not worth a line.
        is_member = self._membership.state is MemberState.STABLE
        if not is_member or assignment == self._noted or any(name is None for name, _ in names):
            return
        self._noted = assignment
        partitions = listed(f"{name}-{partition}" for name, partition in sorted(names, key=str)) or "none"
        identity = self._membership.identity
        text = f"Member {identity.member_id} of the share group {identity.group_id}"
        self._events.note(Area.GROUP, f"{text} is assigned {counted(len(names), 'partition')}: {partitions}.")
