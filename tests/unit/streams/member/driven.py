"""A membership of a streams group, driven by hand."""

import random
from collections.abc import Mapping
from typing import Any

from kafka_groups.admin.rules.group_topology.group_topology import GroupTopology, Subtopology
from kafka_groups.client.background import BackgroundErrors
from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.client.coordinators import CoordinatorManager
from kafka_groups.client.metadata import Metadata
from kafka_groups.client.requests import ClientResponse, OutgoingRequest
from kafka_groups.errors import (
    DisconnectedError,
)
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    StreamsGroupHeartbeatStatus,
    StreamsStatus,
)
from kafka_groups.protocol.messages.streams_group_parts import KeyValue, UserEndpoint
from kafka_groups.streams.member.coordinated.heartbeat import MemberHeartbeats
from kafka_groups.streams.member.coordinated.membership import StreamsMembership
from kafka_groups.streams.member.coordinated.pace import HeartbeatPace
from kafka_groups.streams.member.coordinated.task_offsets import TaskOffsetReporter
from kafka_groups.streams.member.rules.member_description import MemberDescription
from kafka_groups.streams.member.rules.member_events import (
    TasksLost,
    TasksRevoked,
)
from kafka_groups.streams.member.rules.member_tasks import NO_TASKS, MemberTasks, tasks_to_wire
from kafka_groups.streams.member.rules.states import MembershipState
from kafka_groups.streams.member.rules.task_position import TaskPosition
from kafka_groups.types import TaskId
from tests.support.members.old_session import old_session

INTERVAL_MS = 5_000
REBALANCE_MS = 300_000
SESSION_MS = 45_000
TOPOLOGY = GroupTopology((Subtopology(subtopology_id="0", source_topics=("in",)),))
ENDPOINT = UserEndpoint(host="h", port=80)
A, B, C = TaskId("0", 0), TaskId("0", 1), TaskId("0", 2)
DELAYED = StreamsGroupHeartbeatStatus(status_code=StreamsStatus.ASSIGNMENT_DELAYED)


def tasks(*active: TaskId, standby: tuple[TaskId, ...] = (), warmup: tuple[TaskId, ...] = ()) -> MemberTasks:
    return MemberTasks(active=active, standby=standby, warmup=warmup)


def lists(owned: MemberTasks) -> dict[str, Any]:
    """The fields of a heartbeat that list these tasks."""
    return {
        "active_tasks": tasks_to_wire(owned.active),
        "standby_tasks": tasks_to_wire(owned.standby),
        "warmup_tasks": tasks_to_wire(owned.warmup),
    }


class Member:
    """A membership with a coordinator that is known, and a clock."""

    def __init__(self, instance_id: str | None = None) -> None:
        self.now_ms = 10_000
        self.errors = BackgroundErrors()
        backoff = BackoffTimer(100, 1000, random.Random(1))
        self.coordinator = CoordinatorManager("app", Metadata(), self.errors, backoff=backoff, timeout_ms=30_000)
        self.coordinator.node_id = 2
        self.positions: Mapping[TaskId, TaskPosition] = {}
        self.membership = StreamsMembership(
            MemberHeartbeats(
                MemberDescription(
                    group_id="app",
                    process_id="p",
                    topology=TOPOLOGY,
                    rebalance_timeout_ms=REBALANCE_MS,
                    instance_id=instance_id,
                    user_endpoint=ENDPOINT,
                    client_tags={"zone": "a"},
                ),
                "me",
            ),
            coordinator=self.coordinator,
            errors=self.errors,
            pace=HeartbeatPace(
                BackoffTimer(100, 1000, random.Random(2)), old_session(random.Random(3), SESSION_MS), random.Random(4)
            ),
            offsets=TaskOffsetReporter(lambda: self.positions),
            timeout_ms=30_000,
        )

    def is_in(self, state: MembershipState) -> bool:
        return self.membership.state is state

    def send(self) -> OutgoingRequest:
        (request,) = self.membership.poll(self.now_ms).requests
        return request

    def quiet_ms(self) -> int:
        result = self.membership.poll(self.now_ms)
        assert result.requests == ()
        return result.wait_ms

    def answer(
        self, request: OutgoingRequest, assigned: MemberTasks | None = None, *, version: int = 1, **values: Any
    ) -> None:
        given: dict[str, Any] = {"member_id": "me", "member_epoch": 2, "heartbeat_interval_ms": INTERVAL_MS}
        given |= {"status": ()} | ({} if assigned is None else lists(assigned)) | values
        response = StreamsGroupHeartbeatResponse(**given)
        self.membership.on_response(request, ClientResponse(response, version, 1), self.now_ms)

    def refuse(self, request: OutgoingRequest, code: ErrorCode) -> None:
        response = StreamsGroupHeartbeatResponse(error_code=code, error_message="no")
        self.membership.on_response(request, ClientResponse(response, 1, 1), self.now_ms)

    def lose(self, request: OutgoingRequest) -> None:
        self.membership.on_failure(request, DisconnectedError("gone"), self.now_ms)
        self.coordinator.node_id = 2
        self.now_ms += 1_200

    def started(self) -> "Member":
        self.membership.join(self.now_ms)
        return self

    def joined(self, *active: TaskId, **values: Any) -> "Member":
        """A stable member with these tasks."""
        self.started().answer(self.send(), tasks(*active), **values)
        if active:
            self.answer(self.send(), **values)
        assert self.is_in(MembershipState.STABLE)
        self.membership.take_events()
        return self

    def heartbeat(self) -> OutgoingRequest:
        self.now_ms += INTERVAL_MS
        return self.send()

    def revoked(self) -> TasksRevoked:
        (event,) = self.membership.take_events()
        assert isinstance(event, TasksRevoked)
        return event

    def lost(self) -> TasksLost:
        (event,) = self.membership.take_events()
        assert isinstance(event, TasksLost)
        return event

    def confirm(self, event: TasksRevoked | TasksLost) -> None:
        self.membership.confirm(event, self.now_ms)


def wire(request: OutgoingRequest, version: int = 1) -> StreamsGroupHeartbeatRequest:
    message = request.build(version)
    assert isinstance(message, StreamsGroupHeartbeatRequest)
    return message


FULL: dict[str, Any] = {
    "group_id": "app",
    "member_id": "me",
    "endpoint_information_epoch": -1,
    "rebalance_timeout_ms": REBALANCE_MS,
    "process_id": "p",
    "user_endpoint": ENDPOINT,
    "client_tags": (KeyValue(key="zone", value="a"),),
    "task_offsets": (),
    "task_end_offsets": (),
}
JOINING = StreamsGroupHeartbeatRequest(member_epoch=0, topology=TOPOLOGY.to_wire(), **FULL, **lists(NO_TASKS))
