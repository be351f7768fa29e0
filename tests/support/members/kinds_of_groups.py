"""Groups of every type, empty or with a member, and every request about groups with a short form of its response."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any
from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from kafka_groups.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kafka_groups.protocol.messages.consumer_group_heartbeat import (
    JOIN_GROUP_EPOCH,
    LEAVE_GROUP_EPOCH,
    ConsumerGroupHeartbeatRequest,
)
from kafka_groups.protocol.messages.delete_groups import DeleteGroupsRequest
from kafka_groups.protocol.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from kafka_groups.protocol.messages.describe_groups import DescribeGroupsRequest
from kafka_groups.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from kafka_groups.protocol.messages.leave_group import LeaveGroupRequestMember
from kafka_groups.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from kafka_groups.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
)
from kafka_groups.protocol.messages.share_group_describe import ShareGroupDescribeRequest
from kafka_groups.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kafka_groups.protocol.messages.streams_group_describe import StreamsGroupDescribeRequest
from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest
from kafka_groups.types import member_id_of
from tests.support.cluster_client import Topic
from tests.support.members.classic_member import ClassicMember, subscription
from tests.support.members.listed_groups import listed_groups
from tests.support.members.streams_topologies import sent, subtopology
from tests.support.requests.raw_client import RawClient
from tests.support.targets import Target

__all__ = ["KINDS", "REQUESTS", "Subject", "listed"]

INSTANCE, OTHER_INSTANCE = "one", "other"
_MEMBER, _NEWCOMER = member_id_of(UUID(int=1)), member_id_of(UUID(int=2))
_REBALANCE_MS = 30_000
_OFFSET = 7
_ASSIGNMENT = bytes(6) + b"\xff\xff\xff\xff"
"""Nothing, as consumers of classic groups write it."""
_FETCH_VERSION, _COMMIT_VERSION = 9, 9


@frozen
class Subject:
    """A group of a certain kind.

    Attributes:
        target: The cluster.
        client: A connection to the coordinator.
        group_id: Its id.
        topic: A topic of two partitions, to which its members subscribe.
    """

    target: Target
    client: RawClient
    group_id: str
    topic: Topic

    @classmethod
    async def of(cls, target: Target, kind: str) -> "Subject":
        """Make a group of a kind."""
        topic = await target.cluster.create_topic(2)
        group_id = await target.new_group()
        subject = cls(target, target.client(), group_id, topic)
        await KINDS[kind](subject)
        return subject

    def classic(self, instance: str | None = None) -> ClassicMember:
        """A member of a classic group that has not joined."""
        protocols = (("range", subscription(self.topic.name)),)
        return ClassicMember(self.target.client(), self.group_id, instance, protocols=protocols)


async def _ask(subject: Subject, request: Any, version: int | None = None) -> Any:
    return await subject.client.ask(request, version)


# ------------------------------------------------------------------------------------------------------- kinds


async def _missing(_subject: Subject) -> None:
    """It does not exist."""


async def _classic(subject: Subject) -> None:
    await _joined(subject)


async def _classic_of_others(subject: Subject) -> None:
    await _joined(subject, protocol_type="connect")


async def _empty_classic(subject: Subject) -> None:
    member = await _joined(subject)
    assert await member.commit(subject.topic, _OFFSET) == "NONE"
    await member.leave()


async def _joined(subject: Subject, protocol_type: str = "consumer") -> ClassicMember:
    """A member that has joined and has an assignment, without which Kafka does not let the group change its type."""
    member = subject.classic(INSTANCE)
    await member.join(protocol_type=protocol_type)
    assert (await member.sync({member.member_id: _ASSIGNMENT}, protocol_type=protocol_type))[0] == "NONE"
    return member


async def _committed(subject: Subject) -> None:
    assert await _commit_outside(subject) == "NONE"


async def _consumer(subject: Subject) -> None:
    await _until_stable(subject)


async def _empty_consumer(subject: Subject) -> None:
    await _until_stable(subject)
    leave = ConsumerGroupHeartbeatRequest(group_id=subject.group_id, member_id=_MEMBER, member_epoch=LEAVE_GROUP_EPOCH)
    assert (await _ask(subject, leave)).error_code.name == "NONE"


async def _until_stable(subject: Subject) -> None:
    response = await _ask(subject, _consumer_join(subject, _MEMBER, INSTANCE))
    assert response.error_code.name == "NONE", response


async def _share(subject: Subject) -> None:
    await subject.target.joined(subject.group_id, subject.topic, (0, 1))


async def _empty_share(subject: Subject) -> None:
    member = await subject.target.joined(subject.group_id, subject.topic, (0, 1))
    await member.leave()


async def _streams(subject: Subject) -> None:
    assert (await _ask(subject, _streams_join(subject, _MEMBER, INSTANCE))).error_code.name == "NONE"


async def _empty_streams(subject: Subject) -> None:
    await _streams(subject)
    leave = StreamsGroupHeartbeatRequest(group_id=subject.group_id, member_id=_MEMBER, member_epoch=LEAVE_GROUP_EPOCH)
    assert (await _ask(subject, leave)).error_code.name == "NONE"


KINDS: Mapping[str, Callable[[Subject], Awaitable[None]]] = MappingProxyType({
    "missing": _missing,
    "offsets": _committed,
    "classic, empty": _empty_classic,
    "classic": _classic,
    "connect": _classic_of_others,
    "consumer, empty": _empty_consumer,
    "consumer": _consumer,
    "share, empty": _empty_share,
    "share": _share,
    "streams, empty": _empty_streams,
    "streams": _streams,
})  # fmt: skip
"""How each kind of group is made.

`offsets` are those that somebody committed without being a member; `connect` is a classic group whose members are no
consumers.
"""

# ---------------------------------------------------------------------------------------------------- requests


async def _join(subject: Subject) -> str:
    member = subject.classic(OTHER_INSTANCE)
    joining = asyncio.create_task(member.ask_to_join())
    await asyncio.wait([joining], timeout=_parked_s(subject))
    if not joining.done():
        joining.cancel()
        return "waits"
    return joining.result().error_code.name


def _parked_s(subject: Subject) -> float:
    return 0.5 if subject.target.speaks_tcp else 0.1


async def _sync(subject: Subject) -> str:
    return (await subject.classic().sync(member_id="somebody", generation_id=1, protocol_name="range"))[0]


async def _heartbeat(subject: Subject) -> str:
    return await subject.classic().heartbeat(member_id="somebody", generation_id=1)


async def _leave_by_instance(subject: Subject) -> str:
    return _names(await subject.classic().leave(LeaveGroupRequestMember(member_id="", group_instance_id=INSTANCE)))


async def _leave_by_id(subject: Subject) -> str:
    return _names(await subject.classic().leave(LeaveGroupRequestMember(member_id="somebody")))


def _names(left: list[tuple[str, str | None, str]]) -> str:
    return ", ".join(name for _, _, name in left)


async def _commit_outside(subject: Subject) -> str:
    return await subject.classic().commit(subject.topic, _OFFSET, member_id="", generation_id=-1)


async def _commit_from_a_member(subject: Subject) -> str:
    return await subject.classic().commit(subject.topic, _OFFSET, member_id="somebody", generation_id=1)


async def _fetch_offsets(subject: Subject, **member: Any) -> str:
    topic = OffsetFetchRequestTopic(name=subject.topic.name, topic_id=subject.topic.topic_id, partition_indexes=(0,))
    asked = OffsetFetchRequestGroup(group_id=subject.group_id, topics=(topic,), **member)
    [group] = (await _ask(subject, OffsetFetchRequest(groups=(asked,)), _FETCH_VERSION)).groups
    offsets = [each.committed_offset for topic in group.topics for each in topic.partitions]
    return f"{group.error_code.name} {offsets}"


async def _fetch_offsets_outside(subject: Subject) -> str:
    return await _fetch_offsets(subject)


async def _fetch_offsets_as_member(subject: Subject) -> str:
    return await _fetch_offsets(subject, member_id="somebody", member_epoch=1)


async def _delete_offsets(subject: Subject) -> str:
    partition = OffsetDeleteRequestPartition(partition_index=0)
    topic = OffsetDeleteRequestTopic(name=subject.topic.name, partitions=(partition,))
    response = await _ask(subject, OffsetDeleteRequest(group_id=subject.group_id, topics=(topic,)))
    errors = [each.error_code.name for topic in response.topics for each in topic.partitions]
    return f"{response.error_code.name} {errors}"


async def _describe_groups(subject: Subject) -> str:
    [group] = (await _ask(subject, DescribeGroupsRequest(groups=(subject.group_id,)))).groups
    return f"{group.error_code.name} {group.group_state}"


async def _delete_group(subject: Subject) -> str:
    [result] = (await _ask(subject, DeleteGroupsRequest(groups_names=(subject.group_id,)))).results
    return str(result.error_code.name)


async def _list_groups(subject: Subject) -> str:
    return await listed(subject)


async def listed(subject: Subject) -> str:
    """What ListGroups shows of the group: type, protocol type, and whether it has members."""
    groups = await listed_groups(subject.client)
    found = [each for each in groups if each.group_id == subject.group_id]
    return ", ".join(f"{each.group_type}, {each.protocol_type}, {_members(each.group_state)}" for each in found)


def _members(state: str) -> str:
    return "empty" if state == "Empty" else "with members"


def _consumer_join(subject: Subject, member_id: str, instance: str | None = None) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(
        group_id=subject.group_id,
        member_id=member_id,
        member_epoch=JOIN_GROUP_EPOCH,
        instance_id=instance,
        rebalance_timeout_ms=_REBALANCE_MS,
        subscribed_topic_names=(subject.topic.name,),
        topic_partitions=(),
    )


async def _consumer_heartbeat_joins(subject: Subject) -> str:
    return str((await _ask(subject, _consumer_join(subject, _NEWCOMER))).error_code.name)


async def _consumer_heartbeat(subject: Subject, epoch: int = 1) -> str:
    request = ConsumerGroupHeartbeatRequest(group_id=subject.group_id, member_id=_NEWCOMER, member_epoch=epoch)
    return str((await _ask(subject, request)).error_code.name)


async def _consumer_heartbeat_leaves(subject: Subject) -> str:
    return await _consumer_heartbeat(subject, LEAVE_GROUP_EPOCH)


async def _consumer_describe(subject: Subject) -> str:
    request = ConsumerGroupDescribeRequest(group_ids=(subject.group_id,), include_authorized_operations=False)
    [group] = (await _ask(subject, request)).groups
    return f"{group.error_code.name} {group.group_state}"


def _streams_join(subject: Subject, member_id: str, instance: str | None = None) -> StreamsGroupHeartbeatRequest:
    return StreamsGroupHeartbeatRequest(
        group_id=subject.group_id,
        member_id=member_id,
        member_epoch=JOIN_GROUP_EPOCH,
        instance_id=instance,
        rebalance_timeout_ms=_REBALANCE_MS,
        topology=sent(subtopology("0", sources=(subject.topic.name,))),
        active_tasks=(),
        standby_tasks=(),
        warmup_tasks=(),
        process_id="process",
        client_tags=(),
    )


async def _streams_heartbeat_joins(subject: Subject) -> str:
    return str((await _ask(subject, _streams_join(subject, _NEWCOMER))).error_code.name)


async def _streams_heartbeat(subject: Subject, epoch: int = 1) -> str:
    request = StreamsGroupHeartbeatRequest(group_id=subject.group_id, member_id=_NEWCOMER, member_epoch=epoch)
    return str((await _ask(subject, request)).error_code.name)


async def _streams_heartbeat_leaves(subject: Subject) -> str:
    return await _streams_heartbeat(subject, LEAVE_GROUP_EPOCH)


async def _streams_describe(subject: Subject) -> str:
    request = StreamsGroupDescribeRequest(group_ids=(subject.group_id,), include_authorized_operations=False)
    [group] = (await _ask(subject, request)).groups
    return f"{group.error_code.name} {group.group_state and _members(group.group_state)}"


async def _share_heartbeat(subject: Subject, epoch: int = 1) -> str:
    request = ShareGroupHeartbeatRequest(group_id=subject.group_id, member_id=_NEWCOMER, member_epoch=epoch)
    return str((await _ask(subject, request)).error_code.name)


async def _share_heartbeat_joins(subject: Subject) -> str:
    request = ShareGroupHeartbeatRequest(
        group_id=subject.group_id, member_id=_NEWCOMER, member_epoch=0, subscribed_topic_names=(subject.topic.name,)
    )
    return str((await _ask(subject, request)).error_code.name)


async def _share_heartbeat_leaves(subject: Subject) -> str:
    return await _share_heartbeat(subject, LEAVE_GROUP_EPOCH)


async def _share_describe(subject: Subject) -> str:
    request = ShareGroupDescribeRequest(group_ids=(subject.group_id,), include_authorized_operations=False)
    [group] = (await _ask(subject, request)).groups
    return f"{group.error_code.name} {group.group_state}"


async def _describe_share_offsets(subject: Subject) -> str:
    asked = DescribeShareGroupOffsetsRequestGroup(group_id=subject.group_id, topics=None)
    [group] = (await _ask(subject, DescribeShareGroupOffsetsRequest(groups=(asked,)))).groups
    return f"{group.error_code.name} {sum(len(topic.partitions) for topic in group.topics)}"


async def _alter_share_offsets(subject: Subject) -> str:
    partition = AlterShareGroupOffsetsRequestPartition(partition_index=0, start_offset=0)
    topic = AlterShareGroupOffsetsRequestTopic(topic_name=subject.topic.name, partitions=(partition,))
    response = await _ask(subject, AlterShareGroupOffsetsRequest(group_id=subject.group_id, topics=(topic,)))
    errors = [each.error_code.name for topic in response.responses for each in topic.partitions]
    return f"{response.error_code.name} {errors}"


async def _delete_share_offsets(subject: Subject) -> str:
    topic = DeleteShareGroupOffsetsRequestTopic(topic_name=subject.topic.name)
    response = await _ask(subject, DeleteShareGroupOffsetsRequest(group_id=subject.group_id, topics=(topic,)))
    return f"{response.error_code.name} {[each.error_code.name for each in response.responses]}"


REQUESTS: Mapping[str, Callable[[Subject], Awaitable[str]]] = MappingProxyType({
    "JoinGroup": _join,
    "SyncGroup": _sync,
    "Heartbeat": _heartbeat,
    "LeaveGroup, instance": _leave_by_instance,
    "LeaveGroup, member": _leave_by_id,
    "OffsetCommit, outside": _commit_outside,
    "OffsetCommit, member": _commit_from_a_member,
    "OffsetFetch, outside": _fetch_offsets_outside,
    "OffsetFetch, member": _fetch_offsets_as_member,
    "OffsetDelete": _delete_offsets,
    "DescribeGroups": _describe_groups,
    "DeleteGroups": _delete_group,
    "ListGroups": _list_groups,
    "ConsumerGroupHeartbeat, joins": _consumer_heartbeat_joins,
    "ConsumerGroupHeartbeat": _consumer_heartbeat,
    "ConsumerGroupHeartbeat, leaves": _consumer_heartbeat_leaves,
    "ConsumerGroupDescribe": _consumer_describe,
    "StreamsGroupHeartbeat, joins": _streams_heartbeat_joins,
    "StreamsGroupHeartbeat": _streams_heartbeat,
    "StreamsGroupHeartbeat, leaves": _streams_heartbeat_leaves,
    "StreamsGroupDescribe": _streams_describe,
    "ShareGroupHeartbeat, joins": _share_heartbeat_joins,
    "ShareGroupHeartbeat": _share_heartbeat,
    "ShareGroupHeartbeat, leaves": _share_heartbeat_leaves,
    "ShareGroupDescribe": _share_describe,
    "DescribeShareGroupOffsets": _describe_share_offsets,
    "AlterShareGroupOffsets": _alter_share_offsets,
    "DeleteShareGroupOffsets": _delete_share_offsets,
})  # fmt: skip
"""Every request about groups. Those that come from a member come from one that the group does not have."""
