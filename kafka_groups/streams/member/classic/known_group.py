"""A member's knowledge of its classic group: endpoints, and why it does not work or has to shut down."""

from collections.abc import Mapping

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatStatus, StreamsStatus
from kafka_groups.protocol.messages.streams_group_parts import UserEndpoint
from kafka_groups.protocol.streams_user_data.versions import FIRST_WITH_ERROR_IN_SUBSCRIPTION
from kafka_groups.streams.member.classic.assignment import AssignmentCode
from kafka_groups.streams.member.classic.member_refusals import assignment_error
from kafka_groups.streams.member.rules.endpoints import EndpointPartitions
from kafka_groups.streams.member.rules.member_events import StatusesChanged
from kafka_groups.streams.member.rules.owned_tasks import TaskOwnership

__all__ = ["KnownClassicGroup"]


class KnownClassicGroup:
    """The group's state as its member knows it.

    Args:
        tasks: Passes changes of the statuses on to the application.

    Attributes:
        statuses: What keeps the group from working.
        endpoints: The partitions by the endpoints that answer interactive queries for them.
        error_code: The error of the member's subscriptions: whether all members have to shut down.
    """

    def __init__(self, tasks: TaskOwnership) -> None:
        self._tasks = tasks
        self.statuses: tuple[StreamsGroupHeartbeatStatus, ...] = ()
        self.endpoints: Mapping[UserEndpoint, EndpointPartitions] = {}
        self.error_code = AssignmentCode.NONE

    def request_shutdown(self) -> None:
        """Ask all members to shut down, with each subscription from now on."""
        self.error_code = AssignmentCode.SHUTDOWN_REQUESTED

    @property
    def has_to_ask(self) -> bool:
        """True if this member has asked all to shut down, and the group has not answered that."""
        return self.error_code is AssignmentCode.SHUTDOWN_REQUESTED and not self.statuses

    def shut_down_alone(self, version: int) -> bool:
        """Shut this member down if subscriptions of this version cannot ask for it. Return whether they cannot."""
        if version >= FIRST_WITH_ERROR_IN_SUBSCRIPTION:
            return False
        self._tell(StreamsStatus.SHUTDOWN_APPLICATION, "This member has asked for it.")
        return True

    def refused(self, code: int, leader: str, cause: str) -> KafkaGroupsError | None:
        """Take an assignment that is an error. Return an error that ends the member at once.

        Args:
            code: The error.
            leader: The member that leads.
            cause: Why, if it is this member.
        """
        # The first two let the application commit and close its tasks before it ends.
        if code == AssignmentCode.SHUTDOWN_REQUESTED:
            self.request_shutdown()
            self._tell(StreamsStatus.SHUTDOWN_APPLICATION, "A member has asked all members to shut down.")
        elif code == AssignmentCode.INCOMPLETE_SOURCE_TOPIC_METADATA:
            missing = cause or f"The leader of the group, {leader}, does not find all source topics."
            self._tell(StreamsStatus.MISSING_SOURCE_TOPICS, missing, is_final=True)
        elif code != AssignmentCode.VERSION_PROBING:  # which no leader has sent since version 3
            return assignment_error(code, leader, cause)
        return None

    def _tell(self, status: StreamsStatus, detail: str, *, is_final: bool = False) -> None:
        told = (StreamsGroupHeartbeatStatus(status_code=status, status_detail=detail),)
        if told != self.statuses:
            self.statuses = told
            self._tasks.tell(StatusesChanged(told, is_final=is_final))
