"""A consumer group under random joins, leaves, lost responses, time-outs, restarts, topic changes and fail-overs.

The members behave as Kafka's clients do: they say what they own, revoke what they are told to revoke, and join again
with nothing when the coordinator refuses them.
"""

from typing import TypeAlias
from uuid import UUID

from attrs import define, field
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kafka_groups.broker.coordinators.groups.consumer.group import ConsumerGroup, partitions_of
from kafka_groups.broker.coordinators.groups.consumer.states import (
    CONSUMER_GROUP_TRANSITIONS,
    ConsumerGroupState,
    ConsumerMemberState,
)
from kafka_groups.config.cluster.consumer_group import ConsumerGroupConfig
from kafka_groups.errors import BrokerError, UnreleasedInstanceIdError
from tests.support.broker.consumer_groups import GROUP, REBALANCE_MS, Consumers, Owned, as_owned

NAMES = ("a", "b", "c", "d", "e")
STATIC = frozenset({"d", "e"})
TOPICS = ("orders", "bills", "parcels")
INTERVAL_MS, SESSION_MS = 1_000, 10_000

Subscription: TypeAlias = tuple[str, ...]
subscriptions = st.lists(st.sampled_from(TOPICS), min_size=1, unique=True).map(tuple)
names = st.sampled_from(NAMES)


@define
class Client:
    """What a member believes."""

    member_id: str
    instance: str | None
    topics: Subscription
    epoch: int = 0
    owned: Owned = field(factory=dict)
    told: Owned = field(factory=dict)
    says_all: bool = True

    def join_again(self) -> None:
        """Give up everything."""
        self.epoch, self.owned, self.told, self.says_all = 0, {}, {}, True

    def follow(self) -> None:
        """Own what the member was told to own; before, it revokes what it must."""
        self.owned = self.told


class ConsumerGroupMachine(RuleBasedStateMachine):
    """The coordinator of one group, and five members, two of them static."""

    @initialize(interval_ms=st.sampled_from((0, INTERVAL_MS)))
    def start(self, interval_ms: int) -> None:
        config = ConsumerGroupConfig(assignment_interval_ms=interval_ms, session_timeout_ms=SESSION_MS)
        self.consumers = Consumers(config)
        for name in TOPICS[:2]:
            self.consumers.topics.create(name, 3)
        self.clients: dict[str, Client] = {}
        self.lives = 0
        self.last_epoch = 0
        self.last_state = ConsumerGroupState.EMPTY

    # ---------------------------------------------------------------------------------------- members

    @rule(name=names, topics=subscriptions, lost=st.booleans())
    def join(self, name: str, topics: Subscription, lost: bool) -> None:
        """Start a member, or start it again."""
        if name in self.clients and name in STATIC:
            return
        self.lives += name in STATIC
        member_id = f"{name}-{self.lives}" if name in STATIC else name
        self.clients[name] = Client(member_id, name if name in STATIC else None, topics)
        self.beat(name, lost=lost)

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), lost=st.booleans())
    def heartbeat(self, data: st.DataObject, lost: bool) -> None:
        """An ordinary heartbeat."""
        self.beat(data.draw(st.sampled_from(sorted(self.clients))), lost=lost)

    @rule()
    def heartbeats(self) -> None:
        """One of every member."""
        for name in sorted(self.clients):
            self.beat(name, lost=False)

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), topics=subscriptions, lost=st.booleans())
    def subscribe(self, data: st.DataObject, topics: Subscription, lost: bool) -> None:
        """Another subscription."""
        name = data.draw(st.sampled_from(sorted(self.clients)))
        self.clients[name].topics, self.clients[name].says_all = topics, True
        self.beat(name, lost=lost)

    @precondition(lambda self: self.clients)
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        """Leave: a static member for a while."""
        name = data.draw(st.sampled_from(sorted(self.clients)))
        client = self.clients.pop(name)
        try:
            self.consumers.beat(client.member_id, -1 if client.instance is None else -2, instance_id=client.instance)
        except BrokerError:
            assert client.member_id not in self.members()

    @precondition(lambda self: self.clients)
    @rule(data=st.data())
    def crash(self, data: st.DataObject) -> None:
        """Go without a word."""
        del self.clients[data.draw(st.sampled_from(sorted(self.clients)))]

    def beat(self, name: str, *, lost: bool) -> None:
        """Send a heartbeat; without an answer, the next one says everything."""
        client = self.clients[name]
        says_all = client.says_all or client.epoch == 0
        try:
            response = self.consumers.beat(
                client.member_id,
                client.epoch,
                client.owned,
                instance_id=client.instance,
                rebalance_timeout_ms=REBALANCE_MS if says_all else -1,
                subscribed_topic_names=client.topics if says_all else None,
            )
        except UnreleasedInstanceIdError:
            del self.clients[name]  # the one before has crashed, and its session is not over
            return
        except BrokerError:
            client.join_again()
            return
        client.says_all = lost
        if lost:
            return
        client.epoch = response.member_epoch
        assignment = as_owned(response)
        if assignment is not None:
            client.told = assignment
            if all(set(numbers) <= set(assignment.get(topic, ())) for topic, numbers in client.owned.items()):
                client.follow()

    @precondition(lambda self: self.clients)
    @rule(data=st.data())
    def revoke(self, data: st.DataObject) -> None:
        """Finish what takes a member some time."""
        self.clients[data.draw(st.sampled_from(sorted(self.clients)))].follow()

    # ------------------------------------------------------------------------------------ around them

    @rule(ms=st.sampled_from((500, INTERVAL_MS, REBALANCE_MS, SESSION_MS)))
    def wait(self, ms: int) -> None:
        """Let time pass. Members that hear nothing for a session's time give up what they own."""
        self.consumers.after(ms)
        for client in self.clients.values():
            if client.member_id not in self.members():
                client.join_again()

    @rule(name=st.sampled_from(TOPICS))
    def change_topic(self, name: str) -> None:
        """Create a topic, let it grow, or delete it."""
        topics = self.consumers.topics
        known = topics.topic(name)
        if known is None:
            topics.create(name, 2)
        elif known.num_partitions < 5:
            topics.grow(name, known.num_partitions + 1)
        else:
            topics.delete(name)

    @rule()
    def move(self) -> None:
        """Another coordinator takes over: nothing that counts is forgotten."""
        before = dict(self.consumers.groups.groups)
        self.consumers.move()
        assert self.consumers.groups.groups == before
        for group_id, group in before.items():
            moved = self.consumers.groups.group(group_id)
            assert (moved.owners, moved.instances) == (group.owners, group.instances)
            assert (moved.subscribers, moved.regex_subscribers) == (group.subscribers, group.regex_subscribers)

    @rule()
    def settle(self) -> None:
        """Give everyone time: then each partition has exactly one owner, and nothing moves any more."""
        for _ in range(12):
            self.consumers.after(INTERVAL_MS)
            for name in sorted(self.clients):
                self.beat(name, lost=False)
                if name in self.clients:
                    self.clients[name].follow()
        if not self.clients or set(self.members()) != {client.member_id for client in self.clients.values()}:
            return
        group = self.consumers.group
        assert group.state is ConsumerGroupState.STABLE
        wanted = {
            (topic.topic_id, number)
            for topic in map(self.consumers.topics.topic, group.subscribed_topics())
            if topic is not None
            for number in range(topic.num_partitions)
        }
        assert group.owners.keys() == wanted
        stored = len(self.consumers.records)
        for name, client in sorted(self.clients.items()):
            has = {partition for partition, owner in group.owners.items() if owner == client.member_id}
            assert {(topic, number) for topic, numbers in client.owned.items() for number in numbers} == has
            self.beat(name, lost=False)
        assert len(self.consumers.records) == stored

    # ------------------------------------------------------------------------------------- invariants

    @invariant()
    def no_partition_has_two_owners(self) -> None:
        """Not by the records, and not by what members believe, as long as the coordinator counts on them."""
        group = self.known
        if group is None:
            return
        seen: dict[tuple[UUID, int], str] = {}
        for member_id in group.members:
            for partition in partitions_of(group.current_of(member_id)):
                assert seen.setdefault(partition, member_id) == member_id
                assert group.owners[partition] == member_id
        assert len(seen) == len(group.owners)
        believed: dict[tuple[UUID, int], str] = {}
        for client in self.clients.values():
            if client.member_id in group.members:
                for topic, numbers in client.owned.items():
                    for number in numbers:
                        assert believed.setdefault((topic, number), client.member_id) == client.member_id

    @invariant()
    def epochs_do_not_go_back(self) -> None:
        """Members are never ahead of the assignment, nor that of the group."""
        group = self.known
        if group is None:
            return
        assert self.last_epoch <= group.epoch
        self.last_epoch = group.epoch
        assert group.assignment_epoch <= group.epoch
        for member_id in group.members:
            current = group.current_of(member_id)
            assert current.member_epoch <= group.assignment_epoch
            assert bool(current.revoking) == (current.state is ConsumerMemberState.UNREVOKED_PARTITIONS)

    @invariant()
    def states_follow_the_table(self) -> None:
        """Each change of the state can be explained by a few events."""
        group = self.known
        if group is not None and group.state is not self.last_state:
            after = {target for (state, _), target in CONSUMER_GROUP_TRANSITIONS.items() if state is self.last_state}
            then = {target for (state, _), target in CONSUMER_GROUP_TRANSITIONS.items() if state in after}
            assert group.state in after | then
            self.last_state = group.state

    @property
    def known(self) -> ConsumerGroup | None:
        """The group, if it exists."""
        return self.consumers.groups.groups.get(GROUP)

    def members(self) -> frozenset[str]:
        """The members that the coordinator has."""
        group = self.known
        return frozenset() if group is None else frozenset(group.members)


TestConsumerGroup = ConsumerGroupMachine.TestCase
TestConsumerGroup.settings = settings(max_examples=settings().max_examples, stateful_step_count=40, deadline=None)
