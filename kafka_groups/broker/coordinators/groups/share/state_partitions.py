"""Persistent state of share-partitions (KIP-932, "Using the share coordinator from the group coordinator").

A share-partition can be assigned only after its state is initialised. This takes two steps, so that the next
coordinator can continue if one fails in between: a record says that initialisation starts, the share coordinator
initialises the state, and a second record says that it is done. Deletion works the same way, except for the states of
deleted topics, which the share coordinator deletes by itself.
"""

from collections.abc import Collection, Iterator, Mapping
from uuid import UUID

from attrs import evolve

from kafka_groups.broker.coordinators.groups.share.group import Draft
from kafka_groups.broker.coordinators.groups.share.records import PartitionsOfTopics, StatePartitions
from kafka_groups.broker.coordinators.groups.share.subscriptions import subscribed_topics
from kafka_groups.broker.coordinators.groups.topics_image import TopicsImage
from kafka_groups.protocol.coordinator_records.share_group import ShareGroupStatePartitionMetadata
from kafka_groups.protocol.messages.share_state import UNINITIALIZED_OFFSET

__all__ = [
    "begin_deletion",
    "begin_initialization",
    "begin_restart",
    "drop_deleted_topics",
    "finish_deletion",
    "finish_initialization",
    "first_offsets",
    "give_up_initialization",
    "share_partitions",
]

_FIRST_OFFSET = 0
_NOTHING: frozenset[int] = frozenset()


def begin_initialization(draft: Draft, topics: TopicsImage) -> PartitionsOfTopics:
    """Start to initialise the partitions of subscribed topics that have no state yet, and return them.

    Partitions whose state is being deleted wait until it is.
    """
    # KIP-932, "Using the share coordinator from the group coordinator", has two cases: a topic that is new to the
    # group, and a known topic with more partitions than before (GroupMetadataManager.subscribedTopicsChangeMap in
    # Kafka).
    known = draft.group.state_partitions
    missing: dict[UUID, frozenset[int]] = {}
    names: dict[UUID, str] = {}
    for topic in subscribed_topics(draft.group, topics):
        lacks = frozenset(range(topic.num_partitions)) - _all_of(known, topic.topic_id)
        # A deletion that is under way would also delete the new state. Kafka drops such topics from its set of deleting
        # ones (addInitializingTopicsRecords) and accepts that.
        if lacks and topic.topic_id not in known.deleting:
            missing[topic.topic_id] = lacks
            names[topic.topic_id] = topic.name
    if missing:
        initializing = _union(known.initializing, missing)
        _write(draft, evolve(known, initializing=initializing, topic_names={**known.topic_names, **names}))
    return missing


def first_offsets(known: StatePartitions, partitions: PartitionsOfTopics) -> dict[tuple[UUID, int], int]:
    """Return where delivery starts in partitions that are being initialised.

    A partition that is added to a topic later starts at offset 0, regardless of the group's reset policy, because its
    records were all written after the group subscribed.
    """
    return {
        # KIP-932, "Managing the SPSO and SPEO", starts added partitions at 0. -1 leaves the decision to the leader of
        # the share-partition, which applies share.auto.offset.reset with the first fetch. Kafka 4.4 also counts a topic
        # as known whose first initialisation has not ended, so that a retry starts at 0
        # (GroupMetadataManager.maybeCreateInitializeShareGroupStateRequest).
        (topic_id, partition): _FIRST_OFFSET if topic_id in known.initialized else UNINITIALIZED_OFFSET
        for topic_id, partition in share_partitions(partitions)
    }


def finish_initialization(draft: Draft, partitions: PartitionsOfTopics) -> None:
    """Record that the share coordinator has created states, as far as they were being initialised."""
    known = draft.group.state_partitions
    # Partitions may have left `initializing` while the share coordinator was working, because their topic or state was
    # deleted. They must not come back as initialised.
    done = _common(known.initializing, partitions)
    if done:
        initializing, initialized = _minus(known.initializing, done), _union(known.initialized, done)
        _write(draft, evolve(known, initializing=initializing, initialized=initialized))


def give_up_initialization(draft: Draft, partitions: PartitionsOfTopics) -> None:
    """Record that states could not be created. The next heartbeat starts again."""
    known = draft.group.state_partitions
    # Kafka retries only after group.share.initialize.retry.interval.ms, or at once if the failure was reported
    # (GroupCoordinatorService.uninitializeShareGroupState). Here every failure is reported.
    failed = _common(known.initializing, partitions)
    if failed:
        _write(draft, _with_names(evolve(known, initializing=_minus(known.initializing, failed))))


def begin_restart(draft: Draft, partitions: PartitionsOfTopics, names: Mapping[UUID, str]) -> None:
    """Start to give partitions other start offsets. Until that has ended, they count as without state."""
    known = draft.group.state_partitions
    # Kafka leaves them among the initialised ones. Here they cannot be assigned until their new start offset is stored,
    # so that a member that joins in between does not fetch from the old one.
    initializing, initialized = _union(known.initializing, partitions), _minus(known.initialized, partitions)
    names = {**known.topic_names, **names}
    _write(draft, evolve(known, initializing=initializing, initialized=initialized, topic_names=names))


def begin_deletion(draft: Draft, topic_ids: Collection[UUID]) -> frozenset[UUID]:
    """Start to delete the state of topics, and return those that have or may have some.

    Some may be in deletion already: it was not finished, or not heard of.
    """
    known = draft.group.state_partitions
    # KIP-932, "Using the share coordinator from the group coordinator", writes the topics to DeletingTopics before the
    # RPC, so that the next coordinator can go on with the deletion.
    gone = {id_: all_ for id_ in topic_ids if (all_ := _all_of(known, id_))}
    if gone:
        deleting = _union(known.deleting, gone)
        _write(draft, evolve(_without_topics(known, gone), deleting=deleting))
    return frozenset(id_ for id_ in topic_ids if id_ in gone or id_ in known.deleting)


def finish_deletion(draft: Draft, topic_ids: Collection[UUID]) -> None:
    """Record that the share coordinator has deleted the state of topics."""
    known = draft.group.state_partitions
    if any(topic_id in known.deleting for topic_id in topic_ids):
        _write(draft, _with_names(evolve(known, deleting=_without(known.deleting, topic_ids))))


def drop_deleted_topics(draft: Draft, topics: TopicsImage) -> None:
    """Forget topics that no longer exist. The share coordinator deletes their state itself."""
    known = draft.group.state_partitions
    # The topic's absence itself says that the states have to go, so nothing is kept in DeletingTopics
    # (GroupMetadataManager.maybeCleanupShareGroupState).
    gone = {topic_id for topic_id in known.topic_names if topics.topic_by_id(topic_id) is None}
    if gone:
        left = evolve(_without_topics(known, gone), deleting=_without(known.deleting, gone))
        _write(draft, _with_names(left))


def share_partitions(topics: PartitionsOfTopics) -> Iterator[tuple[UUID, int]]:
    """Return topic id and number of each partition, in order."""
    for topic_id in sorted(topics):
        for partition in sorted(topics[topic_id]):
            yield topic_id, partition


def _write(draft: Draft, state: StatePartitions) -> None:
    draft.write(ShareGroupStatePartitionMetadata(draft.group.group_id, state))


def _all_of(known: StatePartitions, topic_id: UUID) -> frozenset[int]:
    return known.initialized.get(topic_id, _NOTHING) | known.initializing.get(topic_id, _NOTHING)


def _union(first: PartitionsOfTopics, second: PartitionsOfTopics) -> dict[UUID, frozenset[int]]:
    return {id_: first.get(id_, _NOTHING) | second.get(id_, _NOTHING) for id_ in {**first, **second}}


def _minus(topics: PartitionsOfTopics, gone: PartitionsOfTopics) -> dict[UUID, frozenset[int]]:
    left = {id_: numbers - gone.get(id_, _NOTHING) for id_, numbers in topics.items()}
    return {id_: numbers for id_, numbers in left.items() if numbers}


def _common(first: PartitionsOfTopics, second: PartitionsOfTopics) -> dict[UUID, frozenset[int]]:
    both = {id_: numbers & second.get(id_, _NOTHING) for id_, numbers in first.items()}
    return {id_: numbers for id_, numbers in both.items() if numbers}


def _without_topics(known: StatePartitions, gone: Collection[UUID]) -> StatePartitions:
    return evolve(known, initializing=_without(known.initializing, gone), initialized=_without(known.initialized, gone))


def _without(topics: PartitionsOfTopics, gone: Collection[UUID]) -> dict[UUID, frozenset[int]]:
    return {topic_id: partitions for topic_id, partitions in topics.items() if topic_id not in gone}


def _with_names(known: StatePartitions) -> StatePartitions:
    """Return the state with the names of its topics, and no others."""
    topics = {**known.initializing, **known.initialized, **known.deleting}
    return evolve(known, topic_names={id_: name for id_, name in known.topic_names.items() if id_ in topics})
