"""A group whose members speak the classic protocol, or the other one, or change it: random joins, leaves, fail-overs.

The members behave as Kafka's clients do: eager ones on the one side, which give up everything before they join again,
and on the other side those that revoke what they are told to revoke.
"""

from collections.abc import Mapping
from typing import Any

from attrs import define, field
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kafka_groups.broker.coordinators.groups.classic.states import ClassicGroupState
from kafka_groups.broker.coordinators.groups.consumer.group import partitions_of
from kafka_groups.broker.coordinators.groups.group_type import GroupType
from kafka_groups.broker.coordinators.groups.member_client import MemberClient
from kafka_groups.broker.coordinators.result import Reply, Result
from kafka_groups.errors import BrokerError, UnreleasedInstanceIdError
from kafka_groups.protocol.consumer_protocol import ConsumerProtocolAssignment
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatTopicPartitions,
)
from kafka_groups.protocol.messages.heartbeat import HeartbeatRequest
from kafka_groups.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from kafka_groups.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupRequestMember
from kafka_groups.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from tests.support.members.classic_member import subscription
from tests.unit.broker.coordinators.groups.scenes import Groups

GROUP, TOPIC, PARTITIONS = "g", "t", 4
NAMES, STATIC = ("a", "b", "c", "d"), frozenset({"c", "d"})
CLIENT = MemberClient("c", "/h")
REBALANCE_MS, SESSION_MS = 5_000, 20_000
NEWEST_WITHOUT_ID_FIRST, NEWEST = 3, 9
OFFSETS = {(TOPIC, 0): 5}
PROTOCOLS = (JoinGroupRequestProtocol(name="range", metadata=subscription(TOPIC)),)

names = st.sampled_from(NAMES)


@define
class Client:
    """What a member believes."""

    name: str
    member_id: str
    owned: frozenset[int] = frozenset()
    epoch: int = 0
    must_sync: bool = False
    assignments: Mapping[str, bytes] = field(factory=dict)
    waits_for: int | None = None

    @property
    def instance(self) -> str | None:
        """The instance id of a static member."""
        return self.name if self.name in STATIC else None

    def begin_again(self) -> None:
        """Give up everything."""
        self.owned, self.epoch, self.must_sync, self.waits_for = frozenset(), 0, False, None


class MigrationMachine(RuleBasedStateMachine):
    """The coordinator of one group, and four members, two of them static."""

    def __init__(self) -> None:
        super().__init__()
        self.groups = Groups(initial_rebalance_delay_ms=100, min_session_timeout_ms=1_000)
        self.topic_id = self.groups.topics.create(TOPIC, PARTITIONS)
        self.groups.commit(GROUP, OFFSETS)
        self.clients: dict[str, Client] = {}
        self.speaks_classic: dict[str, bool] = {}
        self.lives = 0

    # ---------------------------------------------------------------------------------------- members

    @rule(name=names, is_classic=st.booleans())
    def begin(self, name: str, is_classic: bool) -> None:
        """Start a member. A static one may be there with the other protocol, and does not know that it is replaced."""
        if name in self.clients:
            return
        self.lives += 1
        self.clients[name] = Client(name, "" if is_classic else f"{name}-{self.lives}")
        self.speaks_classic[name] = is_classic
        self.act(name)

    @precondition(lambda self: self.clients)
    @rule(data=st.data())
    def one_acts(self, data: st.DataObject) -> None:
        """A member does what is next."""
        self.act(data.draw(st.sampled_from(sorted(self.clients))))

    @rule()
    def all_act(self) -> None:
        """Every member does what is next."""
        for name in sorted(self.clients):
            self.act(name)

    @rule()
    def settle(self) -> None:
        """Members have time to get partitions."""
        for _ in range(4):
            self.all_act()
            self.wait(150)

    @initialize()
    def begin_with_a_classic_group(self) -> None:
        """A stable one, as that takes several steps."""
        self.begin(NAMES[0], is_classic=True)
        self.settle()

    @precondition(lambda self: self.clients)
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        """A member leaves; a static one that speaks the new protocol, for a while."""
        name = data.draw(st.sampled_from(sorted(self.clients)))
        client = self.clients.pop(name)
        if not self.speaks_classic[name]:
            self.beat(client, -1 if client.instance is None else -2)
        elif client.member_id:
            leaving = LeaveGroupRequestMember(member_id=client.member_id, group_instance_id=client.instance)
            request = LeaveGroupRequest(group_id=GROUP, members=(leaving,))
            self.store(self.groups.shard.leave_group(request, NEWEST, self.groups.now_ms))

    @precondition(lambda self: self.clients)
    @rule(data=st.data())
    def crash(self, data: st.DataObject) -> None:
        """A member goes without a word."""
        del self.clients[data.draw(st.sampled_from(sorted(self.clients)))]

    def act(self, name: str) -> None:
        """Send the next request."""
        if name not in self.clients:
            return
        client = self.clients[name]
        if client.waits_for is not None:
            return
        if not self.speaks_classic[name]:
            self.beat(client, client.epoch)
        elif client.must_sync:
            self.sync(client)
        elif client.epoch:
            self.heartbeat(client)
        else:
            self.join(client)

    # ------------------------------------------------------------------------------ the consumer protocol

    def beat(self, client: Client, epoch: int) -> None:
        owned = (ConsumerGroupHeartbeatTopicPartitions(topic_id=self.topic_id, partitions=tuple(client.owned)),)
        request = ConsumerGroupHeartbeatRequest(
            group_id=GROUP,
            member_id=client.member_id,
            member_epoch=epoch,
            instance_id=client.instance,
            rebalance_timeout_ms=REBALANCE_MS,
            subscribed_topic_names=(TOPIC,),
            topic_partitions=owned if client.owned else (),
        )
        try:
            result = self.groups.shard.consumer_group_heartbeat(request, CLIENT, 1, self.groups.now_ms)
        except UnreleasedInstanceIdError:
            self.clients.pop(client.name, None)
            return
        except BrokerError as error:
            if error.code == ErrorCode.FENCED_INSTANCE_ID:
                self.clients.pop(client.name, None)
            client.begin_again()
            return
        response = self.store(result)
        client.epoch = response.member_epoch
        if response.assignment is not None:
            found = [number for each in response.assignment.topic_partitions for number in each.partitions]
            client.owned = frozenset(found)

    # ------------------------------------------------------------------------------- the classic protocol

    def join(self, client: Client) -> None:
        client.begin_again()
        request = JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            member_id=client.member_id,
            group_instance_id=client.instance,
            protocol_type="consumer",
            protocols=PROTOCOLS,
        )
        version = NEWEST_WITHOUT_ID_FIRST if client.instance is None else NEWEST
        self.ask(client, self.groups.shard.join_group(request, CLIENT, version, self.groups.now_ms))

    def sync(self, client: Client) -> None:
        given = [
            SyncGroupRequestAssignment(member_id=each, assignment=data) for each, data in client.assignments.items()
        ]
        request = SyncGroupRequest(
            group_id=GROUP,
            generation_id=client.epoch,
            member_id=client.member_id,
            group_instance_id=client.instance,
            assignments=tuple(given),
        )
        self.ask(client, self.groups.shard.sync_group(request, self.groups.now_ms))

    def heartbeat(self, client: Client) -> None:
        request = HeartbeatRequest(
            group_id=GROUP,
            generation_id=client.epoch,
            member_id=client.member_id,
            group_instance_id=client.instance,
        )
        self.follow(client, self.store(self.groups.shard.heartbeat(request, self.groups.now_ms)))

    def ask(self, client: Client, result: Result[Any, Any]) -> None:
        """Send a request that may wait."""
        client.waits_for = result.parked
        response = self.store(result)
        if response is not None:
            self.follow(client, response)

    def follow(self, client: Client, response: Any) -> None:
        """Do what a response says."""
        client.waits_for = None
        match response.error_code:
            case ErrorCode.NONE if isinstance(response, JoinGroupResponse):
                self.joined(client, response)
            case ErrorCode.NONE if isinstance(response, SyncGroupResponse):
                client.must_sync = False
                assignment = ConsumerProtocolAssignment.decode(response.assignment)
                client.owned = frozenset(assignment.assigned_partitions.get(TOPIC, ()))
            case ErrorCode.NONE:
                pass
            case ErrorCode.REBALANCE_IN_PROGRESS | ErrorCode.ILLEGAL_GENERATION:
                client.begin_again()
            case ErrorCode.UNKNOWN_MEMBER_ID:
                client.begin_again()
                client.member_id = ""
            case ErrorCode.FENCED_INSTANCE_ID:
                self.clients.pop(client.name, None)
            case error:
                raise AssertionError(error)

    def joined(self, client: Client, response: JoinGroupResponse) -> None:
        client.member_id, client.epoch, client.must_sync = response.member_id, response.generation_id, True
        ids = [each.member_id for each in response.members]
        client.assignments = {
            each: ConsumerProtocolAssignment({TOPIC: tuple(range(PARTITIONS)[place :: len(ids)])}, version=0).encode()
            for place, each in enumerate(ids)
        }

    def store(self, result: Result[Any, Any]) -> Any:
        """Store records, and deliver the responses to requests that have waited."""
        response = self.groups.store(result)
        for effect in result.effects:
            assert isinstance(effect, Reply)
            for client in [each for each in self.clients.values() if each.waits_for == effect.token]:
                self.follow(client, effect.outcome)
        return response

    # ------------------------------------------------------------------------------------ around them

    @rule(ms=st.sampled_from((150, 1_000, REBALANCE_MS, SESSION_MS)))
    def wait(self, ms: int) -> None:
        """Let time pass. Members that the group has lost give up what they own."""
        until_ms = self.groups.now_ms + ms
        while (due_ms := self.groups.shard.next_deadline_ms()) is not None and due_ms <= until_ms:
            self.groups.advance(max(due_ms, self.groups.now_ms))
            self.store(self.groups.shard.expire(self.groups.now_ms, self.groups.wall_ms))
        self.groups.advance(until_ms)
        for client in self.clients.values():
            if client.member_id not in self.members() and client.waits_for is None:
                client.begin_again()
                client.member_id = "" if self.speaks_classic[client.name] else client.member_id

    @rule()
    def move(self) -> None:
        """Another coordinator takes over: nothing that is stored is forgotten. Requests that wait are lost."""
        before, shown = dict(self.groups.shard.consumer.groups), self.type
        classic = self.groups.shard.classic.groups.get(GROUP)
        self.groups.reload()
        assert dict(self.groups.shard.consumer.groups) == before
        assert self.type is shown
        if classic is not None and classic.state is ClassicGroupState.STABLE:
            assert set(self.groups.shard.classic.group(GROUP).members) == set(classic.members)
        for client in self.clients.values():
            if client.waits_for is not None or client.member_id not in self.members():
                client.begin_again()
                client.member_id = "" if self.speaks_classic[client.name] else client.member_id

    # ------------------------------------------------------------------------------------- invariants

    @invariant()
    def a_group_has_one_type(self) -> None:
        """Nothing of the other type is left, and the offsets stay."""
        has_consumers, has_classic = (
            GROUP in self.groups.shard.consumer.groups,
            GROUP in self.groups.shard.classic.groups,
        )
        assert has_consumers != has_classic
        assert self.groups.offsets(GROUP) == OFFSETS
        assert [each.type for each in self.groups.shard.listed()] == [self.type]

    @invariant()
    def no_partition_has_two_owners(self) -> None:
        """Not by the records, and not by what members believe, as long as the coordinator counts on them."""
        group = self.groups.shard.consumer.groups.get(GROUP)
        if group is not None:
            stored = [each for member in group.members for each in partitions_of(group.current_of(member))]
            assert len(stored) == len(set(stored)) == len(group.owners)
        members = self.members()
        believed = [number for each in self.clients.values() if each.member_id in members for number in each.owned]
        assert len(believed) == len(set(believed))

    @property
    def type(self) -> GroupType | None:
        """The type of the group."""
        return self.groups.shard.type_of(GROUP)

    def members(self) -> frozenset[str]:
        """The members that the coordinator has."""
        consumers = self.groups.shard.consumer.groups.get(GROUP)
        classic = self.groups.shard.classic.groups.get(GROUP)
        return frozenset(() if consumers is None else consumers.members) | frozenset(
            () if classic is None else classic.members
        )


TestMigration = MigrationMachine.TestCase
TestMigration.settings = settings(max_examples=settings().max_examples, stateful_step_count=40, deadline=None)
