"""Questions about the offsets of share groups: describe, alter, reset, delete."""

from collections.abc import Iterable, Mapping, Sequence

from kafka_groups.admin.rules.returned_values import ShareOffset
from kafka_groups.client.calls.partition_offsets import by_topic, offsets_at_or_ends
from kafka_groups.client.calls.questions import COORDINATORS, Answer, Asking, Question, finished_or_not, gathered, told
from kafka_groups.client.calls.results import Results
from kafka_groups.errors import error_for
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
)
from kafka_groups.protocol.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
    DeleteShareGroupOffsetsResponse,
)
from kafka_groups.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
)
from kafka_groups.types import TopicPartition

__all__ = ["alter_offsets", "delete_offsets", "describe_offsets", "reset_offsets"]

ShareOffsets = Results[TopicPartition, ShareOffset]


async def describe_offsets(
    ask: Asking, wanted: Mapping[str, Iterable[TopicPartition] | None]
) -> Results[str, ShareOffsets]:
    """Ask the coordinators for the offsets of groups.

    Args:
        ask: Asks the brokers.
        wanted: The partitions by group; None for all for which the group has state and that you may see.
    """
    topics = {group_id: None if some is None else _topics_of(some) for group_id, some in wanted.items()}

    def build(keys: Sequence[str], _version: int) -> DescribeShareGroupOffsetsRequest:
        groups = (DescribeShareGroupOffsetsRequestGroup(group_id=key, topics=topics[key]) for key in keys)
        return DescribeShareGroupOffsetsRequest(groups=tuple(groups))

    what, api = "describe the offsets of the share group", ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS
    return await ask(Question(what, api, tuple(topics), build, _offsets_of_groups, COORDINATORS))


def _topics_of(partitions: Iterable[TopicPartition]) -> tuple[DescribeShareGroupOffsetsRequestTopic, ...]:
    return tuple(
        DescribeShareGroupOffsetsRequestTopic(topic_name=topic, partitions=tuple(numbers))
        for topic, numbers in by_topic(partitions).items()
    )


def _offsets_of_groups(
    _keys: Sequence[str], response: DescribeShareGroupOffsetsResponse
) -> Mapping[str, Answer[ShareOffsets]]:
    return {group.group_id: _offsets_of(group) for group in response.groups}


def _offsets_of(group: DescribeShareGroupOffsetsResponseGroup) -> Answer[ShareOffsets]:
    if group.error_code is not ErrorCode.NONE:
        return error_for(group.error_code, group.error_message)
    found = {
        TopicPartition(topic.topic_name, each.partition_index): each
        for topic in group.topics
        for each in topic.partitions
    }
    answers = {
        key: told(each.error_code, _named(key, each.error_code, each.error_message), _offset_of(each))
        for key, each in found.items()
    }
    return finished_or_not(gathered(answers))


def _offset_of(each: DescribeShareGroupOffsetsResponsePartition) -> ShareOffset:
    # -1 is a start offset that was not decided yet: the group has not read the partition.
    known = each.start_offset >= 0
    epoch = each.leader_epoch if known and each.leader_epoch >= 0 else None
    return ShareOffset(each.start_offset if known else None, epoch, each.lag if each.lag >= 0 else None)


def _named(key: object, code: ErrorCode, message: str | None) -> str:
    return message or f"{code.name}: {key}"


# -------------------------------------------------------------------------------------------- changes


async def alter_offsets(
    ask: Asking, group_id: str, offsets: Mapping[TopicPartition, int]
) -> Results[TopicPartition, None]:
    """Have the coordinator set the start offsets of a group without members.

    Raises:
        KafkaGroupsError: The coordinator refused the group.
    """

    def build(_keys: Sequence[str], _version: int) -> AlterShareGroupOffsetsRequest:
        return AlterShareGroupOffsetsRequest(group_id=group_id, topics=_new_offsets(offsets))

    what, api = "alter the offsets of the share group", ApiKey.ALTER_SHARE_GROUP_OFFSETS
    return (await ask(Question(what, api, (group_id,), build, _altered, COORDINATORS)))[group_id]


def _new_offsets(offsets: Mapping[TopicPartition, int]) -> tuple[AlterShareGroupOffsetsRequestTopic, ...]:
    return tuple(
        AlterShareGroupOffsetsRequestTopic(
            topic_name=topic,
            partitions=tuple(
                AlterShareGroupOffsetsRequestPartition(
                    partition_index=each, start_offset=offsets[TopicPartition(topic, each)]
                )
                for each in numbers
            ),
        )
        for topic, numbers in by_topic(offsets).items()
    )


def _altered(
    keys: Sequence[str], response: AlterShareGroupOffsetsResponse
) -> Mapping[str, Answer[Results[TopicPartition, None]]]:
    # KIP-932, "AlterShareGroupOffsets API": the group's error stands at the top, and each partition may have one of its
    # own.
    if response.error_code is not ErrorCode.NONE:
        return dict.fromkeys(keys, error_for(response.error_code, response.error_message))
    answers = {
        (key := TopicPartition(topic.topic_name, each.partition_index)): told(
            each.error_code, _named(key, each.error_code, each.error_message), None
        )
        for topic in response.responses
        for each in topic.partitions
    }
    return dict.fromkeys(keys, finished_or_not(gathered(answers)))


async def reset_offsets(
    ask: Asking, group_id: str, partitions: Iterable[TopicPartition], timestamp: int, *, dry_run: bool
) -> Results[TopicPartition, int]:
    """Set the start offsets of a group to the first records at or after a time, or to the ends of the partitions.

    With `dry_run`, only find them.

    Returns:
        The new start offsets.

    Raises:
        KafkaGroupsError: The coordinator refused the group.
    """
    found = await offsets_at_or_ends(ask, partitions, timestamp)
    if dry_run:
        return found
    # A request without partitions would change nothing, but could still fail for the group.
    altered = await alter_offsets(ask, group_id, found.values) if found.values else Results()
    values = {key: found[key] for key in altered.values}
    return Results(values, {**found.errors, **altered.errors})


async def delete_offsets(ask: Asking, group_id: str, topics: Iterable[str]) -> Results[str, None]:
    """Have the coordinator forget topics of a group without members.

    Raises:
        KafkaGroupsError: The coordinator refused the group.
    """
    named = tuple(DeleteShareGroupOffsetsRequestTopic(topic_name=topic) for topic in dict.fromkeys(topics))

    def build(_keys: Sequence[str], _version: int) -> DeleteShareGroupOffsetsRequest:
        return DeleteShareGroupOffsetsRequest(group_id=group_id, topics=named)

    what, api = "delete the offsets of the share group", ApiKey.DELETE_SHARE_GROUP_OFFSETS
    return (await ask(Question(what, api, (group_id,), build, _deleted_offsets, COORDINATORS)))[group_id]


def _deleted_offsets(
    keys: Sequence[str], response: DeleteShareGroupOffsetsResponse
) -> Mapping[str, Answer[Results[str, None]]]:
    if response.error_code is not ErrorCode.NONE:
        return dict.fromkeys(keys, error_for(response.error_code, response.error_message))
    answers = {
        topic.topic_name: told(topic.error_code, _named(topic.topic_name, topic.error_code, topic.error_message), None)
        for topic in response.responses
    }
    return dict.fromkeys(keys, gathered(answers))
