"""Remedies for errors with which the coordinator refuses a member for good."""

from kafka_groups.errors import GroupIdNotFoundError, InvalidRequestError, KafkaGroupsError
from kafka_groups.errors.texts import sentences

__all__ = ["is_of_another_type", "of_another_type", "with_remedy"]

_OTHER_TOPOLOGY = "Topology updates are not supported"
_OTHER_TYPE = "is not a streams group"
_CLASSIC = "classic"


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
    if isinstance(error, GroupIdNotFoundError) and not is_of_another_type(error):
        remedy = (
            f"The streams group {group_id!r} does not exist any more: somebody has deleted it, or the brokers have "
            "lost their data. Its committed offsets are gone. Look at the cluster first. If you start the application "
            "again, it creates the group and begins where offset_reset says, with what the changelogs still have"
        )
        return _told(error, sentences(text, remedy))
    return error


def is_of_another_type(error: KafkaGroupsError) -> bool:
    """Return whether the group exists, but is not a streams group."""
    return isinstance(error, GroupIdNotFoundError) and _OTHER_TYPE in str(error)


def of_another_type(error: KafkaGroupsError, group_id: str, group_type: str | None) -> KafkaGroupsError:
    """Return the error with the type of the group, and the remedy.

    Args:
        error: What the coordinator says.
        group_id: The group.
        group_type: Its type, such as `share`; None if the brokers do not tell it.
    """
    other = "another application_id"
    if group_type is None:
        return _told(error, f"Group {group_id!r} is of another type than streams. Choose {other}.")
    # A classic group becomes a streams group when it is empty: Streams Rebalance Protocol, "Migration from Classic
    # Protocol".
    if group_type == _CLASSIC:
        remedy = (
            "Stop all its members, which are consumers or applications of Kafka Streams with group.protocol=classic: "
            "when it is empty, it becomes a streams group and keeps its committed offsets. Or choose "
            f"{other}."
        )
    else:
        remedy = f"Choose {other}, or stop the members of that group and delete it."
    return _told(error, f"Group {group_id!r} is a {group_type} group, not a streams group. {remedy}")


def _told(error: KafkaGroupsError, text: str) -> KafkaGroupsError:
    told = type(error)(text)
    told.__cause__ = error
    return told
