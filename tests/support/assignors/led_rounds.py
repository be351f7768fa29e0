"""Rounds of a classic group, one after the other, with members that do what their leader says."""

import asyncio
from collections.abc import Mapping

from attrs import evolve, frozen

from kafka_groups.admin.rules.streams_leader.leading import AskedRound, ask_for_round, led_round
from kafka_groups.protocol.consumer_protocol import ConsumerProtocolAssignment
from kafka_groups.protocol.messages.describe_groups import DescribeGroupsResponseGroup
from kafka_groups.protocol.streams_user_data.assignment_info import AssignmentInfo, decode_assignment
from kafka_groups.protocol.streams_user_data.offset_sums import RUNNING_TASK
from kafka_groups.types import TopicPartition
from tests.support.assignors.leader_cases import APPLICATION, LeaderCase, ToldMember
from tests.support.members.shown_classic_groups import shown_group, shown_member

__all__ = ["MOST_ROUNDS", "Given", "LedCase", "carried_out", "decoded", "led_case", "settled"]

MOST_ROUNDS = 12

Given = Mapping[str, tuple[frozenset[TopicPartition], AssignmentInfo]]


@frozen(kw_only=True)
class LedCase:
    """A group that has been led.

    Attributes:
        case: The group as its members joined.
        asked: What the brokers answered.
        assignments: The bytes that members got.
    """

    case: LeaderCase
    asked: AskedRound
    assignments: Mapping[str, bytes]

    @property
    def given(self) -> Given:
        """What the members got."""
        return {id_: decoded(data) for id_, data in self.assignments.items()}

    @property
    def is_waiting(self) -> bool:
        """True if members wait for tasks that others give up."""
        return any(info.next_rebalance_ms == 0 for _, info in self.given.values())

    @property
    def is_settled(self) -> bool:
        """True if nobody is about to join again."""
        return all(info.next_rebalance_ms is None for _, info in self.given.values())

    @property
    def shown(self) -> DescribeGroupsResponseGroup:
        """The group as brokers describe it now."""
        subscriptions = self.case.subscriptions
        members = [
            shown_member(
                member_id=member.member_id,
                client_id=member.member_id.rpartition("-")[0],
                member_metadata=subscriptions[member.member_id],
                member_assignment=self.assignments[member.member_id],
            )
            for member in self.case.members
        ]
        return shown_group(*members, group_id=APPLICATION)


def led_case(case: LeaderCase) -> LedCase:
    """Lead a group once."""
    asked = asyncio.run(ask_for_round(case.topics, case.topics, case.round))
    return LedCase(case=case, asked=asked, assignments=led_round(asked, case.now_ms).assignments)


def settled(case: LeaderCase) -> LedCase:
    """Lead a group until nobody waits for tasks of others."""
    for _ in range(MOST_ROUNDS):
        led = led_case(case)
        if not led.is_waiting:
            return led
        case = carried_out(led)
    raise AssertionError(f"the group has not settled in {MOST_ROUNDS} rounds")


def carried_out(led: LedCase) -> LeaderCase:
    """Return the group when members own what they were given, and have restored all of it."""
    case, asked = led.case, led.asked
    members = tuple(_carried_out_by(member, *led.given[member.member_id], asked) for member in case.members)
    counts = {**case.counts, **{topic: asked.read_counts.get(topic, 0) for topic in asked.created_topics}}
    counts |= {topic: len(ends) for topic, ends in case.ends.items()}
    return evolve(case, members=members, counts=counts)


def _carried_out_by(
    member: ToldMember, owned: frozenset[TopicPartition], info: AssignmentInfo, asked: AskedRound
) -> ToldMember:
    sums = asked.ends.sums or {}
    running = {task: RUNNING_TASK for task in info.active_tasks if task in sums}
    copies = {task: sums[task] for task, _ in info.standby_tasks}
    return evolve(member, version=11, latest=11, owned=owned, sums=tuple({**copies, **running}.items()))


def decoded(data: bytes) -> tuple[frozenset[TopicPartition], AssignmentInfo]:
    """Return the partitions and the user data of an assignment."""
    assignment = ConsumerProtocolAssignment.decode(data)
    partitions = (
        TopicPartition(topic, each) for topic, numbers in assignment.assigned_partitions.items() for each in numbers
    )
    return frozenset(partitions), decode_assignment(assignment.user_data)
