"""Remedies for errors with which the coordinator refuses a member of a classic group for good."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from kafka_groups.assignment.application.task_assignor import TaskAssignmentError
from kafka_groups.errors import BrokerError, KafkaGroupsError, error_for
from kafka_groups.errors.texts import sentences
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.streams.errors import StreamsError
from kafka_groups.streams.member.classic.assignment import AssignmentCode
from kafka_groups.streams.member.classic.classic_settings import ClassicSettings
from kafka_groups.streams.member.rules.member_description import MemberDescription

if TYPE_CHECKING:  # imported when an error needs it
    from kafka_groups.admin.rules.group_kinds import GroupKind

__all__ = ["ClassicGroupRefusals", "assignment_error", "no_leader", "refusal", "too_large"]


class ClassicGroupRefusals:
    """Explains the errors with which the coordinator refuses a member for good."""

    def asks_for_kind(self, error: KafkaGroupsError) -> bool:
        """Return whether the error needs the type of the group."""
        return isinstance(error, BrokerError) and error.code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL

    def explained(self, error: KafkaGroupsError, group_id: str, kind: "GroupKind | None") -> KafkaGroupsError:
        """Return the error with its remedy.

        Args:
            error: The error that has ended the member.
            group_id: The group.
            kind: What kind of group it is, if the error needs that and a broker tells it.
        """
        # Without the kind, and if the group has changed meanwhile, the error names all causes.
        if not self.asks_for_kind(error) or kind is None or kind.is_of_streams:
            return error
        told = error_for(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, _in_the_way(group_id, kind))
        told.__cause__ = error
        return told


def _in_the_way(group_id: str, kind: "GroupKind") -> str:
    if kind.type == "streams":
        return (
            f"Application {group_id!r} runs with group.protocol=streams. Stop all its instances and wait until the "
            "group is empty, or set group_protocol='streams'."
        )
    protocol = f" with the protocol {kind.protocol!r}" if kind.protocol else ""
    what = f"a classic group of other clients{protocol}" if kind.type == "classic" else f"a {kind.type} group"
    return (
        f"The group {group_id!r} is {what}, and has members. Choose another application_id, or stop these members and "
        "wait until the group is empty."
    )


def refusal(code: ErrorCode, description: MemberDescription, settings: ClassicSettings) -> KafkaGroupsError:
    """Return the error of a member that the coordinator refuses, with the remedy."""
    remedy = _REMEDIES.get(code)
    return error_for(code, None if remedy is None else sentences(remedy(description, settings)))


def no_leader(description: MemberDescription) -> KafkaGroupsError:
    """Return the error of a member that was let into a group whose coordinator assigns partitions."""
    # A consumer group of KIP-848 takes members with classic protocols (GroupMetadataManager.classicGroupJoin in Kafka),
    # and answers without a leader.
    return error_for(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, _another_kind(description))


def too_large(size: int, description: MemberDescription) -> KafkaGroupsError:
    """Return the error of a leader whose assignments the brokers cannot store."""
    return error_for(
        ErrorCode.UNKNOWN_SERVER_ERROR,
        f"The brokers have refused the assignments of group {description.group_id}, which have {size} bytes: a record "
        "of __consumer_offsets may have at most message.max.bytes. Leave out application.server, run fewer members, or "
        "raise that limit.",
    )


def assignment_error(code: int, leader: str, cause: str) -> KafkaGroupsError:
    """Return the error of a member whose leader has sent an error instead of tasks.

    Args:
        code: The error.
        leader: The leader.
        cause: Why, if this member leads; otherwise empty.
    """
    if code == AssignmentCode.ASSIGNMENT_ERROR:
        why = cause or "Its log has the cause"
        return TaskAssignmentError(sentences(f"The leader of the group, {leader}, could not assign the tasks", why))
    return StreamsError(
        f"The leader of the group, {leader}, has sent the error {code}, which this member does not know."
    )


def _another_kind(description: MemberDescription) -> str:
    return (
        f"The group {description.group_id!r} is of another kind: a group of consumers, or the application runs with "
        "group.protocol=streams. Stop all members of the group and wait until it is empty, or set the same "
        "group.protocol, or choose another application.id."
    )


def _fenced(description: MemberDescription, _settings: ClassicSettings) -> str:
    return (
        f"Another process has joined the group {description.group_id!r} with group.instance.id "
        f"{description.instance_id!r}, and takes the place of this one. Give each process a group.instance.id of its "
        "own"
    )


def _session(description: MemberDescription, settings: ClassicSettings) -> str:
    return (
        f"The brokers refuse session.timeout.ms={settings.session_ms} for the group {description.group_id!r}. Use a "
        "value between group.min.session.timeout.ms and group.max.session.timeout.ms of the brokers"
    )


def _full(description: MemberDescription, _settings: ClassicSettings) -> str:
    return (
        f"The group {description.group_id!r} has as many members as the brokers allow. Run fewer workers, or raise "
        "group.max.size of the brokers"
    )


_REMEDIES: Mapping[ErrorCode, Callable[[MemberDescription, ClassicSettings], str]] = MappingProxyType({
    ErrorCode.FENCED_INSTANCE_ID: _fenced,
    ErrorCode.INVALID_SESSION_TIMEOUT: _session,
    ErrorCode.GROUP_MAX_SIZE_REACHED: _full,
    ErrorCode.INCONSISTENT_GROUP_PROTOCOL: lambda description, _settings: _another_kind(description),
})  # fmt: skip
