"""The interface of a membership: a member's side of the protocol of its group, whichever kind of group it is."""

from collections.abc import Mapping
from typing import Protocol

from kafka_groups.client.requests import RequestManager
from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatStatus
from kafka_groups.protocol.messages.streams_group_parts import UserEndpoint
from kafka_groups.streams.member.rules.endpoints import EndpointPartitions
from kafka_groups.streams.member.rules.inbox import ApplicationCalls
from kafka_groups.streams.member.rules.member_description import MemberDescription
from kafka_groups.streams.member.rules.member_events import (
    GroupMembershipOperation,
    StreamsMembershipEvent,
    TasksLost,
    TasksRevoked,
)
from kafka_groups.streams.member.rules.member_tasks import MemberTasks
from kafka_groups.streams.member.rules.owned_tasks import ConfirmationReminder
from kafka_groups.streams.member.rules.states import MembershipState
from kafka_groups.streams.member.rules.streams_sensors import StreamsSensors

__all__ = ["GroupMembership"]


class GroupMembership(RequestManager, Protocol):
    """A request manager that joins a group and keeps the member in it. The documentation is that of the classes.

    Attributes:
        calls: Checks whether the application polls often enough.
        unconfirmed_since: Since when the application has events that it has not confirmed.
        sensors: Counts and times for the metrics.
    """

    calls: ApplicationCalls
    unconfirmed_since: ConfirmationReminder
    sensors: StreamsSensors

    @property
    def description(self) -> MemberDescription:
        """The description that the member sends to its group."""
        ...

    @property
    def member_id(self) -> str:
        """The member's id."""
        ...

    @property
    def state(self) -> MembershipState:
        """The member's state."""
        ...

    @property
    def epoch(self) -> int:
        """Its epoch, by which commits are fenced; 0 if it has none."""
        ...

    @property
    def life(self) -> int:
        """The number of times that the member has lost its tasks, or left. What it did before may be outdated."""
        ...

    @property
    def heard(self) -> int:
        """The number of heartbeats that the coordinator has accepted."""
        ...

    @property
    def owned(self) -> MemberTasks:
        """The tasks that the member owns, with those that it still has to give up."""
        ...

    @property
    def lost(self) -> MemberTasks:
        """Tasks that may be another member's by now, and that the application has not closed."""
        ...

    @property
    def unconfirmed(self) -> MemberTasks:
        """Tasks of events that the application has not confirmed."""
        ...

    @property
    def statuses(self) -> tuple[StreamsGroupHeartbeatStatus, ...]:
        """The reasons why the group does not work; empty if it works."""
        ...

    @property
    def endpoints(self) -> Mapping[UserEndpoint, EndpointPartitions]:
        """The partitions by the endpoints that answer interactive queries for them."""
        ...

    @property
    def knows_epoch(self) -> bool:
        """True if offsets of its tasks can be committed with its epoch, or it is not in the group."""
        ...

    @property
    def has_gate(self) -> bool:
        """True if there are times at which no commit may begin."""
        ...

    @property
    def has_events(self) -> bool:
        """True if there are events for the application. Any thread may ask."""
        ...

    @property
    def has_left(self) -> bool:
        """True if the member is not in the group, and waits for no answer about that."""
        ...

    def hold(self) -> bool:
        """Keep the member in its epoch for a commit, and return True; or return False if none may begin now."""
        ...

    def release(self) -> None:
        """Note that a commit that held the member has ended."""
        ...

    def join(self, now_ms: int) -> None:
        """Join the group."""
        ...

    def leave(self, operation: GroupMembershipOperation) -> None:
        """Leave the group. Commit and close the tasks first: they are given up at once, without an event."""
        ...

    def give_up_leaving(self) -> None:
        """Stop trying to notify the coordinator."""
        ...

    def request_shutdown(self) -> None:
        """Ask all members of the group to shut down."""
        ...

    def ask_again(self) -> int:
        """Heartbeat as soon as possible. Return how many will have been accepted when this one is."""
        ...

    def application_called(self, now_ms: int) -> None:
        """Note that the application is alive. A stale member rejoins."""
        ...

    def confirm(self, event: TasksRevoked | TasksLost, now_ms: int) -> None:
        """Note that the application has closed the tasks of an event. A second time, nothing happens."""
        ...

    def take_events(self) -> tuple[StreamsMembershipEvent, ...]:
        """Remove and return the events for the application, on its thread."""
        ...
