"""Checks of offset commits and fetches by members of a streams group (KIP-1071, KAFKA-19779)."""

from collections.abc import Iterable

from kafka_groups.broker.coordinators.groups.epochs.members import known_member
from kafka_groups.broker.coordinators.groups.streams.group import StreamsGroup
from kafka_groups.broker.coordinators.groups.streams.records import StreamsAssignment
from kafka_groups.errors import StaleMemberEpochError, UnsupportedVersionError
from kafka_groups.types import TaskId, TopicPartition

__all__ = ["check_commit", "check_fetch"]

_FIRST_WITH_MEMBER_EPOCH = 9
"""Version of OffsetCommit from which it has the epoch of a member."""


def check_commit(
    group: StreamsGroup, member_id: str, epoch: int, version: int, partitions: Iterable[TopicPartition]
) -> None:
    """Check whether offsets may be committed.

    An older epoch is enough for the partitions of tasks that the member has had since then, because its heartbeat may
    be on the way.

    Raises:
        UnknownMemberIdError: The group has members, and this is none of them.
        UnsupportedVersionError: The request has no member epoch.
        StaleMemberEpochError: The member has another epoch.
    """
    # Administration tools set offsets without being members. KIP-1071, "Admin API", has this for empty groups only,
    # since a running member would not notice and would overwrite the offsets (StreamsGroup.validateOffsetCommit).
    if epoch < 0 and not group.members:
        return
    known_member(group, member_id, None)
    # Before v9 the field has the generation of a classic group. A producer that commits in a transaction is not
    # affected: its caller passes a version that has epochs.
    if version < _FIRST_WITH_MEMBER_EPOCH:
        raise UnsupportedVersionError("The group is a streams group. Use OffsetCommit v9 or later.")
    current = group.current_of(member_id)
    if epoch == current.member_epoch:
        return
    # There are three cases. The current epoch may commit everything. A newer one cannot come from this coordinator's
    # member. An older one is checked for each partition (StreamsGroup.createAssignmentEpochValidator in Kafka,
    # KAFKA-19779).
    if epoch > current.member_epoch:
        raise StaleMemberEpochError(f"The member epoch {epoch} is newer than the current one, {current.member_epoch}.")
    for partition in partitions:
        _check_task(group, current, partition, epoch)


def check_fetch(group: StreamsGroup, member_id: str | None, epoch: int) -> None:
    """Check whether offsets may be fetched. Who does not say that it is a member may fetch them.

    Raises:
        UnknownMemberIdError: The group does not have the member.
        StaleMemberEpochError: The member has another epoch.
    """
    # Only a null member id means that the request is not a member's. An empty one is looked up, and is unknown
    # (StreamsGroup.validateOffsetFetch).
    if member_id is None and epoch < 0:
        return
    known_member(group, member_id or "", None)
    expected = group.current_of(member_id or "").member_epoch
    if epoch != expected:
        raise StaleMemberEpochError(f"The member epoch {epoch} is not the expected one, {expected}.")


def _check_task(group: StreamsGroup, current: StreamsAssignment, partition: TopicPartition, epoch: int) -> None:
    readers = {} if group.topology is None else group.topology.readers
    subtopology_id = readers.get(partition.topic)
    # A topic that the topology does not read belongs to no task, so nothing says since when the member may commit for
    # it.
    if subtopology_id is None:
        raise StaleMemberEpochError(f"The topology does not read topic {partition.topic}.")
    task = TaskId(subtopology_id, partition.partition)
    # A member commits once more while it closes a task that it has to revoke, so those tasks count as well.
    since = current.active.get(task, current.revoking_active.get(task))
    if since is None:
        raise StaleMemberEpochError(f"The member does not have the task {task}.")
    # The member may have had the task before, lost it and got it back. A commit from before must not overwrite offsets
    # that another owner committed in between.
    if epoch < since:
        raise StaleMemberEpochError(
            f"The member epoch {epoch} is older than {since}, in which the member got the task {task}."
        )
