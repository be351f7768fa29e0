"""Random actions of clients, brokers and logs: what must hold for a classic group, and that it always recovers."""

import random

import pytest

from kafka_groups.broker.coordinators.groups.classic.classic_changes import TimerKey, TimerKind
from kafka_groups.broker.coordinators.groups.classic.states import ClassicGroupState
from kafka_groups.protocol.error_codes import ErrorCode
from tests.unit.broker.coordinators.groups.classic.driving import (
    GROUP,
    NONE,
    REBALANCE_MS,
    Client,
    Cluster,
    RefusedError,
)

SEEDS = range(40)
STEPS = 250
QUIET_STEPS = 400
INSTANCES = (None, None, "one", "two", "three")
SUBSCRIPTIONS = (
    {"range": b"1", "sticky": b"1"},
    {"range": b"3", "sticky": b"1"},
    {"sticky": b"2", "range": b"2"},
)
"""All have both protocols. After loading, members only support the chosen one, as in Kafka."""


class ReactingClient:
    """A client that reacts to responses as a consumer does."""

    def __init__(self, cluster: Cluster, chance: random.Random, instance: str | None) -> None:
        self.cluster, self.chance, self.instance = cluster, chance, instance
        self.start()

    def start(self) -> None:
        """Start, or start again."""
        protocols, version = self.chance.choice(SUBSCRIPTIONS), self.chance.choice((3, 8, 9))
        if self.instance is not None:
            version = max(version, 5)
        self.client = Client(self.cluster, "app", self.instance, version, dict(protocols))
        self.phase = "out"

    def act(self) -> None:
        """Do the next thing."""
        client = self.client
        if self.phase == "out":
            client.join()
            self.phase = "joining"
        elif self.phase == "joining" and not client.joined.waits:
            self._joined()
        elif self.phase == "syncing" and not client.synced.waits:
            error = client.synced.response.error_code
            self.phase = "in"
            self._follow(error)
            assert error != NONE or client.synced.response.assignment in (b"", client.instance_bytes())
        elif self.phase == "in":
            self._follow(client.heartbeat())

    def _joined(self) -> None:
        client = self.client
        if client.joined.response.error_code != NONE:
            self.phase = "in"
            self._follow(client.joined.response.error_code)
            return
        response = client.learn()
        members = {} if response.skip_assignment else {each.member_id: each for each in response.members}
        client.sync({id_: (each.group_instance_id or "dynamic").encode() for id_, each in members.items()})
        self.phase = "syncing"

    def _follow(self, error: ErrorCode) -> None:
        if error == NONE:
            return
        if error == ErrorCode.FENCED_INSTANCE_ID:
            self.start()
        elif error == ErrorCode.UNKNOWN_MEMBER_ID:
            self.client.member_id = ""
        else:
            assert error in (
                ErrorCode.REBALANCE_IN_PROGRESS,
                ErrorCode.ILLEGAL_GENERATION,
                ErrorCode.MEMBER_ID_REQUIRED,
            ), error
        self.phase = "out"

    def disconnected(self) -> None:
        """The coordinator has moved: a request that waited is sent again."""
        if self.phase in ("joining", "syncing"):
            self.phase = "out"


class World:
    """A cluster with clients, and what chance does to them."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.cluster = Cluster()
        self.clients = [ReactingClient(self.cluster, self.chance, instance) for instance in INSTANCES]

    def step(self) -> None:
        """Let something happen."""
        client = self.chance.choice(self.clients)
        what = self.chance.random()
        try:
            if what < 0.70:
                client.act()
            elif what < 0.80:
                self.cluster.advance(self.chance.choice((1, 500, 3_000, 11_000, REBALANCE_MS)))
            elif what < 0.90:
                client.start()
            elif what < 0.94 and client.client.member_id:
                client.client.leave()
                client.start()
            elif what < 0.96:
                self.move()
            elif what < 0.98:
                self.cluster.refuses = not self.cluster.refuses
        except RefusedError:
            self.disconnect()

    def move(self) -> None:
        """Let the coordinator move."""
        self.cluster.move()
        self.disconnect()

    def disconnect(self) -> None:
        """Nobody gets the responses that were outstanding."""
        for client in self.clients:
            client.disconnected()


def check(cluster: Cluster) -> None:
    """Check what must always hold."""
    group = cluster.groups.groups.get(GROUP)
    if group is None:
        return
    members = group.members
    joins = {each.parked_join.token for each in members.values() if each.parked_join is not None}
    syncs = {each.parked_sync for each in members.values() if each.parked_sync is not None}
    assert joins | syncs == cluster.parked_tokens
    assert group.joins_waiting == len(joins)
    assert not joins or group.state is ClassicGroupState.PREPARING_REBALANCE
    assert not syncs or group.state is ClassicGroupState.COMPLETING_REBALANCE
    instances = {each.group_instance_id: id_ for id_, each in members.items() if each.group_instance_id is not None}
    assert group.static_members == instances
    assert sum(each.is_static for each in members.values()) == len(instances)
    assert (group.leader in members) if members else group.leader is None
    assert not members or group.state is not ClassicGroupState.EMPTY
    assert not group.pending_joins & members.keys()
    check_deadlines(cluster)
    check_hard_state(cluster)


def check_deadlines(cluster: Cluster) -> None:
    """Check that nobody is waited for without end, and nothing is waited for that is gone."""
    group, timers = cluster.group, cluster.groups.timers
    deadlines = {key for key in timers if key.group_id == GROUP}
    sessions = {key.member_id for key in deadlines if key.kind is TimerKind.SESSION}
    assert sessions <= group.members.keys() | group.pending_joins
    assert group.pending_joins <= sessions
    assert {id_ for id_, each in group.members.items() if not each.may_be_silent} <= sessions
    is_preparing = group.state is ClassicGroupState.PREPARING_REBALANCE
    assert (TimerKey(GROUP, TimerKind.JOIN) in deadlines) == is_preparing
    awaits_syncs = bool(group.pending_syncs) and not is_preparing
    assert (TimerKey(GROUP, TimerKind.SYNC) in deadlines) == awaits_syncs
    if group.state is ClassicGroupState.COMPLETING_REBALANCE:
        assert group.leader in group.pending_syncs


def check_hard_state(cluster: Cluster) -> None:
    """Check that the record says what the group is, if members have agreed on it."""
    group = cluster.group
    stored, current = group.stored, group.current()
    assert stored is not None
    if group.state is ClassicGroupState.STABLE:
        assert (stored.generation, stored.protocol, stored.leader) == (group.generation, group.protocol, group.leader)
        assert set(stored.members) == set(current.members)
    assert stored.generation <= group.generation


@pytest.mark.parametrize("seed", SEEDS)
def test_a_group_stays_consistent_and_becomes_stable_when_the_trouble_is_over(seed: int) -> None:
    world = World(seed)
    for _ in range(STEPS):
        world.step()
        check(world.cluster)
    world.cluster.refuses = False
    for _ in range(QUIET_STEPS):
        for client in world.clients:
            client.act()
        world.cluster.advance(500)
        check(world.cluster)
    cluster = world.cluster
    assert cluster.state == "Stable"
    assert {client.phase for client in world.clients} == {"in"}
    assert set(cluster.group.members) == {client.client.member_id for client in world.clients}
    assert cluster.group.static_members.keys() == {instance for instance in INSTANCES if instance is not None}
    world.move()
    assert {client.client.heartbeat() for client in world.clients} == {NONE}
