"""What runs of classic groups leave out, each with its reason: steps that are not taken, and responses not waited for.

Two more things are never sent, as no client does so. A JoinGroup request that names a protocol twice: Kafka then counts
the member twice for it, so that nobody can choose it; here the second one is ignored. And requests after which a
session or a round would time out: the conformance tests have them.
"""

from collections.abc import Callable
from typing import Any

from attrs import frozen

from kafka_groups.protocol.messages.leave_group import FIRST_WITH_MANY_MEMBERS
from tests.lockstep.classic_conversation import Asked, Conversation
from tests.lockstep.classic_steps import JoinGroup, LeaveGroup, Leaver, SyncGroup
from tests.lockstep.offset_steps import CommitOffsets
from tests.lockstep.steps import Step

_LARGEST_METADATA = 4_096


@frozen
class LeftOut:
    """Steps that are not taken: which ones, and why."""

    name: str
    covers: Callable[[Step, Conversation], bool]
    reason: str


def _another_leads(step: Step, conversation: Conversation) -> bool:
    """Whether the leader leaves, or may have left before, and two members or more stay."""
    if not isinstance(step, LeaveGroup):
        return False
    members = {each.member_id for each in conversation.described.members}
    leader = conversation.leader
    staying = members - _leaving(step, conversation)
    return len(members) > 2 and len(staying) > 1 and leader not in staying


def _makes_an_invisible_group(step: Step, conversation: Conversation) -> bool:
    if not isinstance(step, CommitOffsets) or conversation.described.group_state != "Dead":
        return False
    return step.generation(conversation.side) < 0 and (step.metadata_size or 0) > _LARGEST_METADATA


LEFT_OUT = (
    LeftOut(
        name="choice of another leader",
        covers=_another_leads,
        reason="if the leader leaves, Kafka takes the next one from a hash table whose order follows from member ids",
    ),
    LeftOut(
        name="group made by a commit that stores nothing",
        covers=_makes_an_invisible_group,
        reason="if metadata are too large, Kafka still makes the group, without a record: DescribeGroups does not show "
        "it, nor the members that join, before the next record; here there is no group",
    ),
)


def undetermined(step: Step, conversation: Conversation) -> bool:
    """Whether a step is left out, because it is not determined what Kafka does, or known that it differs."""
    return any(each.covers(step, conversation) for each in LEFT_OUT)


def never_answered(step: Step, conversation: Conversation) -> list[Asked]:
    """Requests that Kafka does not answer any more after a step, so that their clients would wait until they time out.

    Here, a request that is repeated gets REBALANCE_IN_PROGRESS, and the SyncGroup request of a member that leaves
    UNKNOWN_MEMBER_ID. Clients give them up before the step.
    """
    if isinstance(step, LeaveGroup):
        leaving = _leaving(step, conversation)
        return [each for each in conversation.waiting if isinstance(each.step, SyncGroup) and each.member_id in leaving]
    if isinstance(step, JoinGroup | SyncGroup):
        repeated = [each for each in conversation.waiting if type(each.step) is type(step)]
        member_id = step.member_id(conversation.side)
        return [each for each in repeated if member_id and each.member_id == member_id]
    return []


def _leaving(step: LeaveGroup, conversation: Conversation) -> set[str]:
    """Ids of the members that a step removes."""
    has_one = step.version is not None and step.version < FIRST_WITH_MANY_MEMBERS
    named = (Leaver(step.members[0].label),) if has_one else step.members
    ids = [(conversation.side.labels.member_id(each.label), each.instance) for each in named]
    return {each.member_id for each in conversation.described.members if any(_is_named(each, *pair) for pair in ids)}


def _is_named(member: Any, member_id: str, instance: str | None) -> bool:
    if member_id:
        return bool(member.member_id == member_id and instance in (None, member.group_instance_id))
    return instance is not None and bool(member.group_instance_id == instance)
