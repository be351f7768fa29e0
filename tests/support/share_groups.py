"""A share-group coordinator with made-up topics, driven by hand."""

from uuid import UUID

from attrs import evolve, frozen

from kafka_groups.broker.coordinators.groups.coordinator import GroupCoordinator, MemberClient
from kafka_groups.broker.coordinators.groups.share.group import ShareGroup
from kafka_groups.broker.metadata.delta import MetadataDelta
from kafka_groups.broker.metadata.topics import TopicMetadata
from kafka_groups.broker.profile import DEFAULT_PROFILE, Profile
from kafka_groups.config.broker import ShareGroupConfig
from kafka_groups.protocol.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from tests.support.group_journal import MemoryJournal

CLIENT = MemberClient("test-client", "/127.0.0.1")
GROUP = "group"


@frozen
class Topic:
    """A topic of the made-up cluster."""

    name: str
    topic_id: UUID
    num_partitions: int


class Topics:
    """Topics that a test creates, grows and deletes; ids are counted up, so that a new topic has a new one."""

    def __init__(self) -> None:
        self._by_name: dict[str, Topic] = {}
        self._created = 0

    def topic(self, name: str) -> Topic | None:
        """The topic of that name."""
        return self._by_name.get(name)

    def topic_by_id(self, topic_id: UUID) -> Topic | None:
        """The topic of that id."""
        return next((topic for topic in self._by_name.values() if topic.topic_id == topic_id), None)

    def create(self, name: str, num_partitions: int) -> UUID:
        """Create a topic; returns its id."""
        self._created += 1
        topic = self._by_name[name] = Topic(name, UUID(int=self._created), num_partitions)
        return topic.topic_id

    def grow(self, name: str, num_partitions: int) -> None:
        """Add partitions to a topic."""
        self._by_name[name] = evolve(self._by_name[name], num_partitions=num_partitions)

    def delete(self, name: str) -> None:
        """Delete a topic."""
        del self._by_name[name]


class ShareStates:
    """A share coordinator that remembers start offsets."""

    def __init__(self) -> None:
        self.start_offsets: dict[tuple[str, UUID, int], int] = {}

    def initialize(self, group_id: str, topic_id: UUID, partition: int, start_offset: int, *, state_epoch: int) -> None:
        """Create the state of a share-partition."""
        assert state_epoch >= 0
        self.start_offsets.setdefault((group_id, topic_id, partition), start_offset)

    def restart(self, group_id: str, topic_id: UUID, partition: int, start_offset: int, *, state_epoch: int) -> None:
        """Begin the state of a share-partition afresh."""
        assert state_epoch >= 0
        self.start_offsets[group_id, topic_id, partition] = start_offset

    def delete(self, group_id: str, topic_id: UUID, partition: int) -> None:
        """Delete the state of a share-partition."""
        self.start_offsets.pop((group_id, topic_id, partition), None)


class Coordination:
    """A coordinator, the topics it sees, and a clock that a test moves.

    Args:
        config: The configuration of all groups; without the assignment interval unless a test wants it.
        max_size: How many members a group may have.
        journal: Where records go.
        profile: The release that it acts as.
    """

    def __init__(
        self,
        config: ShareGroupConfig | None = None,
        max_size: int = 200,
        journal: MemoryJournal | None = None,
        profile: Profile = DEFAULT_PROFILE,
    ) -> None:
        self.profile = profile
        self.config = config or ShareGroupConfig(assignment_interval_ms=0)
        self.max_size = max_size
        self.topics = Topics()
        self.share_states = ShareStates()
        self.journal = MemoryJournal() if journal is None else journal
        self.now_ms = 1_000_000
        self.coordinator = self._new_coordinator()

    def _new_coordinator(self) -> GroupCoordinator:
        return GroupCoordinator(
            self.topics, self.share_states, lambda _: self.config, self.max_size, self.journal, self.profile
        )

    @property
    def group(self) -> ShareGroup:
        """The group that all heartbeats go to by default."""
        return self.coordinator.groups[GROUP]

    def heartbeat(
        self,
        member_id: str,
        epoch: int,
        topics: tuple[str, ...] | None = None,
        *,
        group_id: str = GROUP,
        rack_id: str | None = None,
        client: MemberClient = CLIENT,
    ) -> ShareGroupHeartbeatResponse:
        """Send one heartbeat."""
        request = ShareGroupHeartbeatRequest(
            group_id=group_id,
            member_id=member_id,
            member_epoch=epoch,
            rack_id=rack_id,
            subscribed_topic_names=topics,
        )
        return self.coordinator.heartbeat(request, client, self.now_ms)

    def join(self, member_id: str, *topics: str) -> ShareGroupHeartbeatResponse:
        """Join, and heartbeat once more, when the share-partitions are initialised."""
        epoch = self.heartbeat(member_id, 0, topics).member_epoch
        return self.heartbeat(member_id, epoch, topics)

    def leave(self, member_id: str) -> ShareGroupHeartbeatResponse:
        """Leave."""
        return self.heartbeat(member_id, -1)

    def delete_and_tell(self, topic: str) -> None:
        """Delete a topic, and tell the coordinator, which else finds out with the next heartbeat."""
        known = self.topics.topic(topic)
        assert known is not None
        self.topics.delete(topic)
        self.coordinator.metadata_changed(MetadataDelta(1, deleted=(TopicMetadata(topic, known.topic_id, ()),)))

    def advance(self, duration_ms: int) -> None:
        """Let time pass."""
        self.now_ms += duration_ms

    def fail_over(self) -> None:
        """Let another coordinator take over from the journal."""
        self.coordinator = self._new_coordinator()
        self.coordinator.load(self.now_ms)


def assigned(response: ShareGroupHeartbeatResponse) -> dict[int, tuple[int, ...]] | None:
    """The assignment of a response, with topics as the numbers that their ids are; None when it has none."""
    if response.assignment is None:
        return None
    return {t.topic_id.int: t.partitions for t in response.assignment.topic_partitions if t.topic_id is not None}
