"""Questions about the committed offsets of groups: commit, fetch and delete.

Members of consumer groups (KIP-848) and streams groups (KIP-1071) name themselves with their epoch, and the coordinator
refuses those that are not up to date. An administrator has no name: the coordinator refuses it while the group has
members.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Final
from uuid import UUID

from kafka_groups.client.calls.partition_offsets import by_topic, by_topic_and_id
from kafka_groups.client.calls.questions import COORDINATORS, Answer, Question, finished_or_not, gathered, told
from kafka_groups.client.calls.results import Results
from kafka_groups.client.membership.group_metadata import NOBODY, AsMember
from kafka_groups.errors import UnsupportedVersionError, error_for
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.offset_commit import (
    FIRST_WITH_TOPIC_IDS,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponseTopic,
)
from kafka_groups.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from kafka_groups.protocol.messages.offset_fetch import (
    FIRST_WITH_GROUPS,
    NO_OFFSET,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
)
from kafka_groups.types import OffsetAndMetadata, TopicPartition

__all__ = [
    "Committed",
    "FetchedOffsets",
    "commit_question",
    "delete_question",
    "fetch_all_question",
    "fetch_question",
]

Committed = Results[TopicPartition, None]
FetchedOffsets = Results[TopicPartition, OffsetAndMetadata | None]

_NEWEST_WITH_NAMES: Final = FIRST_WITH_TOPIC_IDS - 1
"""Newer versions want topic ids, which say nothing more about a topic that the caller knows by its name."""
_NO_IDS: Mapping[TopicPartition, UUID] = MappingProxyType({})
_NO_LEADER_EPOCH: Final = -1


def commit_question(
    group_id: str,
    offsets: Mapping[TopicPartition, OffsetAndMetadata],
    who: Callable[[], AsMember] = lambda: NOBODY,
    topic_ids: Mapping[TopicPartition, UUID] = _NO_IDS,
) -> Question[str, Committed]:
    """Return the question that commits offsets (OffsetCommit). For each partition, the answer is None or an error.

    Args:
        group_id: The group.
        offsets: The offsets by partition.
        who: Returns who commits, whenever a request is sent.
        topic_ids: The ids of the topics that the offsets are from. If all are known, and the broker takes ids, it
            refuses the offset of a topic that was deleted, even if there is another topic of that name.
    """
    has_ids = bool(offsets) and topic_ids.keys() >= offsets.keys()
    names = {topic_id: place.topic for place, topic_id in topic_ids.items()}

    def build(_keys: Sequence[str], _version: int) -> OffsetCommitRequest:
        # Asked for each request and not once, because a retry may come after the member has got a newer epoch.
        member = who()
        return OffsetCommitRequest(
            group_id=group_id,
            generation_id_or_member_epoch=member.epoch,
            member_id=member.member_id,
            group_instance_id=member.instance_id,
            topics=_topics_to_commit(offsets, topic_ids),
        )

    return Question(
        "commit offsets of the group",
        ApiKey.OFFSET_COMMIT,
        (group_id,),
        build,
        partial(_committed, names),
        COORDINATORS,
        newest_version=FIRST_WITH_TOPIC_IDS if has_ids else _NEWEST_WITH_NAMES,
    )


def _topics_to_commit(
    offsets: Mapping[TopicPartition, OffsetAndMetadata], topic_ids: Mapping[TopicPartition, UUID]
) -> tuple[OffsetCommitRequestTopic, ...]:
    return tuple(
        OffsetCommitRequestTopic(
            name=topic,
            topic_id=topic_id,
            partitions=tuple(_to_commit(each, offsets[TopicPartition(topic, each)]) for each in numbers),
        )
        for (topic, topic_id), numbers in by_topic_and_id(offsets, topic_ids).items()
    )


def _to_commit(partition: int, offset: OffsetAndMetadata) -> OffsetCommitRequestPartition:
    return OffsetCommitRequestPartition(
        partition_index=partition,
        committed_offset=offset.offset,
        committed_leader_epoch=_NO_LEADER_EPOCH if offset.leader_epoch is None else offset.leader_epoch,
        committed_metadata=offset.metadata,
    )


def _committed(
    names: Mapping[UUID, str], keys: Sequence[str], response: OffsetCommitResponse
) -> Mapping[str, Answer[Committed]]:
    answers = {
        (key := TopicPartition(_name_of(topic, names), each.partition_index)): told(
            each.error_code, _named(each.error_code, key), None
        )
        for topic in response.topics
        for each in topic.partitions
    }
    return dict.fromkeys(keys, finished_or_not(gathered(answers)))


def _name_of(topic: OffsetCommitResponseTopic, names: Mapping[UUID, str]) -> str:
    return topic.name if topic.topic_id is None else names.get(topic.topic_id, topic.name)


def fetch_question(
    group_id: str, partitions: Sequence[TopicPartition] | None, who: Callable[[], AsMember] = lambda: NOBODY
) -> Question[str, FetchedOffsets]:
    """Return the question that fetches committed offsets (OffsetFetch).

    Its answer has for each partition the offset, None if there is none, or an error.

    Args:
        group_id: The group.
        partitions: The partitions; None for all for which the group has offsets.
        who: Returns who asks, whenever a request is sent.
    """

    def build(_keys: Sequence[str], _version: int) -> OffsetFetchRequest:
        member = who()
        group = OffsetFetchRequestGroup(
            group_id=group_id,
            # The coordinator takes null and a negative epoch for somebody who is not a member
            # (StreamsGroup.validateOffsetFetch in Kafka).
            member_id=member.member_id or None,
            member_epoch=member.epoch,
            topics=None if partitions is None else _topics_to_fetch(partitions),
        )
        # An offset that an open transaction may still replace is no place to start from (KIP-447). The coordinator
        # answers UNSTABLE_OFFSET_COMMIT until the transaction has ended.
        return OffsetFetchRequest(groups=(group,), require_stable=True)

    return Question(
        "fetch committed offsets of the group",
        ApiKey.OFFSET_FETCH,
        (group_id,),
        build,
        _fetched,
        COORDINATORS,
        newest_version=_NEWEST_WITH_NAMES,
    )


def fetch_all_question(group_ids: Iterable[str]) -> Question[str, FetchedOffsets]:
    """Return the question that fetches all committed offsets of groups, for somebody who is in none of them.

    They include offsets that an open transaction may change, as they are now.
    """

    def build(keys: Sequence[str], version: int) -> OffsetFetchRequest:
        if version < FIRST_WITH_GROUPS:
            raise UnsupportedVersionError(f"The broker has OffsetFetch v{version}; this needs v{FIRST_WITH_GROUPS}.")
        return OffsetFetchRequest(groups=tuple(OffsetFetchRequestGroup(group_id=key, topics=None) for key in keys))

    return Question(
        "fetch committed offsets of the group",
        ApiKey.OFFSET_FETCH,
        tuple(dict.fromkeys(group_ids)),
        build,
        _fetched,
        COORDINATORS,
        newest_version=_NEWEST_WITH_NAMES,
    )


def _topics_to_fetch(partitions: Sequence[TopicPartition]) -> tuple[OffsetFetchRequestTopic, ...]:
    found = by_topic(partitions).items()
    return tuple(OffsetFetchRequestTopic(name=topic, partition_indexes=tuple(numbers)) for topic, numbers in found)


def _fetched(_keys: Sequence[str], response: OffsetFetchResponse) -> Mapping[str, Answer[FetchedOffsets]]:
    answers: dict[str, Answer[FetchedOffsets]] = {}
    for group in response.groups:
        if group.error_code is not ErrorCode.NONE:
            answers[group.group_id] = error_for(group.error_code, f"{group.error_code.name}: group {group.group_id}")
            continue
        found = {
            (key := TopicPartition(topic.name, each.partition_index)): told(
                each.error_code, _named(each.error_code, key), _fetched_offset(each)
            )
            for topic in group.topics
            for each in topic.partitions
        }
        answers[group.group_id] = finished_or_not(gathered(found))
    return answers


def _fetched_offset(each: OffsetFetchResponsePartition) -> OffsetAndMetadata | None:
    # No offset is no error: the group has not committed any yet.
    if each.committed_offset == NO_OFFSET:
        return None
    epoch = each.committed_leader_epoch
    return OffsetAndMetadata(each.committed_offset, epoch if epoch >= 0 else None, each.metadata or "")


def _named(code: ErrorCode, key: TopicPartition) -> str:
    return f"{code.name}: {key}"


# -------------------------------------------------------------------------------------------------- delete


def delete_question(group_id: str, partitions: Iterable[TopicPartition]) -> Question[str, Committed]:
    """Return the question that deletes committed offsets (OffsetDelete, KIP-496).

    For each partition, the answer is None or an error. Offsets of topics that members read stay.
    """
    topics = tuple(_topic_to_delete(topic, numbers) for topic, numbers in by_topic(partitions).items())

    def build(_keys: Sequence[str], _version: int) -> OffsetDeleteRequest:
        return OffsetDeleteRequest(group_id=group_id, topics=topics)

    what, api = "delete committed offsets of the group", ApiKey.OFFSET_DELETE
    return Question(what, api, (group_id,), build, _deleted, COORDINATORS)


def _topic_to_delete(topic: str, numbers: Iterable[int]) -> OffsetDeleteRequestTopic:
    partitions = tuple(OffsetDeleteRequestPartition(partition_index=each) for each in numbers)
    return OffsetDeleteRequestTopic(name=topic, partitions=partitions)


def _deleted(keys: Sequence[str], response: OffsetDeleteResponse) -> Mapping[str, Answer[Committed]]:
    # The group's own error comes first. A partition can still have one: GROUP_SUBSCRIBED_TO_TOPIC, if members read the
    # topic.
    if response.error_code is not ErrorCode.NONE:
        return dict.fromkeys(keys, error_for(response.error_code))
    answers = {
        (key := TopicPartition(topic.name, each.partition_index)): told(
            each.error_code, _named(each.error_code, key), None
        )
        for topic in response.topics
        for each in topic.partitions
    }
    return dict.fromkeys(keys, finished_or_not(gathered(answers)))
