"""Identifies the member in commits, as long as it has not lost the tasks whose offsets are committed."""

from collections.abc import Iterable

from kafka_groups.admin.rules.group_topology.group_topology import GroupTopology
from kafka_groups.client.membership.group_metadata import AsMember
from kafka_groups.errors import IllegalStateError, KafkaGroupsError, TasksLostError
from kafka_groups.protocol.messages.streams_group_heartbeat import JOIN_GROUP_EPOCH
from kafka_groups.streams.member.rules.group_membership import GroupMembership
from kafka_groups.streams.member.rules.states import IN_GROUP, MembershipState
from kafka_groups.types import TaskId, TopicPartition

__all__ = ["REMEDY", "CommittingMember", "member_now", "member_of_all_tasks", "tasks_reading"]

REMEDY = (
    "Call poll, close the tasks that were lost, and confirm the event. Start assigned tasks from their committed"
    " offsets."
)
# In these states the program still holds tasks that are not the member's any more.
_LOST = frozenset({MembershipState.FENCED, MembershipState.STALE})


class _JoiningError(KafkaGroupsError):
    """The member has no epoch yet, and will have one soon."""

    retriable = True


class CommittingMember:
    """Returns the committing member whenever a request is sent.

    If the member loses its tasks and rejoins while a commit waits, the commit must not be sent with the new epoch:
    another member may have owned the tasks in between.

    Args:
        membership: The membership.
        partitions: The partitions to commit.

    Attributes:
        epoch: The epoch of the last request.
    """

    def __init__(self, membership: GroupMembership, partitions: Iterable[TopicPartition] = ()) -> None:
        self._membership = membership
        self._partitions = tuple(partitions)
        self._life = membership.life
        self.epoch = membership.epoch

    @property
    def is_outdated(self) -> bool:
        """True if the member has another epoch by now, or has lost its tasks."""
        # A newer epoch alone is harmless: the coordinator refused a request that was sent just before the epoch rose,
        # and the next one carries the new epoch.
        return self._membership.epoch != self.epoch or self._membership.life != self._life

    def __call__(self) -> AsMember:
        """Return the member.

        Raises:
            TasksLostError: It has lost the tasks since the commit began.
            IllegalStateError: It is not in the group.
            KafkaGroupsError: It is joining; the request may be sent later.
        """
        # There are three cases. The member has lost its tasks since the commit began: its new epoch, if it has one,
        # would be accepted although another member may have processed the same records in between.
        if self._membership.life != self._life:
            raise TasksLostError(f"The member lost its tasks while the call was waiting. {REMEDY}")
        # It is joining with its tasks, because a response was lost. The epoch that it will get is good for these tasks,
        # so the request waits for it.
        if not self._membership.knows_epoch:
            raise _JoiningError("The member is joining its group.")
        # Otherwise the coordinator decides by the epoch (StreamsGroup.validateOffsetCommit in Kafka).
        now = member_now(self._membership)
        self._check_tasks()
        self.epoch = now.epoch
        return now

    def _check_tasks(self) -> None:
        # After a rejoin, some of the former tasks may not have come back. With the member's current epoch, Kafka
        # accepts offsets of any partition (StreamsGroup.validateOffsetCommit), so the member has to check this itself.
        lost = self._membership.lost.active
        for partition in self._partitions if lost else ():
            tasks = tasks_reading(partition, self._membership.description.topology)
            # A topic that several sub-topologies read belongs to several tasks. The commit is refused only if none of
            # them is left.
            if tasks and tasks <= lost:
                raise TasksLostError(f"The member has lost the task {min(tasks)}, which reads {partition}. {REMEDY}")


def member_now(membership: GroupMembership) -> AsMember:
    """Return who the member is now, with the epoch that fences what it commits.

    Raises:
        TasksLostError: It has lost its tasks.
        IllegalStateError: It is not in the group.
    """
    # A commit from outside the group would be refused as well, but the program would not hear that its tasks are lost.
    if membership.state in _LOST:
        raise TasksLostError(
            f"The member is not in the group (state '{membership.state.value}'), and another member may own its tasks"
            f" by now. {REMEDY}"
        )
    # Epoch 0 belongs to no assignment: the coordinator would refuse it as stale.
    if membership.state not in IN_GROUP or membership.epoch == JOIN_GROUP_EPOCH:
        raise IllegalStateError(
            f"The member is not in the group (state '{membership.state.value}'). It has nothing to commit before poll"
            " has returned TasksAssigned."
        )
    return AsMember(membership.member_id, membership.epoch, membership.description.instance_id)


def member_of_all_tasks(membership: GroupMembership) -> AsMember:
    """Return who the member is now, for offsets of any of its tasks.

    A member that rejoins has a new epoch, which the coordinator accepts even for tasks that the program still holds
    although they were lost.

    Raises:
        TasksLostError: It has lost tasks that the program has not closed.
        IllegalStateError: It is not in the group.
    """
    # A transaction commits offsets of any tasks, so that a single lost one spoils it.
    if membership.lost:
        raise TasksLostError(f"The member has lost tasks: {membership.lost}. {REMEDY}")
    return member_now(membership)


def tasks_reading(partition: TopicPartition, topology: GroupTopology) -> frozenset[TaskId]:
    """Return the tasks that read a partition."""
    found = (each for each in topology.subtopologies if partition.topic in each.read_topics)
    return frozenset(TaskId(each.subtopology_id, partition.partition) for each in found)
