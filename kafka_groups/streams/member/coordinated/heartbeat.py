"""The heartbeat messages of a member of a streams group: complete, or with changes only."""

from typing import Any

from attrs import evolve, frozen

from kafka_groups.protocol.messages.streams_group_heartbeat import (
    JOIN_GROUP_EPOCH,
    LEAVE_GROUP_EPOCH,
    LEAVE_STATIC_EPOCH,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)
from kafka_groups.streams.member.coordinated.task_offsets import FIRST_WITH_TASK_OFFSETS, NO_REPORT, OffsetReport
from kafka_groups.streams.member.rules.member_description import MemberDescription
from kafka_groups.streams.member.rules.member_events import GroupMembershipOperation
from kafka_groups.streams.member.rules.member_tasks import NO_TASKS, MemberTasks, tasks_from_wire, tasks_to_wire

__all__ = ["MemberHeartbeats", "SentHeartbeat"]


@frozen
class MemberHeartbeats:
    """The heartbeats of one member: complete, or with changes only.

    Attributes:
        description: What the member tells its group about itself.
        member_id: Its id, unique in the group. It keeps the id even after it was fenced.
    """

    description: MemberDescription
    member_id: str

    def leave_epoch(self, operation: GroupMembershipOperation) -> int | None:
        """Return the epoch of the heartbeat that leaves the group, or None if none has to be sent."""
        # There are three cases, as in StreamsMembershipManager.leaveGroupEpoch in Java. Epoch -1 leaves for good, which
        # a static member does only on request.
        if operation is GroupMembershipOperation.LEAVE_GROUP:
            return LEAVE_GROUP_EPOCH
        # Epoch -2 announces a static member's return: the coordinator keeps its tasks until the session ends
        # (GroupMetadataManager.streamsGroupStaticMemberGroupLeave). It is sent for REMAIN_IN_GROUP as well, because
        # without it the group refuses the next process with this instance id until then.
        if self.description.instance_id is not None:
            return LEAVE_STATIC_EPOCH
        # A dynamic member can remain in the group only by not telling it anything, as in
        # StreamsGroupHeartbeatRequestManager.shouldSkipLeaveHeartbeat in Java: -1 would remove it, and -2 is for static
        # members.
        return LEAVE_GROUP_EPOCH if operation is GroupMembershipOperation.DEFAULT else None

    def joining(self) -> StreamsGroupHeartbeatRequest:
        """Return the heartbeat that joins. The coordinator refuses it if it has tasks."""
        # KIP-1071, "Request Validation": all three lists are given and empty with epoch 0, and the topology is given
        # with this epoch only.
        full = self.full(JOIN_GROUP_EPOCH)
        return evolve(with_tasks(full, NO_TASKS), topology=self.description.topology.to_wire())

    def full(self, epoch: int) -> StreamsGroupHeartbeatRequest:
        """Return a heartbeat with the whole description but the topology, which only joining members send."""
        description = self.description
        return evolve(
            self.brief(epoch),
            rack_id=description.rack_id,
            rebalance_timeout_ms=description.rebalance_timeout_ms,
            process_id=description.process_id,
            user_endpoint=description.user_endpoint,
            client_tags=description.client_tags,
        )

    def brief(self, epoch: int) -> StreamsGroupHeartbeatRequest:
        """Return a heartbeat of a member that leaves, or whose description has not changed."""
        return StreamsGroupHeartbeatRequest(
            group_id=self.description.group_id,
            member_id=self.member_id,
            member_epoch=epoch,
            instance_id=self.description.instance_id,
        )


@frozen
class SentHeartbeat:
    """A heartbeat that was sent, and the tasks in it.

    Attributes:
        request: The message.
        owned: The tasks that the member owned when it was sent.
        lists_tasks: Whether it lists them.
        offsets: The offsets that it carries if the coordinator accepts them.
    """

    request: StreamsGroupHeartbeatRequest
    owned: MemberTasks
    lists_tasks: bool = False
    offsets: OffsetReport = NO_REPORT

    @property
    def joins(self) -> bool:
        """True if this heartbeat joins the group."""
        return self.request.member_epoch == JOIN_GROUP_EPOCH

    @property
    def leaves(self) -> bool:
        """True if this heartbeat leaves the group."""
        return self.request.member_epoch in (LEAVE_GROUP_EPOCH, LEAVE_STATIC_EPOCH)

    def build(self, version: int) -> StreamsGroupHeartbeatRequest:
        """Return the message for a version of the API. Coordinators of version 0 refuse task offsets."""
        # The lists are in the schema of version 0, but brokers of Kafka 4.2 and 4.3 answer them with an error.
        if version < FIRST_WITH_TASK_OFFSETS:
            return self.request
        return evolve(self.request, task_offsets=self.offsets.offsets, task_end_offsets=self.offsets.end_offsets)


def with_tasks(request: StreamsGroupHeartbeatRequest, tasks: MemberTasks) -> StreamsGroupHeartbeatRequest:
    """Return the heartbeat with the tasks that the member owns."""
    lists: dict[str, Any] = {
        "active_tasks": tasks_to_wire(tasks.active),
        "standby_tasks": tasks_to_wire(tasks.standby),
        "warmup_tasks": tasks_to_wire(tasks.warmup),
    }
    return evolve(request, **lists)


def assigned_tasks(response: StreamsGroupHeartbeatResponse) -> MemberTasks | None:
    """Return the tasks that the coordinator assigns, or None if they have not changed."""
    lists = (response.active_tasks, response.standby_tasks, response.warmup_tasks)
    # Kafka sends all three lists or none. Java raises an IllegalStateException for a mixture
    # (StreamsMembershipManager.onHeartbeatSuccess). Here a list that is missing is empty, because it is safer to give
    # up tasks than to end.
    if all(each is None for each in lists):
        return None
    active, standby, warmup = map(tasks_from_wire, lists)
    return MemberTasks(active=active, standby=standby, warmup=warmup)
