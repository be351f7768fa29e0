"""The subscriptions of all members of a group, read."""

from collections.abc import Mapping
from typing import Final

from attrs import evolve, field, frozen

from kafka_groups.admin.rules.streams_leader.group_round import LeadingError
from kafka_groups.assignment import ProcessId
from kafka_groups.assignment.java_order import grown, in_hash_order, string_hash
from kafka_groups.errors import MemberDataError, MemberDataProblem
from kafka_groups.errors.texts import sentences
from kafka_groups.protocol.consumer_protocol import ConsumerProtocolSubscription
from kafka_groups.protocol.streams_user_data.subscription_info import (
    FutureSubscription,
    SubscriptionInfo,
    decode_subscription,
)
from kafka_groups.protocol.streams_user_data.versions import LATEST_VERSION
from kafka_groups.types import TaskId, TopicPartition

__all__ = ["FUTURE_PROCESS", "SHUTDOWN_REQUESTED", "LedMember", "Subscriptions", "read_subscriptions"]

SHUTDOWN_REQUESTED: Final = 4
"""The error code of a member that asks all members to shut down, and of the assignments that follow."""

FUTURE_PROCESS: Final = ProcessId("members of later versions")
"""The process of all members whose user data is of a version that is not known yet."""

_REMEDIES: Final[Mapping[MemberDataProblem, str]] = {
    MemberDataProblem.TOO_OLD: "Upgrade that member to Kafka Streams 2.5 or later",
    MemberDataProblem.NAMED_TOPOLOGY: "Run applications with named topologies under another application.id",
}
_USUAL_REMEDY: Final = "Look for a program that is no streams application and has this application.id as group.id"


@frozen(kw_only=True)
class LedMember:
    """A member of a group, as it has described itself.

    Attributes:
        member_id: Its id.
        process_id: Its process.
        topics: The topics that it reads.
        owned_partitions: The source partitions that it owns.
        generation_id: The generation in which it got them, or -1.
        rack_id: Its rack, or None.
        version: The version of its user data.
        task_offset_sums: The tasks whose state it has, each with `RUNNING_TASK`, a sum of positions, or
            `UNKNOWN_OFFSET_SUM`.
        user_endpoint: Its `application.server`, or None.
        client_tags: Its client tags.
        user_data: The bytes of all that, for assignors of users.
        requests_shutdown: Whether it asks all members to shut down.
    """

    member_id: str
    process_id: ProcessId
    topics: frozenset[str]
    owned_partitions: frozenset[TopicPartition]
    generation_id: int
    rack_id: str | None
    version: int = LATEST_VERSION
    task_offset_sums: Mapping[TaskId, int] = field(factory=dict)
    user_endpoint: str | None = None
    client_tags: Mapping[str, str] = field(factory=dict)
    user_data: bytes | None = None
    requests_shutdown: bool = False


@frozen
class Subscriptions:
    """The members of a group.

    Attributes:
        members: The members by id, in the order in which a leader in Java goes over them. If two of a process
            contradict each other, the last report counts, but the first endpoint, rack and tags.
        version: The version of user data that all of them can read now: the lowest that was received.
        common_version: The version that they can agree on: the lowest of their latest ones.
    """

    members: Mapping[str, LedMember]
    version: int
    common_version: int

    @property
    def processes(self) -> dict[ProcessId, list[LedMember]]:
        """The members of each process, in the order of the members."""
        found: dict[ProcessId, list[LedMember]] = {}
        for member in self.members.values():
            found.setdefault(member.process_id, []).append(member)
        return found

    @property
    def requesting_shutdown(self) -> tuple[str, ...]:
        """The ids of members that ask all members to shut down."""
        return tuple(sorted(id_ for id_, member in self.members.items() if member.requests_shutdown))


def read_subscriptions(members: Mapping[str, bytes]) -> Subscriptions:
    """Return the members of a group.

    Args:
        members: Their subscriptions as JoinGroup has them, by member id.

    Raises:
        LeadingError: The subscription of a member cannot be read, or is too old.
    """
    # StreamsPartitionAssignor.assign goes over the members in the order of a hash table, to which they were added in
    # that of the response.
    ordered = in_hash_order(members, string_hash, grown(len(members)))
    read = {member_id: _read(member_id, members[member_id]) for member_id in ordered}
    versions = [LATEST_VERSION, *(info.version for _, info in read.values())]
    latest = [LATEST_VERSION, *(info.latest_supported_version for _, info in read.values())]
    found = {member_id: _member(member_id, *each) for member_id, each in read.items()}
    return Subscriptions(found, min(versions), min(latest))


def _read(member_id: str, data: bytes) -> tuple[ConsumerProtocolSubscription, SubscriptionInfo | FutureSubscription]:
    try:
        subscription = ConsumerProtocolSubscription.decode(data)
        return subscription, decode_subscription(subscription.user_data)
    except MemberDataError as error:
        remedy = _REMEDIES.get(error.problem, _USUAL_REMEDY)
        raise LeadingError(sentences(f"Cannot lead the group's member {member_id}: {error}", remedy)) from error


def _member(
    member_id: str, subscription: ConsumerProtocolSubscription, info: SubscriptionInfo | FutureSubscription
) -> LedMember:
    owned = subscription.owned_partitions.items()
    member = LedMember(
        member_id=member_id,
        process_id=FUTURE_PROCESS,
        topics=frozenset(subscription.topics),
        owned_partitions=frozenset(TopicPartition(topic, number) for topic, numbers in owned for number in numbers),
        generation_id=subscription.generation_id,
        rack_id=subscription.rack_id,
        version=info.version,
        user_data=subscription.user_data,
    )
    # A version that is not known yet tells nothing but its number. Its member gets an assignment in the version that
    # all know, and joins again with that (version probing).
    return _with_state(member, info) if isinstance(info, SubscriptionInfo) else member


def _with_state(member: LedMember, info: SubscriptionInfo) -> LedMember:
    return evolve(
        member,
        process_id=ProcessId(info.process_id),
        task_offset_sums=dict(info.task_offset_sums),
        user_endpoint=info.user_endpoint,
        client_tags=dict(info.client_tags),
        requests_shutdown=info.error_code == SHUTDOWN_REQUESTED,
    )
