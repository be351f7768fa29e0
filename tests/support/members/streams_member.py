"""A member of a streams group that does only what a test has it do (KIP-1071)."""

from collections.abc import Iterable
from typing import Any

from attrs import frozen

from kafka_groups.broker.coordinators.groups.streams.tasks import listed_tasks, task_set
from kafka_groups.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafka_groups.protocol.messages.streams_group_describe import (
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponseGroup,
)
from kafka_groups.protocol.messages.streams_group_heartbeat import (
    JOIN_GROUP_EPOCH,
    LEAVE_GROUP_EPOCH,
    LEAVE_STATIC_EPOCH,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatTopology,
)
from kafka_groups.protocol.messages.streams_group_parts import TaskIds
from kafka_groups.types import TaskId
from tests.support.conditions import until
from tests.support.requests.raw_client import RawClient

__all__ = ["StreamsBeat", "StreamsMember", "described_streams"]

REBALANCE_MS = 30_000
NEWEST = 1

TaskSet = frozenset[tuple[str, int]]


@frozen
class StreamsBeat:
    """What a heartbeat was answered. Without tasks, they have not changed."""

    error: str
    epoch: int
    statuses: tuple[int, ...]
    active: TaskSet | None
    standby: TaskSet | None
    response: Any


class StreamsMember:
    """A member. It remembers the epoch of the last answer, and nothing else.

    Attributes:
        member_id: Its id.
        epoch: The epoch of its next heartbeat.
    """

    def __init__(self, client: RawClient, group_id: str, member_id: str, instance: str | None = None) -> None:
        self.client = client
        self.group_id = group_id
        self.member_id = member_id
        self.instance = instance
        self.epoch = JOIN_GROUP_EPOCH

    async def beat(
        self, epoch: int | None = None, owned: Iterable[tuple[str, int]] | None = None, **fields: Any
    ) -> StreamsBeat:
        """Send a heartbeat, and note the epoch of the answer if it is not an error."""
        version = fields.pop("version", NEWEST)
        values: dict[str, Any] = {
            "group_id": self.group_id,
            "member_id": self.member_id,
            "member_epoch": self.epoch if epoch is None else epoch,
            "instance_id": self.instance,
        }
        if owned is not None:
            standbys = fields.pop("standbys", ())
            values |= {"active_tasks": _listed(owned), "standby_tasks": _listed(standbys)}
            values["warmup_tasks"] = ()
        response = await self.client.ask(StreamsGroupHeartbeatRequest(**(values | fields)), version)
        error = response.error_code.name
        if error == "NONE":
            self.epoch = response.member_epoch
        return StreamsBeat(
            error,
            response.member_epoch,
            tuple(each.status_code for each in response.status or ()),
            None if response.active_tasks is None else task_set(response.active_tasks),
            None if response.standby_tasks is None else task_set(response.standby_tasks),
            response,
        )

    async def join(self, topology: StreamsGroupHeartbeatTopology, **fields: Any) -> StreamsBeat:
        """Join with epoch 0. By default, the process has the id of the member."""
        values = {
            "rebalance_timeout_ms": REBALANCE_MS,
            "topology": topology,
            "process_id": self.member_id,
            "client_tags": (),
            **fields,
        }
        return await self.beat(JOIN_GROUP_EPOCH, (), **values)

    async def join_where_topics_are_new(self, topology: StreamsGroupHeartbeatTopology, **fields: Any) -> StreamsBeat:
        """Join with an endpoint: UNKNOWN_SERVER_ERROR until the coordinator has heard of the source topics."""
        return await until(lambda: self.join(topology, **fields), lambda it: it.error != "UNKNOWN_SERVER_ERROR")

    async def leave(self) -> StreamsBeat:
        """Leave for good."""
        return await self.beat(LEAVE_GROUP_EPOCH)

    async def leave_for_a_while(self) -> StreamsBeat:
        """Leave as a static member that will return."""
        return await self.beat(LEAVE_STATIC_EPOCH)

    async def commit(self, topic: str, number: int, epoch: int | None = None, version: int = 9, offset: int = 5) -> str:
        """Commit an offset; returns the name of the error."""
        partition = OffsetCommitRequestPartition(partition_index=number, committed_offset=offset, committed_metadata="")
        request = OffsetCommitRequest(
            group_id=self.group_id,
            generation_id_or_member_epoch=self.epoch if epoch is None else epoch,
            member_id=self.member_id,
            topics=(OffsetCommitRequestTopic(name=topic, partitions=(partition,)),),
        )
        [answered] = (await self.client.ask(request, version)).topics
        return str(answered.partitions[0].error_code.name)


async def described_streams(client: RawClient, group_id: str) -> StreamsGroupDescribeResponseGroup:
    """The group as StreamsGroupDescribe shows it."""
    request = StreamsGroupDescribeRequest(group_ids=(group_id,))
    group: StreamsGroupDescribeResponseGroup
    [group] = (await client.ask(request, NEWEST)).groups
    return group


def _listed(tasks: Iterable[tuple[str, int]]) -> tuple[TaskIds, ...]:
    return listed_tasks(frozenset(TaskId(*task) for task in tasks))
