"""The version of the user data that a member sends: an older one while the group has older members."""

from kafka_groups.protocol.streams_user_data.assignment_info import AssignmentInfo
from kafka_groups.protocol.streams_user_data.versions import LATEST_VERSION
from kafka_groups.streams.errors import StreamsError

__all__ = ["UserDataVersion"]


class UserDataVersion:
    """The version of a member's subscriptions (version probing in Kafka Streams).

    Attributes:
        used: The version of the last subscription, or of the next one.
    """

    def __init__(self) -> None:
        self.used = LATEST_VERSION

    def __repr__(self) -> str:
        return f"<UserDataVersion {self.used}>"

    def heard(self, info: AssignmentInfo) -> bool:
        """Take the version from an assignment. Return whether it has changed, so that the member joins again.

        Raises:
            StreamsError: The leader used a version that this member does not have.
        """
        # As in StreamsPartitionAssignor.validateMetadataVersions in Java: nobody may answer a version that he was not
        # sent, and the common version is at most that of each member.
        if info.version > self.used or info.commonly_supported_version > LATEST_VERSION:
            raise StreamsError(
                f"The leader of the group has sent an assignment of version {info.version}, with"
                f" {info.commonly_supported_version} as the version that all members support, to a member that sent"
                f" version {self.used} and supports {LATEST_VERSION}. Is the leader a program of your own?"
            )
        # There are two reasons to change, as in maybeUpdateSubscriptionVersion: all members have become newer, or a
        # member has joined that is older than this one.
        if info.commonly_supported_version > self.used or info.version < self.used:
            self.used = info.commonly_supported_version
            return True
        return False
