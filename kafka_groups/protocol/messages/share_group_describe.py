"""ShareGroupDescribe (key 77), v1: returns state, members and assignments of share groups (KIP-932)."""

from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode


@frozen(kw_only=True)
class ShareGroupDescribeRequest:
    """Ids of groups that share a coordinator."""

    group_ids: tuple[str, ...] = ()
    include_authorized_operations: bool


@frozen(kw_only=True)
class DescribedTopicPartitions:
    """Partitions of one topic, by id and name."""

    topic_id: UUID | None = None
    topic_name: str
    partitions: tuple[int, ...] = ()


@frozen(kw_only=True)
class DescribedAssignment:
    """The assignment of a member. A share-partition may be assigned to several members."""

    topic_partitions: tuple[DescribedTopicPartitions, ...] = ()


@frozen(kw_only=True)
class Member:
    """One member. `member_epoch` is its latest epoch. `rack_id` is None if it has no rack."""

    member_id: str
    rack_id: str | None = None
    member_epoch: int
    client_id: str
    client_host: str
    subscribed_topic_names: tuple[str, ...] = ()
    assignment: DescribedAssignment


@frozen(kw_only=True)
class DescribedGroup:
    """One group. Its state is Empty, Stable or Dead, or an empty string if there is an error.

    `assignment_epoch` is older than `group_epoch` until the assignor has run. -2147483648 means that authorized
    operations were not requested.
    """

    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    group_id: str
    group_state: str
    group_epoch: int
    assignment_epoch: int
    assignor_name: str
    members: tuple[Member, ...] = ()
    authorized_operations: int = -2147483648


@frozen(kw_only=True)
class ShareGroupDescribeResponse:
    """One result for each group of the request. An unknown group gets GROUP_ID_NOT_FOUND."""

    throttle_time_ms: int = 0
    groups: tuple[DescribedGroup, ...] = ()
