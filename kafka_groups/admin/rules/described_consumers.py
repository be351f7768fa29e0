"""The question what consumer groups are: state, members, assignments, lag (ConsumerGroupDescribe, KIP-848)."""

from collections.abc import Mapping, Sequence

from kafka_groups.admin.rules.consumer_offsets import with_lags
from kafka_groups.admin.rules.group_values import ConsumerGroupDescription, ConsumerGroupMember
from kafka_groups.client.calls.questions import COORDINATORS, Answer, Asking, Question, told
from kafka_groups.client.calls.results import Results
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeAssignment,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupDescribeResponseGroup,
    ConsumerGroupDescribeResponseMember,
    ConsumerMemberType,
)
from kafka_groups.types import TopicPartition

__all__ = ["describe_consumer_groups"]


async def describe_consumer_groups(ask: Asking, group_ids: Sequence[str]) -> Results[str, ConsumerGroupDescription]:
    """Ask the coordinators for groups and members, and for the lag of the groups that exist."""
    what, api = "describe the consumer group", ApiKey.CONSUMER_GROUP_DESCRIBE
    described = await ask(Question(what, api, tuple(group_ids), _request, _described, COORDINATORS))
    return await with_lags(ask, described)


def _request(keys: Sequence[str], _version: int) -> ConsumerGroupDescribeRequest:
    return ConsumerGroupDescribeRequest(group_ids=tuple(keys), include_authorized_operations=False)


def _described(
    _keys: Sequence[str], response: ConsumerGroupDescribeResponse
) -> Mapping[str, Answer[ConsumerGroupDescription]]:
    return {
        group.group_id: told(
            group.error_code,
            group.error_message or f"{group.error_code.name}: group {group.group_id}",
            _description_of(group),
        )
        for group in response.groups
    }


def _description_of(group: ConsumerGroupDescribeResponseGroup) -> ConsumerGroupDescription:
    return ConsumerGroupDescription(
        group_id=group.group_id,
        state=group.group_state,
        epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        assignor=group.assignor_name,
        members=tuple(map(_member_of, group.members)),
    )


def _member_of(member: ConsumerGroupDescribeResponseMember) -> ConsumerGroupMember:
    known = member.member_type != ConsumerMemberType.UNKNOWN
    return ConsumerGroupMember(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack=member.rack_id,
        epoch=member.member_epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        topics=member.subscribed_topic_names,
        pattern=member.subscribed_topic_regex or None,
        assignment=_partitions_of(member.assignment),
        target_assignment=_partitions_of(member.target_assignment),
        is_classic=member.member_type == ConsumerMemberType.CLASSIC if known else None,
    )


def _partitions_of(assignment: ConsumerGroupDescribeAssignment) -> tuple[TopicPartition, ...]:
    return tuple(
        TopicPartition(topic.topic_name, number) for topic in assignment.topic_partitions for number in topic.partitions
    )
