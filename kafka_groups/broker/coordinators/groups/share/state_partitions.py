"""Persistent state of share-partitions (KIP-932, "Using the share coordinator from the group coordinator").

A share-partition can be assigned only after its state is initialised. This takes two steps, so that the next
coordinator can continue if one fails in between: a record says that initialisation starts, the share coordinator
initialises the state, and a second record says that it is done. Deletion works the same way.
"""

from collections.abc import Collection, Iterator, Mapping
from uuid import UUID

from attrs import evolve, frozen

from kafka_groups.broker.coordinators.groups.records import (
    ShareGroupStatePartitionMetadata,
    StatePartitions,
    TopicPartitions,
)
from kafka_groups.broker.coordinators.groups.share.draft import Draft
from kafka_groups.broker.coordinators.groups.share.subscriptions import subscribed_topics
from kafka_groups.broker.coordinators.groups.topics import TopicsImage
from kafka_groups.protocol.messages.share_state import UNINITIALIZED_OFFSET

__all__ = [
    "Initialization",
    "begin_initialization",
    "begin_restart",
    "drop_deleted_topics",
    "finish_deletion",
    "finish_initialization",
    "forget_topics",
    "pending_initializations",
    "share_partitions",
]

_FIRST_OFFSET = 0


@frozen
class Initialization:
    """A share-partition whose state the share coordinator must create."""

    topic_id: UUID
    partition: int
    start_offset: int


def begin_initialization(draft: Draft, topics: TopicsImage) -> None:
    """Start to initialise the partitions of subscribed topics that have no state yet."""
    known = draft.group.state_partitions
    missing: dict[UUID, frozenset[int]] = {}
    names: dict[UUID, str] = {}
    for topic in subscribed_topics(draft.group, topics):
        has = known.initialized.get(topic.topic_id, frozenset()) | known.initializing.get(topic.topic_id, frozenset())
        lacks = frozenset(range(topic.num_partitions)) - has
        if lacks:
            missing[topic.topic_id] = lacks
            names[topic.topic_id] = topic.name
    if missing:
        initializing = _union(known.initializing, missing)
        _write(draft, evolve(known, initializing=initializing, topic_names={**known.topic_names, **names}))


def pending_initializations(state: StatePartitions) -> list[Initialization]:
    """Return the initialisations to request from the share coordinator.

    A partition that is added to a topic later starts at offset 0, regardless of the group's reset policy, because its
    records were all written after the group subscribed.
    """
    return [
        Initialization(topic_id, partition, _FIRST_OFFSET if topic_id in state.initialized else UNINITIALIZED_OFFSET)
        for topic_id, partition in share_partitions(state.initializing)
    ]


def finish_initialization(draft: Draft) -> None:
    """Record that the share coordinator has created all states that were being initialised."""
    known = draft.group.state_partitions
    _write(draft, evolve(known, initializing={}, initialized=_union(known.initialized, known.initializing)))


def begin_restart(draft: Draft, partitions: TopicPartitions, names: Mapping[UUID, str]) -> None:
    """Start to give partitions other start offsets. Those without state get one."""
    known = draft.group.state_partitions
    missing = {id_: numbers - known.initialized.get(id_, frozenset()) for id_, numbers in partitions.items()}
    initializing = _union(known.initializing, {id_: numbers for id_, numbers in missing.items() if numbers})
    _write(draft, evolve(known, initializing=initializing, topic_names={**known.topic_names, **names}))


def forget_topics(draft: Draft, topic_ids: Collection[UUID]) -> None:
    """Record that the state of topics is deleted, though the topics exist."""
    known = draft.group.state_partitions
    gone = set(topic_ids)
    names = {id_: name for id_, name in known.topic_names.items() if id_ not in gone}
    _write(draft, evolve(_without_topics(known, gone), topic_names=names))


def drop_deleted_topics(draft: Draft, topics: TopicsImage) -> None:
    """Start to delete the state of topics that no longer exist."""
    known = draft.group.state_partitions
    gone = {topic_id for topic_id in known.topic_names if topics.topic_by_id(topic_id) is None}
    gone -= known.deleting.keys()
    if gone:
        state = _union(known.initialized, known.initializing)
        deleting = {topic_id: partitions for topic_id, partitions in state.items() if topic_id in gone}
        _write(draft, evolve(_without_topics(known, gone), deleting=_union(known.deleting, deleting)))


def finish_deletion(draft: Draft) -> None:
    """Record that the share coordinator has deleted all states that were being deleted."""
    known = draft.group.state_partitions
    names = {id_: name for id_, name in known.topic_names.items() if id_ not in known.deleting}
    _write(draft, evolve(known, deleting={}, topic_names=names))


def share_partitions(topics: TopicPartitions) -> Iterator[tuple[UUID, int]]:
    """Return topic id and number of each partition, in order."""
    for topic_id in sorted(topics):
        for partition in sorted(topics[topic_id]):
            yield topic_id, partition


def _write(draft: Draft, state: StatePartitions) -> None:
    draft.write(ShareGroupStatePartitionMetadata(draft.group.group_id, state))


def _union(first: TopicPartitions, second: TopicPartitions) -> dict[UUID, frozenset[int]]:
    nothing: frozenset[int] = frozenset()
    return {id_: first.get(id_, nothing) | second.get(id_, nothing) for id_ in {**first, **second}}


def _without_topics(known: StatePartitions, gone: set[UUID]) -> StatePartitions:
    return evolve(known, initializing=_without(known.initializing, gone), initialized=_without(known.initialized, gone))


def _without(topics: Mapping[UUID, frozenset[int]], gone: set[UUID]) -> dict[UUID, frozenset[int]]:
    return {topic_id: partitions for topic_id, partitions in topics.items() if topic_id not in gone}
