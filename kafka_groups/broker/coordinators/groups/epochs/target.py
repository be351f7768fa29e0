"""Target assignments of groups with epochs: what they depend on, and those of empty groups."""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from kafka_groups.broker.coordinators.groups.draft import GroupDraft
from kafka_groups.broker.coordinators.groups.epochs.group import EpochGroup
from kafka_groups.broker.coordinators.groups.topics_image import TopicImage, TopicsImage
from kafka_groups.protocol.coordinator_records.group_record import TargetEpoch

__all__ = ["NO_TOPICS_HASH", "existing_topics", "hash_of", "settle_empty_group"]

G = TypeVar("G", bound=EpochGroup[Any, Any, Any, Any])

NO_TOPICS_HASH = 0
"""The hash of a group that has no existing topics."""
_HASH_BYTES = 8


def existing_topics(names: Iterable[str], topics: TopicsImage) -> Iterator[TopicImage]:
    """Return those of these topics that exist, by name."""
    for name in sorted(names):
        topic = topics.topic(name)
        # A subscribed topic that does not exist counts for nothing. When it is created, the hash changes.
        if topic is not None:
            yield topic


def hash_of(facts: object) -> int:
    """Return the hash of what a target assignment depends on. Each type of group has other facts.

    If it is not the one in the group's record, the group epoch increases.
    """
    # Kafka uses XXH3 (Utils.computeGroupHash), and its hashes are not compared with ours: a group that was loaded from
    # a log of Kafka gets one rebalance.
    digest = hashlib.blake2b(repr(facts).encode(), digest_size=_HASH_BYTES).digest()
    return int.from_bytes(digest, "big", signed=True)


def settle_empty_group(draft: GroupDraft[G, Any]) -> None:
    """Mark the target assignment of an empty group as current, because there is nothing to compute."""
    group = draft.group
    # Kafka also writes this record when the last member leaves. Without it the group would remain ASSIGNING, because
    # only heartbeats compute target assignments.
    if not group.members:
        draft.write(group.KIND.target_epoch(group.group_id, TargetEpoch(group.epoch)))
