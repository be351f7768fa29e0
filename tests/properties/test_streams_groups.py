"""Streams groups whose members join, leave, fall silent, restart and lose responses, while coordinators move.

Members follow the protocol: they drop what a response leaves out, and list what they own until it is confirmed.
"""

import random
from collections import Counter
from contextlib import suppress
from math import ceil

import pytest
from attrs import define, evolve, field

from kafka_groups.broker.coordinators.groups.streams.states import StreamsGroupState
from kafka_groups.errors import FencedMemberEpochError, UnknownMemberIdError
from kafka_groups.types import TaskId
from tests.support.broker.streams_groups import AT_ONCE, Streams, active, standby
from tests.support.members.streams_topologies import internal, sent, subtopology

TOPOLOGY = sent(
    subtopology("0", sources=("in",), sinks=("r",)),
    subtopology("1", repartitions=(internal("r"),), changelogs=(internal("store"),)),
)
STEPS, ROUNDS, PARTITIONS, PROCESSES = 120, 5, 5, 4
LOST = 0.1
SEEDS = [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 40))]


@define
class Member:
    """A member as its process sees it."""

    member_id: str
    process_id: str
    epoch: int = 0
    active: set[TaskId] = field(factory=set)
    standby: set[TaskId] = field(factory=set)


class Application:
    """The members of a group, and what happens to them."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.streams = Streams(evolve(AT_ONCE, num_standby_replicas=self.rng.randrange(3)))
        for name in ("in", "r", "store"):
            self.streams.topics.create(name, PARTITIONS)
        self.members: dict[str, Member] = {}
        self._joined = 0

    def step(self) -> None:
        """Let something happen."""
        chosen = self.rng.choices(
            (self.join, self.beat, self.leave, self.move, self.wait), weights=(10, 60, 5, 3, 5)
        )  # fmt: skip
        chosen[0]()
        self.check()

    def join(self) -> None:
        self._joined += 1
        member_id = f"m{self._joined}"
        self.members[member_id] = Member(member_id, f"p{self.rng.randrange(PROCESSES)}")
        self.talk(self.members[member_id])

    def beat(self) -> None:
        if self.members:
            self.talk(self.members[self.rng.choice(sorted(self.members))])

    def leave(self) -> None:
        if self.members:
            member = self.members.pop(self.rng.choice(sorted(self.members)))
            with suppress(UnknownMemberIdError):  # it may have been removed for its silence
                self.streams.beat(member.member_id, -1)

    def move(self) -> None:
        self.streams.move()

    def wait(self) -> None:
        """Nobody sends heartbeats for a while: who had to revoke tasks is removed."""
        self.streams.after(self.rng.choice((1_000, 6_000)))
        known = self.streams.group.members if self.streams.groups.groups else {}
        for member in self.members.values():
            if member.member_id not in known:
                self.start_again(member)

    def start_again(self, member: Member) -> None:
        member.epoch, member.active, member.standby = 0, set(), set()

    def talk(self, member: Member, *, is_lossy: bool = True) -> None:
        """A heartbeat. If its response is lost, the member joins again: it would not be told its tasks another time."""
        try:
            if member.epoch == 0:
                response = self.streams.join(member.member_id, TOPOLOGY, process_id=member.process_id)
            else:
                response = self.streams.beat(member.member_id, member.epoch, member.active, member.standby)
        except (FencedMemberEpochError, UnknownMemberIdError):
            self.start_again(member)
            return
        if is_lossy and self.rng.random() < LOST:
            self.start_again(member)
            return
        member.epoch = response.member_epoch
        given, kept = active(response), standby(response)
        if given is not None and kept is not None:
            member.active, member.standby = given, kept

    def check(self) -> None:
        """No task has two owners, and no process has a task twice."""
        running = Counter(task for member in self.members.values() for task in member.active)
        assert all(count == 1 for count in running.values()), running
        copies = Counter(
            (member.process_id, task) for member in self.members.values() for task in member.active | member.standby
        )
        assert all(count == 1 for count in copies.values()), copies

    def settle(self) -> int:
        """Let the members talk until the group is stable; returns the number of rounds."""
        for number in range(1, ROUNDS + 1):
            for member_id in sorted(self.members):
                self.talk(self.members[member_id], is_lossy=False)
                self.check()
            if self.streams.group.state is StreamsGroupState.STABLE:
                return number
        raise AssertionError(f"not stable: {self.streams.group}")


@pytest.mark.parametrize("seed", SEEDS)
def test_no_task_has_two_owners_and_in_the_end_each_has_one(seed: int) -> None:
    application = Application(seed)
    for _ in range(STEPS):
        application.step()
    application.join()
    application.settle()
    for member in application.members.values():
        application.talk(member, is_lossy=False)

    members = application.members.values()
    tasks = {(subtopology_id, partition) for subtopology_id in ("0", "1") for partition in range(PARTITIONS)}
    assert sorted(task for member in members for task in member.active) == sorted(tasks)
    loads = [len(member.active) for member in members]
    assert max(loads) - min(loads) <= 1
    before = application.streams.records[:]
    application.settle()
    assert application.streams.records == before, "nothing moves any more"


@pytest.mark.parametrize("seed", SEEDS)
def test_a_member_that_leaves_and_returns_moves_few_tasks(seed: int) -> None:
    application = Application(seed)
    for _ in range(2 + seed % 4):
        application.join()
    application.settle()
    owners = {task: member.member_id for member in application.members.values() for task in member.active}
    member = application.members.pop("m1")
    application.streams.beat("m1", -1)
    application.settle()
    application.start_again(member)
    application.members["m1"] = member
    application.talk(member, is_lossy=False)
    application.settle()

    after = {task: member.member_id for member in application.members.values() for task in member.active}
    moved = [task for task, owner in owners.items() if after[task] != owner and owner != "m1"]
    assert len(moved) <= ceil(len(owners) / len(application.members))
