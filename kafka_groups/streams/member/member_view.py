"""The properties that both facades of a member share."""

from collections.abc import Mapping

from kafka_groups.client.membership.group_metadata import GroupMetadata
from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatStatus
from kafka_groups.protocol.messages.streams_group_parts import UserEndpoint
from kafka_groups.streams.member.client import StreamsClient
from kafka_groups.streams.member.rules.endpoints import EndpointPartitions
from kafka_groups.streams.member.rules.member_metrics import MEMBER_METRICS
from kafka_groups.streams.member.rules.member_tasks import MemberTasks
from kafka_groups.streams.member.rules.states import MembershipState
from kafka_groups.telemetry.sources import TelemetrySource, streams_member_source

__all__ = ["_MemberView"]


class _MemberView:
    """The state of a member; any thread may read it.

    Args:
        client: The client.
    """

    def __init__(self, client: StreamsClient) -> None:
        self._client = client

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._client.membership!r}>"

    @property
    def member_id(self) -> str:
        """The member's id in the group, which stays the same until the member is closed."""
        return self._client.membership.member_id

    @property
    def process_id(self) -> str:
        """The id of the process."""
        return self._client.membership.description.process_id

    @property
    def instance_id(self) -> str | None:
        """The id of a static member, with its number, or None."""
        return self._client.membership.description.instance_id

    @property
    def state(self) -> MembershipState:
        """The state of the membership. It is `UNREACHABLE` while no broker answers."""
        return self._client.state

    @property
    def epoch(self) -> int:
        """The member's epoch; 0 while it is not in the group."""
        return self._client.membership.epoch

    @property
    def tasks(self) -> MemberTasks:
        """The tasks that the member owns, including those that it still has to give up."""
        return self._client.membership.owned

    def _as_member(self) -> GroupMetadata:
        """Return the group and the member with its present epoch, for offsets of any of its tasks.

        Raises:
            TasksLostError: The member has lost tasks that the program has not closed.
            IllegalStateError: It is not in the group, and has no tasks.
        """
        return GroupMetadata(self._client.config.application_id, self._client.as_member())

    def metrics(self) -> Mapping[str, float]:
        """Return all metrics by name, most of them by Kafka's names; the reference lists them.

        A rate, average or maximum is of the last 30 to 60 seconds, an average or maximum without a value is NaN, and a
        total counts from the creation of the member. The mapping is a copy.
        """
        return self._client.metrics()

    @property
    def telemetry(self) -> TelemetrySource:
        """The metrics for exporters; see `kafka_groups.telemetry`. Any thread may read this."""
        config = self._client.config
        return streams_member_source(
            MEMBER_METRICS, self.metrics, group=config.application_id, client_id=config.client_id
        )

    @property
    def statuses(self) -> tuple[StreamsGroupHeartbeatStatus, ...]:
        """The reasons why the group does not work; empty if it works."""
        return self._client.membership.statuses

    @property
    def endpoints(self) -> Mapping[UserEndpoint, EndpointPartitions]:
        """For interactive queries: the partitions whose stores each `application.server` of the group has."""
        return self._client.membership.endpoints
