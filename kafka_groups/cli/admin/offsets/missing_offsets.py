"""Share groups without offsets, for which brokers name no partition, as for groups that do not exist."""

from typing import TYPE_CHECKING, Any, Final

from kafka_groups.cli.problems import CommandProblem

if TYPE_CHECKING:
    from kafka_groups.admin import KafkaAdmin, Results

__all__ = ["NO_OFFSETS", "no_offsets", "raise_if_missing"]

NO_OFFSETS: Final = "It has no offsets: it has not read a topic, or all its offsets were deleted."


def raise_if_missing(admin: "KafkaAdmin", group: str, found: "Results[Any, Any]") -> None:
    """Check that a group exists for which brokers name no partition.

    Raises:
        GroupIdNotFoundError: It does not exist, or is not a share group.
    """
    if not len(found):
        _ = admin.describe_share_groups([group])[group]


def no_offsets(group: str) -> CommandProblem:
    """Return the failure of a change that has no partition to change."""
    return CommandProblem(group, NO_OFFSETS, "Name topics with --topic.")
