"""Persistent state of share-partitions (KIP-932, "Using the share coordinator from the group coordinator").

A share-partition can be assigned only once its state is initialised. That takes two steps, so that a coordinator that
fails in between is continued by the next one: a record says that initialisation begins, the share coordinator is
asked, a second record says that it is done. Deleting goes the same way.
"""

from collections.abc import Iterator, Mapping
from uuid import UUID

from attrs import evolve, frozen

from kafka_groups.broker.coordinator.records import ShareGroupStatePartitionMetadata, StatePartitions, TopicPartitions
from kafka_groups.broker.coordinator.share_group.draft import Draft
from kafka_groups.broker.coordinator.share_group.subscriptions import subscribed_topics
from kafka_groups.broker.coordinator.topics import TopicsImage

__all__ = [
    "Initialization",
    "begin_initialization",
    "drop_deleted_topics",
    "finish_deletion",
    "finish_initialization",
    "pending_initializations",
    "share_partitions",
]

UNINITIALIZED_OFFSET = -1
"""Start offset that leaves the beginning to the group's `share.auto.offset.reset`."""

_FIRST_OFFSET = 0


@frozen
class Initialization:
    """One share-partition whose state the share coordinator has to create."""

    topic_id: UUID
    partition: int
    start_offset: int


def begin_initialization(draft: Draft, topics: TopicsImage) -> None:
    """Begin with the partitions of subscribed topics that have no state yet."""
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
    """What the share coordinator has to be asked for.

    A partition that is added to a topic later begins at offset 0, wherever the group resets to: its records came
    after the group subscribed.
    """
    return [
        Initialization(topic_id, partition, _FIRST_OFFSET if topic_id in state.initialized else UNINITIALIZED_OFFSET)
        for topic_id, partition in share_partitions(state.initializing)
    ]


def finish_initialization(draft: Draft) -> None:
    """The share coordinator has created the state of everything that was being initialised."""
    known = draft.group.state_partitions
    _write(draft, evolve(known, initializing={}, initialized=_union(known.initialized, known.initializing)))


def drop_deleted_topics(draft: Draft, topics: TopicsImage) -> None:
    """Begin to delete the state of topics that do not exist any more."""
    known = draft.group.state_partitions
    gone = {topic_id for topic_id in known.topic_names if topics.topic_by_id(topic_id) is None}
    gone -= known.deleting.keys()
    if gone:
        state = _union(known.initialized, known.initializing)
        deleting = {topic_id: partitions for topic_id, partitions in state.items() if topic_id in gone}
        _write(
            draft,
            evolve(
                known,
                initializing=_without(known.initializing, gone),
                initialized=_without(known.initialized, gone),
                deleting=_union(known.deleting, deleting),
            ),
        )


def finish_deletion(draft: Draft) -> None:
    """The share coordinator has deleted everything that was being deleted."""
    known = draft.group.state_partitions
    names = {id_: name for id_, name in known.topic_names.items() if id_ not in known.deleting}
    _write(draft, evolve(known, deleting={}, topic_names=names))


def share_partitions(topics: TopicPartitions) -> Iterator[tuple[UUID, int]]:
    """Topic id and number of each partition, in order."""
    for topic_id in sorted(topics):
        for partition in sorted(topics[topic_id]):
            yield topic_id, partition


def _write(draft: Draft, state: StatePartitions) -> None:
    draft.write(ShareGroupStatePartitionMetadata(draft.group.group_id, state))


def _union(first: TopicPartitions, second: TopicPartitions) -> dict[UUID, frozenset[int]]:
    nothing: frozenset[int] = frozenset()
    return {id_: first.get(id_, nothing) | second.get(id_, nothing) for id_ in {**first, **second}}


def _without(topics: Mapping[UUID, frozenset[int]], gone: set[UUID]) -> dict[UUID, frozenset[int]]:
    return {topic_id: partitions for topic_id, partitions in topics.items() if topic_id not in gone}
