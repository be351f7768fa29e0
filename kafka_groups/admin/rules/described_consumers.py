"""The question what consumer groups are: state, members, assignments, lag (ConsumerGroupDescribe, KIP-848)."""

from collections.abc import Mapping, Sequence

from attrs import evolve

from kafka_groups.admin.rules.consumer_offsets import describe_consumer_offsets, lags_of
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
    offsets = await describe_consumer_offsets(ask, dict.fromkeys(described.values))
    values = {
        group_id: evolve(group, lag=lags_of(offsets.values[group_id]))
        if group_id in offsets.values
        else evolve(group, lag_error=offsets.errors[group_id])
        for group_id, group in described.values.items()
    }
    return Results(values, described.errors)


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
