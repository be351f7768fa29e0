"""The content of golden records, said in few words: times and hashes that are known stand as 1."""

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import evolve

from kafka_groups.protocol.coordinator_records.group_record import TargetEpoch
from kafka_groups.protocol.coordinator_records.record import CoordinatorRecord
from kafka_groups.protocol.coordinator_records.share_group import (
    AssignedTopic,
    DeletingTopic,
    ShareGroupCurrentMemberAssignment,
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupMemberMetadata,
    ShareGroupMemberMetadataValue,
    ShareGroupMetadata,
    ShareGroupMetadataValue,
    ShareGroupStatePartitionMetadata,
    ShareGroupStatePartitionMetadataValue,
    ShareGroupTargetAssignmentMember,
    ShareGroupTargetAssignmentMemberValue,
    ShareGroupTargetAssignmentMetadata,
    StateTopic,
)
from kafka_groups.protocol.coordinator_records.share_group_state import (
    ShareSnapshot,
    ShareSnapshotValue,
    ShareUpdate,
    ShareUpdateValue,
)
from kafka_groups.protocol.messages.share_state import UNINITIALIZED_OFFSET, UNKNOWN_COUNT, StateBatch
from tests.recording.golden_records import GROUP, load_records

IDS = load_records().topic_ids
SOME_TIME_MS = 1
SOME_HASH = 1
UNRESOLVED = (UNINITIALIZED_OFFSET, UNKNOWN_COUNT)
"""Start offset and delivery complete count of a share-partition that no member has fetched from."""

Partitions = Mapping[str, Iterable[int]]
"""Topic → partitions."""


def content(record: Any) -> CoordinatorRecord:
    """The record, with 1 for times and hashes, and topics in the order of their ids."""
    value = record.value
    match value:
        case ShareGroupMetadataValue():
            value = evolve(value, metadata_hash=SOME_HASH if value.metadata_hash else 0)
        case TargetEpoch():
            value = evolve(value, assignment_timestamp_ms=SOME_TIME_MS if value.assignment_timestamp_ms else 0)
        case ShareSnapshotValue():
            value = evolve(value, create_timestamp_ms=SOME_TIME_MS, write_timestamp_ms=SOME_TIME_MS)
        case ShareGroupTargetAssignmentMemberValue():
            value = evolve(value, topic_partitions=_sorted(value.topic_partitions))
        case ShareGroupCurrentMemberAssignmentValue():
            value = evolve(value, assigned_partitions=_sorted(value.assigned_partitions))
        case ShareGroupStatePartitionMetadataValue():
            initialised = tuple(sorted(value.initialized_topics, key=lambda topic: topic.topic_id))
            value = evolve(value, initialized_topics=initialised)
    found: CoordinatorRecord = evolve(record, value=value)
    return found


def member(member_id: str, *topics: str, group: str = GROUP) -> CoordinatorRecord:
    """A member and its subscription."""
    return ShareGroupMemberMetadata(
        group,
        member_id,
        ShareGroupMemberMetadataValue(
            rack_id="rack-a",
            client_id="kafka-groups-test",
            client_host="/127.0.0.1",
            subscribed_topic_names=topics,
        ),
    )


def group_epoch(epoch: int, *, metadata_hash: int = SOME_HASH, group: str = GROUP) -> CoordinatorRecord:
    """A group's epoch."""
    return ShareGroupMetadata(group, ShareGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash))


def target_epoch(epoch: int, *, time_ms: int = SOME_TIME_MS, group: str = GROUP) -> CoordinatorRecord:
    """The epoch of a target assignment."""
    return ShareGroupTargetAssignmentMetadata(
        group,
        TargetEpoch(assignment_epoch=epoch, assignment_timestamp_ms=time_ms),
    )


def target(member_id: str, partitions: Partitions, group: str = GROUP) -> CoordinatorRecord:
    """A member's target assignment."""
    return ShareGroupTargetAssignmentMember(
        group,
        member_id,
        ShareGroupTargetAssignmentMemberValue(topic_partitions=_assigned(partitions)),
    )


def current(member_id: str, epochs: tuple[int, int], partitions: Partitions, group: str = GROUP) -> CoordinatorRecord:
    """A member's epoch and the one before, and its assignment."""
    return ShareGroupCurrentMemberAssignment(
        group,
        member_id,
        ShareGroupCurrentMemberAssignmentValue(
            member_epoch=epochs[0],
            previous_member_epoch=epochs[1],
            state=0,
            assigned_partitions=_assigned(partitions),
        ),
    )


def states(
    initialising: Partitions, initialised: Partitions, deleting: Iterable[str] = (), group: str = GROUP
) -> CoordinatorRecord:
    """The share-partitions of a group."""
    return ShareGroupStatePartitionMetadata(
        group,
        ShareGroupStatePartitionMetadataValue(
            initializing_topics=_state_topics(initialising),
            initialized_topics=_state_topics(initialised),
            deleting_topics=tuple(DeletingTopic(topic_id=IDS[name], topic_name=name) for name in deleting),
        ),
    )


def snapshot(
    of: ShareSnapshot, epochs: tuple[int, int, int], start: tuple[int, int], *batches: StateBatch
) -> CoordinatorRecord:
    """Snapshot, state and leader epoch; start offset and delivery complete count."""
    value = ShareSnapshotValue(
        snapshot_epoch=epochs[0],
        state_epoch=epochs[1],
        leader_epoch=epochs[2],
        start_offset=start[0],
        delivery_complete_count=start[1],
        create_timestamp_ms=SOME_TIME_MS,
        write_timestamp_ms=SOME_TIME_MS,
        state_batches=batches,
    )
    return evolve(of, value=value)


def update(of: ShareSnapshot, leader_epoch: int, start: tuple[int, int], *batches: StateBatch) -> CoordinatorRecord:
    """A change after the first snapshot."""
    value = ShareUpdateValue(
        snapshot_epoch=0,
        leader_epoch=leader_epoch,
        start_offset=start[0],
        delivery_complete_count=start[1],
        state_batches=batches,
    )
    return ShareUpdate(of.group_id, of.topic_id, of.partition, value)


def share_partition(topic: str, partition: int, group: str = GROUP) -> ShareSnapshot:
    """The tombstone of a share-partition."""
    return ShareSnapshot(group, IDS[topic], partition)


def batch(first: int, last: int, state: int, count: int) -> StateBatch:
    """The state of a range of offsets."""
    return StateBatch(first_offset=first, last_offset=last, delivery_state=state, delivery_count=count)


def left(member_id: str, group: str = GROUP) -> list[CoordinatorRecord]:
    """Tombstones of a member."""
    classes = (
        ShareGroupCurrentMemberAssignment, ShareGroupTargetAssignmentMember, ShareGroupMemberMetadata
    )  # fmt: skip
    return [each(group, member_id) for each in classes]


def deleted(group: str = GROUP) -> list[CoordinatorRecord]:
    """Tombstones of a group."""
    classes = (ShareGroupTargetAssignmentMetadata, ShareGroupStatePartitionMetadata, ShareGroupMetadata)
    return [each(group) for each in classes]


def joined(member_id: str, topic: str, partitions: Iterable[int], group: str = GROUP) -> list[CoordinatorRecord]:
    """The first member of a group joins, and the topic is initialised."""
    return [
        member(member_id, topic, group=group),
        group_epoch(2, group=group),
        target(member_id, {}, group),
        target_epoch(2, group=group),
        current(member_id, (2, 0), {}, group),
        states({topic: partitions}, {}, group=group),
        states({}, {topic: partitions}, group=group),
        *(snapshot(share_partition(topic, p, group), (0, 2, 0), UNRESOLVED) for p in partitions),
    ]


def _assigned(partitions: Partitions) -> tuple[AssignedTopic, ...]:
    return _sorted(AssignedTopic(topic_id=IDS[name], partitions=tuple(numbers)) for name, numbers in partitions.items())


def _sorted(assigned: Iterable[AssignedTopic]) -> tuple[AssignedTopic, ...]:
    return tuple(sorted(assigned, key=lambda topic: topic.topic_id))


def _state_topics(partitions: Partitions) -> tuple[StateTopic, ...]:
    topics = (
        StateTopic(topic_id=IDS[name], topic_name=name, partitions=tuple(numbers))
        for name, numbers in partitions.items()
    )
    return tuple(sorted(topics, key=lambda topic: topic.topic_id))
