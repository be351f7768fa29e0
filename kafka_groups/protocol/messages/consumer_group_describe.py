"""ConsumerGroupDescribe (key 69), v0-v1: returns state, members and assignments of consumer groups (KIP-848)."""

import enum
from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.authorized_operations import NOT_ASKED


class ConsumerMemberType(enum.IntEnum):
    """The protocol that a member of a consumer group speaks (KIP-1099)."""

    UNKNOWN = -1
    CLASSIC = 0
    CONSUMER = 1


@frozen(kw_only=True)
class ConsumerGroupDescribeRequest:
    """Ids of groups that share a coordinator."""

    group_ids: tuple[str, ...] = ()
    include_authorized_operations: bool


@frozen(kw_only=True)
class ConsumerGroupDescribeTopicPartitions:
    """Partitions of one topic, by id and name."""

    topic_id: UUID | None = None
    topic_name: str
    partitions: tuple[int, ...] = ()


@frozen(kw_only=True)
class ConsumerGroupDescribeAssignment:
    """Partitions that a member has, or will have."""

    topic_partitions: tuple[ConsumerGroupDescribeTopicPartitions, ...] = ()


@frozen(kw_only=True)
class ConsumerGroupDescribeResponseMember:
    """One member. `assignment` includes partitions that it still has to revoke.

    `rack_id` is None if it has no rack, `instance_id` if it is not static. Kafka sends "" for a member without a regex.
    """

    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    member_epoch: int
    client_id: str
    client_host: str
    subscribed_topic_names: tuple[str, ...] = ()
    subscribed_topic_regex: str | None = None
    assignment: ConsumerGroupDescribeAssignment
    target_assignment: ConsumerGroupDescribeAssignment
    member_type: int = ConsumerMemberType.UNKNOWN  # v1+


@frozen(kw_only=True)
class ConsumerGroupDescribeResponseGroup:
    """One group. Its state is Empty, Assigning, Reconciling, Stable or Dead, or an empty string if there is an error.

    `assignment_epoch` is older than `group_epoch` until the assignor has run.
    """

    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    group_id: str
    group_state: str = ""
    group_epoch: int = 0
    assignment_epoch: int = 0
    assignor_name: str = ""
    members: tuple[ConsumerGroupDescribeResponseMember, ...] = ()
    authorized_operations: int = NOT_ASKED


@frozen(kw_only=True)
class ConsumerGroupDescribeResponse:
    """One result for each group of the request. An unknown group gets GROUP_ID_NOT_FOUND."""

    throttle_time_ms: int = 0
    groups: tuple[ConsumerGroupDescribeResponseGroup, ...] = ()
