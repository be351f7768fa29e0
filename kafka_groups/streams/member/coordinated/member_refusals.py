"""Remedies for errors with which the coordinator refuses a member for good."""

from typing import TYPE_CHECKING, Final

from attrs import frozen

from kafka_groups.errors import (
    GroupIdNotFoundError,
    InvalidRequestError,
    KafkaGroupsError,
    UnsupportedVersionError,
)
from kafka_groups.errors.texts import sentences

if TYPE_CHECKING:  # imported when an error needs it
    from kafka_groups.admin.rules.group_kinds import GroupKind

__all__ = ["StreamsGroupRefusals", "with_remedy"]

_OTHER_TOPOLOGY = "Topology updates are not supported"
_OTHER_TYPE = "is not a streams group"
_CLASSIC = "classic"
_ALTERNATIVE: Final = "Set group_protocol='classic'"


@frozen
class StreamsGroupRefusals:
    """Explains the errors with which the coordinator refuses a member for good.

    Attributes:
        may_be_classic: Whether the member is one of an application, which can run in a classic group instead.
    """

    may_be_classic: bool = False

    def asks_for_kind(self, error: KafkaGroupsError) -> bool:
        """Return whether the error needs the type of the group."""
        return _is_of_another_type(error)

    def explained(self, error: KafkaGroupsError, group_id: str, kind: "GroupKind | None") -> KafkaGroupsError:
        """Return the error with its remedy.

        Args:
            error: The error that has ended the member.
            group_id: The group.
            kind: What kind of group it is, if the error needs that and a broker tells it.
        """
        if self.asks_for_kind(error):
            return _told(error, self._of_another_type(group_id, kind))
        # The admin client and members outside an application have streams groups only.
        if self.may_be_classic and isinstance(error, UnsupportedVersionError):
            return _told(error, sentences(str(error), _ALTERNATIVE))
        return error

    def _of_another_type(self, group_id: str, kind: "GroupKind | None") -> str:
        if kind is None:
            return f"Group {group_id!r} is of another type than streams. Choose another application_id."
        if kind.type != _CLASSIC:
            remedy = "Choose another application_id, or stop the members of that group and delete it."
            return f"Group {group_id!r} is a {kind.type} group, not a streams group. {remedy}"
        return _classic_application(group_id) if self.may_be_classic and kind.is_of_streams else self._classic(group_id)

    def _classic(self, group_id: str) -> str:
        # A classic group becomes a streams group when it is empty: Streams Rebalance Protocol, "Migration from Classic
        # Protocol".
        alternative = " set group_protocol='classic' if they run this application, or" if self.may_be_classic else ""
        return (
            f"Group {group_id!r} is a classic group, not a streams group. Stop all its members, which are consumers or "
            "applications with group.protocol=classic: when it is empty, it becomes a streams group and keeps its "
            f"committed offsets. Or{alternative} choose another application_id."
        )


def _classic_application(group_id: str) -> str:
    return (
        f"Application {group_id!r} runs with group.protocol=classic. Stop all its instances and wait until the group "
        "is empty, or set group_protocol='classic'."
    )


def with_remedy(error: KafkaGroupsError, group_id: str) -> KafkaGroupsError:
    """Return an error with the remedy, if the coordinator does not tell it."""
    text = str(error)
    # Kafka answers INVALID_REQUEST with this text when a member joins with another topology than the group's
    # (GroupMetadataManager.maybeUpdateTopology). It never sends the error codes that KIP-1071, "New Errors", has for
    # that, so only the text tells this case from a malformed request.
    if isinstance(error, InvalidRequestError) and _OTHER_TOPOLOGY in text:
        remedy = "Use another application id for another topology, or delete the group when it has no members"
        return _told(error, sentences(text, remedy))
    # Only a member that has joined already sees this, since joining creates the group
    # (GroupMetadataManager.getOrCreateStreamsGroup in Kafka). KIP-1071, "Request Handling", has the same code for
    # groups of another type, which the message tells apart.
    if isinstance(error, GroupIdNotFoundError) and not _is_of_another_type(error):
        remedy = (
            f"The streams group {group_id!r} does not exist any more: somebody has deleted it, or the brokers have "
            "lost their data. Its committed offsets are gone. Look at the cluster first. If you start the application "
            "again, it creates the group and begins where offset_reset says, with what the changelogs still have"
        )
        return _told(error, sentences(text, remedy))
    return error


def _is_of_another_type(error: KafkaGroupsError) -> bool:
    """Return whether the group exists, but is not a streams group."""
    return isinstance(error, GroupIdNotFoundError) and _OTHER_TYPE in str(error)


def _told(error: KafkaGroupsError, text: str) -> KafkaGroupsError:
    told = type(error)(text)
    told.__cause__ = error
    return told
