"""The question what classic groups of streams applications are (DescribeGroups).

Brokers return the bytes that the members sent when they joined, and those that the leader sent for them. They do not
read them, nor tell who leads. Both are there only while a group is Stable.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final

from attrs import frozen

from kafka_groups.admin.rules.endpoints import parsed_endpoint
from kafka_groups.admin.rules.groups import types_of_groups
from kafka_groups.client.calls.questions import COORDINATORS, Answer, Asking, Question, gathered
from kafka_groups.client.calls.results import Results
from kafka_groups.errors import (
    GroupIdNotFoundError,
    IllegalStateError,
    KafkaGroupsError,
    MemberDataError,
    MemberDataProblem,
    error_for,
)
from kafka_groups.errors.texts import counted, sentences
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.describe_groups import (
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    DescribeGroupsResponseGroup,
    DescribeGroupsResponseMember,
)
from kafka_groups.protocol.streams_user_data.assignment_info import AssignmentInfo, decode_assignment
from kafka_groups.protocol.streams_user_data.host_maps import SharedHostMaps
from kafka_groups.protocol.streams_user_data.subscription_info import (
    FutureSubscription,
    SubscriptionInfo,
    decode_subscription,
)
from kafka_groups.protocol.streams_user_data.versions import LATEST_VERSION
from kafka_groups.types import TaskId, TopicPartition

__all__ = [
    "EMPTY",
    "DecodedClassicGroup",
    "DecodedClassicMember",
    "classic_groups",
    "read_classic_group",
    "shown_classic_groups",
]

EMPTY: Final = "Empty"
"""The state of a group without members."""

_STABLE: Final = "Stable"
_DEAD: Final = "Dead"
_OTHER_TYPES: Final = frozenset({"consumer", "share", "streams"})
_CONSUMERS: Final = "consumer"
_STREAMS: Final = "stream"
_NO_TYPE: Final = ""
"""The protocol type of a group that never had members: somebody else has committed its offsets."""


@frozen(kw_only=True)
class DecodedClassicMember:
    """A member, with all that it and the leader have sent.

    Attributes:
        member_id: Its id.
        instance_id: Its instance id; None for a dynamic member.
        client_id: The name of its client.
        client_host: The address that it connects from.
        metadata: The bytes of its subscription, as JoinGroup had them.
        subscription: The same, read: topics, owned partitions with their generation, rack.
        info: The user data of the subscription.
        assignment: The assignment that the leader gave it.
        assignment_info: The user data of the assignment.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes
    subscription: ConsumerProtocolSubscription
    info: SubscriptionInfo
    assignment: ConsumerProtocolAssignment
    assignment_info: AssignmentInfo

    @cached_property
    def inputs(self) -> Mapping[TaskId, frozenset[TopicPartition]]:
        """The active tasks that it was given, each with the partitions that it reads."""
        return self.assignment_info.inputs(self.assignment.assigned_partitions)

    @cached_property
    def endpoint(self) -> tuple[str, int] | None:
        """Host and port at which its process answers interactive queries."""
        text = self.info.user_endpoint
        if text is None or (found := parsed_endpoint(text)) is not None:
            return None if text is None else found
        reason = f"Its application.server is {text!r} and not of the form host:port."
        raise MemberDataError(reason, problem=MemberDataProblem.BROKEN, field="SubscriptionInfo.userEndPoint")

    @property
    def standby_tasks(self) -> frozenset[TaskId]:
        """The copies that it was given: standby tasks, warm-ups among them."""
        return frozenset(task for task, _ in self.assignment_info.standby_tasks)

    @property
    def owned_partitions(self) -> frozenset[TopicPartition]:
        """The partitions that it owned when it joined."""
        owned = self.subscription.owned_partitions.items()
        return frozenset(TopicPartition(topic, number) for topic, numbers in owned for number in numbers)


@frozen(kw_only=True)
class DecodedClassicGroup:
    """A classic group of a streams application, or one without members, which may be of any consumers.

    Attributes:
        group_id: The group.
        state: `Stable` or `Empty`.
        members: The members. Brokers do not tell which of them leads.
    """

    group_id: str
    state: str
    members: tuple[DecodedClassicMember, ...] = ()

    @property
    def subscribed_topics(self) -> frozenset[str]:
        """The topics that members read: source topics and repartition topics."""
        return frozenset(topic for each in self.members for topic in each.subscription.topics)


async def classic_groups(ask: Asking, group_ids: Iterable[str]) -> Results[str, DecodedClassicGroup]:
    """Ask the coordinators for classic groups, and read what their members sent.

    Returns:
        A group or an error for each id: `GroupIdNotFoundError` if there is no classic group of that name, or its
        members are not of a streams application; `IllegalStateError` while it rebalances; `MemberDataError` if the data
        of a member cannot be read.
    """
    shown = await shown_classic_groups(ask, group_ids)
    read = gathered({group_id: _read_or_error(group) for group_id, group in shown.values.items()})
    return Results(read.values, {**shown.errors, **read.errors})


async def shown_classic_groups(ask: Asking, group_ids: Iterable[str]) -> Results[str, DescribeGroupsResponseGroup]:
    """Ask the coordinators for classic groups that may be of streams applications, in any state.

    Returns:
        What DescribeGroups shows, or an error for each id: `GroupIdNotFoundError` if there is no classic group of that
        name, or its members are not of a streams application.
    """
    keys = tuple(dict.fromkeys(group_ids))
    question = Question("describe the classic group", ApiKey.DESCRIBE_GROUPS, keys, _request, _answers, COORDINATORS)
    shown = await _with_types(ask, await ask(question))
    found = gathered(
        {key: group if _may_be_of_streams(group) else _of_others(group) for key, group in shown.values.items()}
    )
    return Results(found.values, {**shown.errors, **found.errors})


def _request(keys: Sequence[str], _version: int) -> DescribeGroupsRequest:
    return DescribeGroupsRequest(groups=tuple(keys))


def _answers(
    _keys: Sequence[str], response: DescribeGroupsResponse
) -> Mapping[str, Answer[DescribeGroupsResponseGroup]]:
    return {group.group_id: _answer(group) for group in response.groups}


def _answer(group: DescribeGroupsResponseGroup) -> DescribeGroupsResponseGroup | KafkaGroupsError:
    if group.error_code is not ErrorCode.NONE:
        return error_for(group.error_code, group.error_message or group.error_code.name)
    if group.group_state == _DEAD:  # before version 6, this is the answer that there is no such group
        return GroupIdNotFoundError(f"There is no classic group {group.group_id}.")
    return group


async def _with_types(
    ask: Asking, found: Results[str, DescribeGroupsResponseGroup]
) -> Results[str, DescribeGroupsResponseGroup]:
    """Name the type of groups that exist and are not classic ones."""
    missing = [key for key, error in found.errors.items() if isinstance(error, GroupIdNotFoundError)]
    types = await types_of_groups(ask) if missing else {}
    others = {key: _of_another_type(key, types[key]) for key in missing if types.get(key) in _OTHER_TYPES}
    return Results(found.values, {**found.errors, **others})


def _of_another_type(group_id: str, group_type: str) -> GroupIdNotFoundError:
    return GroupIdNotFoundError(f"The group {group_id} is a {group_type} group and not a classic group.")


def _may_be_of_streams(group: DescribeGroupsResponseGroup) -> bool:
    # Only a stable group has a protocol. One without members, or that rebalances, may be of any consumers.
    has_type = group.protocol_type == _CONSUMERS or (group.group_state == EMPTY and group.protocol_type == _NO_TYPE)
    return has_type and (group.group_state != _STABLE or group.protocol_data == _STREAMS)


def _of_others(group: DescribeGroupsResponseGroup) -> GroupIdNotFoundError:
    protocol = f" and the protocol '{group.protocol_data}'" if group.protocol_data else ""
    return GroupIdNotFoundError(
        f"The group {group.group_id} is a classic group with the protocol type '{group.protocol_type}'{protocol}. That "
        f"of a streams application has the protocol type '{_CONSUMERS}' and the protocol '{_STREAMS}'."
    )


# ------------------------------------------------------------------------------------------------ what is read


def read_classic_group(group: DescribeGroupsResponseGroup) -> DecodedClassicGroup:
    """Read what the members of a streams application have sent.

    Raises:
        IllegalStateError: The group rebalances, so that brokers show no subscriptions.
        MemberDataError: The data of a member is missing or cannot be read.
    """
    if group.group_state not in (_STABLE, EMPTY):
        raise IllegalStateError(
            f"The classic group {group.group_id} is {group.group_state} (protocol type '{group.protocol_type}', "
            f"{counted(len(group.members), 'member')}). Brokers show what its members sent only while it is Stable. "
            "Try again."
        )
    shared = SharedHostMaps()
    members = tuple(_member(group, each, shared) for each in group.members)
    return DecodedClassicGroup(group_id=group.group_id, state=group.group_state, members=members)


def _read_or_error(group: DescribeGroupsResponseGroup) -> DecodedClassicGroup | KafkaGroupsError:
    try:
        return read_classic_group(group)
    except KafkaGroupsError as error:
        return error


def _member(
    group: DescribeGroupsResponseGroup, member: DescribeGroupsResponseMember, shared: SharedHostMaps
) -> DecodedClassicMember:
    try:
        return _read(member, shared)
    except MemberDataError as error:
        text = (
            f"The classic group {group.group_id} ({group.group_state}, protocol '{group.protocol_data}') has the "
            f"member {member.member_id} of the client {member.client_id}, whose data cannot be read"
        )
        raise MemberDataError(sentences(text, str(error)), problem=error.problem, field=error.field) from error


def _read(member: DescribeGroupsResponseMember, shared: SharedHostMaps) -> DecodedClassicMember:
    subscription = ConsumerProtocolSubscription.decode(member.member_metadata)
    assignment = ConsumerProtocolAssignment.decode(member.member_assignment)
    found = DecodedClassicMember(
        member_id=member.member_id,
        instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        metadata=member.member_metadata,
        subscription=subscription,
        info=_known(decode_subscription(subscription.user_data)),
        assignment=assignment,
        assignment_info=decode_assignment(assignment.user_data, shared),
    )
    _ = found.inputs, found.endpoint  # these raise if the values make no sense
    return found


def _known(info: SubscriptionInfo | FutureSubscription) -> SubscriptionInfo:
    if isinstance(info, SubscriptionInfo):
        return info
    raise MemberDataError(
        f"Its user data has version {info.version}, and {LATEST_VERSION} is the latest that is known. Upgrade "
        "kafka_groups.",
        problem=MemberDataProblem.TOO_NEW,
        field="SubscriptionInfo.version",
    )
