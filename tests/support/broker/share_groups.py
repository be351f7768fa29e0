"""A share-group coordinator with made-up topics, driven by hand."""

from collections.abc import Collection, Mapping
from typing import TypeVar
from uuid import UUID

from attrs import evolve, frozen

from kafka_groups.broker.coordinators.groups.epochs.group_deadlines import Deadline
from kafka_groups.broker.coordinators.groups.member_client import MemberClient
from kafka_groups.broker.coordinators.groups.share.effects import DeleteShareState, InitializeShareState
from kafka_groups.broker.coordinators.groups.share.group import ShareGroup
from kafka_groups.broker.coordinators.groups.share.groups import ShareGroups
from kafka_groups.broker.coordinators.groups.share.members import validate
from kafka_groups.broker.coordinators.groups.share.records import ShareGroupRecord
from kafka_groups.broker.coordinators.groups.share.responses import described_group
from kafka_groups.broker.coordinators.result import Effect, Reply, Result
from kafka_groups.broker.profile import DEFAULT_PROFILE, Profile
from kafka_groups.config.cluster.broker import ShareGroupConfig
from kafka_groups.errors import BrokerError
from kafka_groups.protocol.messages.share_group_describe import DescribedGroup
from kafka_groups.protocol.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from kafka_groups.types import TopicPartition
from tests.support.broker.group_journal import MemoryJournal

T = TypeVar("T")

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
        self.version = 0
        self.racks: dict[TopicPartition, frozenset[str]] = {}

    def topic(self, name: str) -> Topic | None:
        """The topic of that name."""
        return self._by_name.get(name)

    def topic_by_id(self, topic_id: UUID) -> Topic | None:
        """The topic of that id."""
        return next((topic for topic in self._by_name.values() if topic.topic_id == topic_id), None)

    def topics(self) -> list[Topic]:
        """All topics."""
        return list(self._by_name.values())

    def replica_racks(self, partition: TopicPartition) -> frozenset[str] | None:
        """The racks of a partition that a test has given, in `racks`."""
        return self.racks.get(partition)

    def create(self, name: str, num_partitions: int) -> UUID:
        """Create a topic; returns its id."""
        self._created += 1
        self.version += 1
        topic = self._by_name[name] = Topic(name, UUID(int=self._created), num_partitions)
        return topic.topic_id

    def grow(self, name: str, num_partitions: int) -> None:
        """Add partitions to a topic."""
        self.version += 1
        self._by_name[name] = evolve(self._by_name[name], num_partitions=num_partitions)

    def delete(self, name: str) -> None:
        """Delete a topic."""
        self.version += 1
        del self._by_name[name]


class ShareStates:
    """A share coordinator that remembers start offsets.

    Attributes:
        error: With which it answers, if it is to fail.
        unanswered: What it was asked while `answers` was off.
    """

    def __init__(self) -> None:
        self.start_offsets: dict[tuple[str, UUID, int], int] = {}
        self.error: BrokerError | None = None
        self.answers = True
        self.unanswered: list[InitializeShareState | DeleteShareState] = []

    def perform(self, effect: InitializeShareState | DeleteShareState) -> None:
        """Do what is asked, unless it is to fail."""
        if self.error is not None:
            return
        if isinstance(effect, DeleteShareState):
            for topic_id, partitions in effect.partitions.items():
                for partition in partitions:
                    self.start_offsets.pop((effect.group_id, topic_id, partition), None)
            return
        assert effect.state_epoch >= 0
        for (topic_id, partition), offset in effect.start_offsets.items():
            key = (effect.group_id, topic_id, partition)
            self.start_offsets[key] = offset if effect.restarts else self.start_offsets.get(key, offset)


class Coordinator:
    """A shard of the group coordinator whose effects are performed at once."""

    def __init__(self, shard: ShareGroups, topics: Topics, share_states: ShareStates, journal: MemoryJournal) -> None:
        self.shard = shard
        self._topics = topics
        self._share_states = share_states
        self._journal = journal
        self._answers: dict[int, object] = {}

    @property
    def groups(self) -> Mapping[str, ShareGroup]:
        """The groups by id."""
        return self.shard.groups

    def commit(self, result: Result[T, ShareGroupRecord]) -> T:
        """Store and replay the records, perform the effects, and return the response."""
        self._journal.append(result.records)
        for record in result.records:
            self.shard.replay(record)
        for effect in result.effects:
            self._perform(effect)
        if result.parked is None:
            return result.response
        answer: T | BrokerError = self._answers.pop(result.parked)  # type: ignore[assignment]
        if isinstance(answer, BrokerError):
            raise answer
        return answer

    def _perform(self, effect: Effect) -> None:
        if isinstance(effect, Reply):
            self._answers[effect.token] = effect.outcome
            return
        assert isinstance(effect, InitializeShareState | DeleteShareState)
        if not self._share_states.answers:
            self._share_states.unanswered.append(effect)
            return
        self._share_states.perform(effect)
        self.commit(self.shard.share_state_settled(effect, self._share_states.error))

    def load(self, now_ms: int) -> None:
        """Replay the journal and begin."""
        for record in self._journal:
            self.shard.replay(record)
        for part in self.shard.loaded(now_ms):
            self.commit(part)

    def describe(self, group_id: str) -> DescribedGroup:
        """A group as ShareGroupDescribe shows it."""
        return described_group(self.shard.group(group_id), self._topics)

    def initialized_partitions(self, group_id: str) -> Mapping[UUID, frozenset[int]]:
        """The share-partitions that have state."""
        group = self.shard.groups.get(group_id)
        return {} if group is None else group.state_partitions.initialized

    def delete_group(self, group_id: str) -> None:
        """Delete a group and its share state."""
        self.commit(self.shard.delete_group(group_id))

    def alter_start_offsets(
        self, group_id: str, offsets: Mapping[tuple[UUID, int], int], names: Mapping[UUID, str]
    ) -> None:
        """Give share-partitions other start offsets."""
        self.commit(self.shard.alter_start_offsets(group_id, offsets, names))

    def delete_start_offsets(self, group_id: str, topic_ids: Collection[UUID]) -> frozenset[UUID]:
        """Forget the start offsets of topics."""
        return self.commit(self.shard.delete_start_offsets(group_id, topic_ids))

    def next_deadline_ms(self) -> int | None:
        """When the next session times out."""
        return self.shard.next_deadline_ms()

    def expire(self, now_ms: int) -> tuple[Deadline, ...]:
        """End the sessions that timed out."""
        return self.commit(self.shard.expire(now_ms))


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

    def _new_coordinator(self) -> Coordinator:
        shard = ShareGroups(self.topics, lambda _: self.config, self.max_size, self.profile)
        return Coordinator(shard, self.topics, self.share_states, self.journal)

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
        """Send one heartbeat, which is checked as its handler checks it."""
        request = ShareGroupHeartbeatRequest(
            group_id=group_id,
            member_id=member_id,
            member_epoch=epoch,
            rack_id=rack_id,
            subscribed_topic_names=topics,
        )
        validate(request)
        return self.coordinator.commit(self.coordinator.shard.heartbeat(request, client, self.now_ms))

    def join(self, member_id: str, *topics: str) -> ShareGroupHeartbeatResponse:
        """Join, and heartbeat once more, when the share-partitions are initialised."""
        epoch = self.heartbeat(member_id, 0, topics).member_epoch
        return self.heartbeat(member_id, epoch, topics)

    def leave(self, member_id: str) -> ShareGroupHeartbeatResponse:
        """Leave."""
        return self.heartbeat(member_id, -1)

    def delete_and_tell(self, topic: str) -> None:
        """Delete a topic, and tell the coordinator, which else finds out with the next heartbeat."""
        self.topics.delete(topic)
        self.tell()

    def tell(self) -> None:
        """Tell the coordinator that topics were deleted, if they were."""
        self.coordinator.commit(self.coordinator.shard.metadata_changed())

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
