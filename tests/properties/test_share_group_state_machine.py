"""A share group under random joins, leaves, lost responses, wrong epochs, time-outs, topic changes and fail-overs.

The members behave as Kafka's clients do: after a response is lost they name their topics again, and when the
coordinator fences or does not know them they join again at epoch 0 with the same id.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias
from uuid import UUID

import pytest
from attrs import define, evolve, field
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kafka_groups.broker.coordinators.groups.records import GROUP_RECORDS
from kafka_groups.broker.coordinators.groups.share.group import ShareGroup
from kafka_groups.broker.coordinators.groups.share.groups import ShareGroups
from kafka_groups.broker.coordinators.groups.share.records import ShareGroupRecord
from kafka_groups.broker.log.internal_log import InternalLog
from kafka_groups.config.cluster.broker import ShareGroupConfig
from kafka_groups.errors import (
    BrokerError,
    CoordinatorNotAvailableError,
    FencedMemberEpochError,
    GroupIdNotFoundError,
    UnknownMemberIdError,
)
from kafka_groups.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatResponse
from kafka_groups.types import TopicIdPartition
from tests.support.broker.group_journal import MemoryJournal, StoppedError
from tests.support.broker.share_groups import GROUP, Coordination, assigned

MEMBERS = ("a", "b", "c", "d", "e")
TOPICS = ("orders", "bills", "parcels")
INTERVAL_MS = 1_000
SESSION_TIMEOUT_MS = 10_000

Subscription: TypeAlias = tuple[str, ...]
subscriptions = st.lists(st.sampled_from(TOPICS), min_size=1, unique=True).map(tuple)
members = st.sampled_from(MEMBERS)


def as_stored(groups: Mapping[str, ShareGroup]) -> dict[str, ShareGroup]:
    """Groups as the bytes of their records tell them: not which partitions of a topic lose their state."""
    stored = {}
    for group_id, group in groups.items():
        known = group.state_partitions
        deleting: dict[UUID, frozenset[int]] = dict.fromkeys(known.deleting, frozenset())
        stored[group_id] = evolve(group, state_partitions=evolve(known, deleting=deleting))
    return stored


class FullJournal(MemoryJournal):
    """A journal that also gives every record to whoever follows it, and to the log of a topic."""

    def __init__(self) -> None:
        super().__init__()
        self.unread: deque[ShareGroupRecord] = deque()
        self.log: InternalLog[Any] = InternalLog(GROUP_RECORDS, spare_records=10)

    def store(self, records: Sequence[ShareGroupRecord]) -> None:
        """Add records."""
        super().store(records)
        self.unread.extend(records)
        if records:
            self.log.append_records(records, 0, 0)
            self.log.compact_some()


@define
class Client:
    """What a member believes."""

    topics: Subscription = ()
    epoch: int = 0
    owned: dict[int, tuple[int, ...]] = field(factory=dict)
    must_name_topics: bool = True


class ShareGroupMachine(RuleBasedStateMachine):
    """The coordinator of one group, and five members."""

    @initialize(interval_ms=st.sampled_from((0, INTERVAL_MS)))
    def start(self, interval_ms: int) -> None:
        self.journal = FullJournal()
        config = ShareGroupConfig(assignment_interval_ms=interval_ms, session_timeout_ms=SESSION_TIMEOUT_MS)
        self.coordination = Coordination(config, journal=self.journal)
        self.replica = self.new_shard()
        for name in TOPICS[:2]:
            self.coordination.topics.create(name, 2)
        self.clients: dict[str, Client] = {}
        self.last_epoch = 0
        self.has_failed = False

    # ---------------------------------------------------------------------------------------- members

    @rule(member=members, topics=subscriptions, lost=st.booleans())
    def join(self, member: str, topics: Subscription, lost: bool) -> None:
        """Join, or join again."""
        self.clients[member] = Client(topics)
        self.beat(member, lost=lost)

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), lost=st.booleans())
    def heartbeat(self, data: st.DataObject, lost: bool) -> None:
        """An ordinary heartbeat."""
        self.beat(data.draw(st.sampled_from(sorted(self.clients))), lost=lost)

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), topics=subscriptions, lost=st.booleans())
    def subscribe(self, data: st.DataObject, topics: Subscription, lost: bool) -> None:
        """Another subscription."""
        client = self.clients[member := data.draw(st.sampled_from(sorted(self.clients)))]
        client.topics, client.must_name_topics = topics, True
        self.beat(member, lost=lost)

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), lost=st.booleans())
    def leave(self, data: st.DataObject, lost: bool) -> None:
        """Leave; whether the response comes makes no difference."""
        member = data.draw(st.sampled_from(sorted(self.clients)))
        del self.clients[member]
        if self.is_member(member):
            response = self.coordination.leave(member)
            assert response.member_epoch == -1
        assert not self.is_member(member)

    @precondition(lambda self: self.clients)
    @rule(data=st.data())
    def crash(self, data: st.DataObject) -> None:
        """Go without a word."""
        del self.clients[data.draw(st.sampled_from(sorted(self.clients)))]

    @precondition(lambda self: self.group is not None and self.group.members)
    @rule(data=st.data(), ahead=st.integers(-3, 1))
    def heartbeat_with_any_epoch(self, data: st.DataObject, ahead: int) -> None:
        """Only the current and the previous epoch of a member are accepted."""
        member = data.draw(st.sampled_from(sorted(self.coordination.group.members)))
        epoch = max(1, self.coordination.group.current_of(member).member_epoch + ahead)
        expected = self.expected_error(member, epoch)
        if expected is None:
            self.coordination.heartbeat(member, epoch)
            # The member did not hear the answer, as if it were to a duplicate of its own heartbeat.
            if member in self.clients:
                self.clients[member].must_name_topics = True
        else:
            with pytest.raises(expected):
                self.coordination.heartbeat(member, epoch)

    @precondition(lambda self: self.group is None or not self.group.members)
    @rule(member=members, epoch=st.integers(1, 9))
    def heartbeat_to_a_group_without_members(self, member: str, epoch: int) -> None:
        """Nobody is known there."""
        with pytest.raises((GroupIdNotFoundError, UnknownMemberIdError)) as raised:
            self.coordination.heartbeat(member, epoch)
        assert raised.type is self.expected_error(member, epoch)

    # --------------------------------------------------------------------------------- surroundings

    @rule(duration_ms=st.sampled_from((10, INTERVAL_MS // 2, INTERVAL_MS, SESSION_TIMEOUT_MS // 2, SESSION_TIMEOUT_MS)))
    def time_passes(self, duration_ms: int) -> None:
        """Whoever did not send a heartbeat in time is removed, and nobody else."""
        self.coordination.advance(duration_ms)
        before = set(self.group.members) if self.group else set()
        expired = {key.member_id for key in self.coordination.coordinator.expire(self.coordination.now_ms)}
        assert expired <= before
        assert (set(self.group.members) if self.group else set()) == before - expired
        if duration_ms >= SESSION_TIMEOUT_MS:
            assert expired == before

    @rule(name=st.sampled_from(TOPICS), partitions=st.integers(1, 6))
    def create_or_grow(self, name: str, partitions: int) -> None:
        """More partitions."""
        topic = self.coordination.topics.topic(name)
        if topic is None:
            self.coordination.topics.create(name, partitions)
        else:
            self.coordination.topics.grow(name, topic.num_partitions + partitions)

    @rule(name=st.sampled_from(TOPICS), told=st.booleans())
    def delete_topic(self, name: str, told: bool) -> None:
        """Fewer topics; the coordinator is told, or finds out."""
        if self.coordination.topics.topic(name) is not None:
            if told:
                self.coordination.delete_and_tell(name)
            else:
                self.coordination.topics.delete(name)

    @rule()
    def fail_over(self) -> None:
        """Another coordinator takes over from the compacted log."""
        self.coordination.tell()
        before = dict(self.coordination.coordinator.groups)
        self.coordination.fail_over()
        finishes_deletion = any(group.state_partitions.deleting for group in before.values())
        if not finishes_deletion or self.coordination.share_states.error is not None:
            assert self.coordination.coordinator.groups == before

    @rule(data=st.data(), member=members, topics=subscriptions, after=st.integers(0, 6))
    def die_in_an_operation(self, data: st.DataObject, member: str, topics: Subscription, after: int) -> None:
        """Only the first records of an operation are stored. Nobody hears of it, and another coordinator takes over."""
        client = self.clients.setdefault(member, Client(topics))
        leaves = self.is_member(member) and data.draw(st.booleans())
        client.topics, client.must_name_topics = topics, True
        self.journal.stops_after = after
        try:
            if leaves:
                self.coordination.leave(member)
            else:
                self.beat(member, lost=True)
        except StoppedError:
            self.coordination.fail_over()
        self.journal.stops_after = None
        client.must_name_topics = True

    @rule(fails=st.booleans())
    def share_coordinator_fails_or_works(self, fails: bool) -> None:
        """The share coordinator cannot be reached, or can again."""
        self.has_failed |= fails
        self.coordination.share_states.error = CoordinatorNotAvailableError() if fails else None

    @precondition(lambda self: self.group is not None and not self.group.members)
    @rule()
    def delete_group(self) -> None:
        """Delete the empty group, or fail to."""
        states, had_state = self.coordination.share_states, bool(self.existing_states())
        if states.error is not None and had_state:
            with pytest.raises(CoordinatorNotAvailableError):
                self.coordination.coordinator.delete_group(GROUP)
            return
        self.coordination.coordinator.delete_group(GROUP)
        assert self.existing_states() == set()
        self.last_epoch = 0

    # -------------------------------------------------------------------------------------- outcomes

    @rule()
    def become_quiet(self) -> None:
        """Without further changes, members and target assignment converge."""
        self.coordination.share_states.error = None
        for member in sorted(self.stray_members()):
            self.coordination.leave(member)
        for _ in range(4):
            self.coordination.advance(INTERVAL_MS)
            for member in sorted(self.clients):
                self.beat(member, lost=False)
        if self.clients:
            self.check_converged()

    def check_converged(self) -> None:
        group = self.coordination.group
        assert set(group.members) == set(self.clients)
        assert group.assignment_epoch == group.epoch
        assert not group.state_partitions.deleting
        assert {current.member_epoch for current in group.current.values()} == {group.epoch}
        assert {member: current.partitions for member, current in group.current.items()} == group.target
        subscribed = {name for client in self.clients.values() for name in client.topics}
        topics = [topic for name in subscribed if (topic := self.coordination.topics.topic(name)) is not None]
        everything = {TopicIdPartition(topic.topic_id, p) for topic in topics for p in range(topic.num_partitions)}
        assert frozenset().union(*group.target.values()) == everything

    @invariant()
    def replaying_all_records_gives_the_same_groups(self) -> None:
        while self.journal.unread:
            self.replica.replay(self.journal.unread.popleft())
        from_compacted = self.new_shard()
        for record in self.journal:
            from_compacted.replay(record)
        from_logs = self.new_shard()
        for _offset, record in self.journal.log.records():
            from_logs.replay(record)
        groups = self.coordination.coordinator.groups
        for shard in (self.replica, from_compacted):
            assert shard.groups == groups
        assert as_stored(from_logs.groups) == as_stored(groups)

    @invariant()
    def epochs_go_forward(self) -> None:
        group = self.group
        if group is not None:
            assert group.epoch >= self.last_epoch
            assert group.assignment_epoch <= group.epoch
            for current in group.current.values():
                assert current.previous_member_epoch <= current.member_epoch <= group.assignment_epoch
            self.last_epoch = group.epoch

    @invariant()
    def tables_fit_each_other(self) -> None:
        coordinator, group = self.coordination.coordinator, self.group
        member_ids = group.members.keys() if group else set()
        assert (coordinator.next_deadline_ms() is None) == (not member_ids)
        if group is not None:
            assert group.current.keys() <= member_ids
            assert group.target.keys() <= member_ids
            assert not group.state_partitions.initializing
            assert self.has_failed or not group.state_partitions.deleting

    @invariant()
    def share_state_is_that_of_the_initialised_partitions(self) -> None:
        initialized = self.coordination.coordinator.initialized_partitions(GROUP)
        expected = {(GROUP, topic_id, p) for topic_id, partitions in initialized.items() for p in partitions}
        assert {key for key in expected if self.exists(key)} <= self.existing_states()
        if not self.has_failed:
            assert {key for key in expected if self.exists(key)} == self.existing_states()

    # --------------------------------------------------------------------------------------- insides

    def new_shard(self) -> ShareGroups:
        return ShareGroups(self.coordination.topics, lambda _: self.coordination.config, max_size=len(MEMBERS))

    @property
    def group(self) -> ShareGroup | None:
        return self.coordination.coordinator.groups.get(GROUP)

    def exists(self, key: tuple[str, UUID, int]) -> bool:
        return self.coordination.topics.topic_by_id(key[1]) is not None

    def existing_states(self) -> set[tuple[str, UUID, int]]:
        """The states of topics that exist. The share coordinator deletes others by itself."""
        return {key for key in self.coordination.share_states.start_offsets if self.exists(key)}

    def is_member(self, member: str) -> bool:
        return self.group is not None and member in self.group.members

    def stray_members(self) -> set[str]:
        """Members of the group that crashed and did not time out yet."""
        return set(self.group.members) - set(self.clients) if self.group else set()

    def expected_error(self, member: str, epoch: int) -> type[BrokerError] | None:
        if self.group is None:
            return GroupIdNotFoundError
        if member not in self.group.members:
            return UnknownMemberIdError
        current = self.group.current_of(member)
        good = epoch in (current.member_epoch, current.previous_member_epoch)
        return None if good else FencedMemberEpochError

    def beat(self, member: str, *, lost: bool) -> None:
        client = self.clients[member]
        try:
            response = self.send(member)
        except (FencedMemberEpochError, UnknownMemberIdError, GroupIdNotFoundError):
            client.epoch, client.owned, client.must_name_topics = 0, {}, True
            response = self.send(member)
        if lost:
            client.must_name_topics = True
            return
        client.epoch, client.must_name_topics = response.member_epoch, False
        owned = assigned(response)
        client.owned = client.owned if owned is None else owned
        self.check_knows_its_assignment(member)

    def send(self, member: str) -> ShareGroupHeartbeatResponse:
        client = self.clients[member]
        return self.coordination.heartbeat(member, client.epoch, client.topics if client.must_name_topics else None)

    def check_knows_its_assignment(self, member: str) -> None:
        client, current = self.clients[member], self.coordination.group.current[member]
        assert client.epoch == current.member_epoch
        assert {(t, p) for t, numbers in client.owned.items() for p in numbers} == {
            (partition.topic_id.int, partition.partition) for partition in current.partitions
        }


ShareGroupMachine.TestCase.settings = settings(max_examples=settings().max_examples, stateful_step_count=60)
TestShareGroup = ShareGroupMachine.TestCase
