"""Makes the membership of a streams group, whose coordinator assigns tasks (KIP-1071)."""

from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.client.group_configs import GroupConfigsManager, GroupNumbers
from kafka_groups.streams.member.coordinated.heartbeat import MemberHeartbeats
from kafka_groups.streams.member.coordinated.member_refusals import StreamsGroupRefusals
from kafka_groups.streams.member.coordinated.membership import StreamsMembership
from kafka_groups.streams.member.coordinated.old_session import SESSION_TIMEOUT, OldSession
from kafka_groups.streams.member.coordinated.pace import HeartbeatPace
from kafka_groups.streams.member.coordinated.task_offsets import TaskOffsetReporter
from kafka_groups.streams.member.membership_parts import MadeMembership, MembershipParts
from kafka_groups.types import member_id_of, random_uuid

__all__ = ["coordinated_membership"]

# An old session lasts 45 seconds by default, so a short back-off would only fill the coordinator's log.
_RELEASE_MS, _RELEASE_MAX_MS = 1_000, 10_000
"""The first and the longest wait before a static member joins again while its old session is still in the group."""


def coordinated_membership(parts: MembershipParts, *, may_be_classic: bool = False) -> MadeMembership:
    """Return the membership of a streams group.

    Args:
        parts: What it is made of.
        may_be_classic: Whether the member is one of an application, which can run in a classic group instead.
    """
    assembly, timeout_ms = parts.assembly, parts.config.request_timeout_ms
    configs = GroupConfigsManager(
        GroupNumbers(parts.description.group_id, (SESSION_TIMEOUT,), since="4.2"),
        metadata=assembly.metadata,
        events=assembly.errors.events,
        backoff=assembly.backoff(),
        timeout_ms=timeout_ms,
    )
    old_session = OldSession(BackoffTimer(_RELEASE_MS, _RELEASE_MAX_MS, assembly.rng), configs)
    membership = StreamsMembership(
        MemberHeartbeats(parts.description, member_id_of(random_uuid(assembly.rng))),
        coordinator=parts.coordinator,
        errors=assembly.errors,
        pace=HeartbeatPace(assembly.backoff(), old_session, assembly.rng),
        offsets=TaskOffsetReporter(parts.positions),
        timeout_ms=timeout_ms,
    )
    return MadeMembership(membership, StreamsGroupRefusals(may_be_classic), (configs,))
