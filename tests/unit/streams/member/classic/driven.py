"""A membership of a classic group, driven by hand."""

import random
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from kafka_groups.admin.rules.group_topology.group_topology import GroupTopology, RepartitionTopic, Subtopology
from kafka_groups.admin.rules.group_topology.pattern_sources import PatternSources
from kafka_groups.client.background import BackgroundErrors
from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.client.coordinators import CoordinatorManager
from kafka_groups.client.metadata import Metadata
from kafka_groups.client.requests import ClientResponse, OutgoingRequest
from kafka_groups.errors import DisconnectedError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.heartbeat import HeartbeatResponse
from kafka_groups.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember
from kafka_groups.protocol.messages.leave_group import LeaveGroupResponse
from kafka_groups.protocol.messages.streams_group_parts import UserEndpoint
from kafka_groups.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from kafka_groups.protocol.streams_user_data.assignment_info import AssignmentInfo
from kafka_groups.protocol.streams_user_data.subscription_info import SubscriptionInfo, decode_subscription
from kafka_groups.streams.member.classic.classic_settings import ClassicSettings, ClassicSurroundings
from kafka_groups.streams.member.classic.dormant_state import DormantState, NoDormantState
from kafka_groups.streams.member.classic.member_subscription import partitions_by_name
from kafka_groups.streams.member.classic.membership import ClassicMembership
from kafka_groups.streams.member.rules.member_description import MemberDescription
from kafka_groups.streams.member.rules.member_events import TasksAssigned, TasksLost, TasksRevoked
from kafka_groups.streams.member.rules.member_tasks import MemberTasks
from kafka_groups.streams.member.rules.states import MembershipState
from kafka_groups.streams.member.rules.task_position import TaskPosition
from kafka_groups.types import TaskId, TopicPartition

PROCESS = UUID(int=7)
TOPOLOGY = GroupTopology(
    (
        Subtopology(subtopology_id="0", source_topics=("in", "in2"), repartition_sinks=("r",)),
        Subtopology(subtopology_id="1", repartition_sources=(RepartitionTopic("r"),)),
    )
)
ENDPOINT = UserEndpoint(host="h", port=80)
A, B, C = TaskId("0", 0), TaskId("0", 1), TaskId("1", 0)
SETTINGS = ClassicSettings()
REBALANCE_MS = 300_000
WALL_MS = 1_700_000_000_000
OTHER = "other-1"

Inputs = Mapping[TaskId, tuple[TopicPartition, ...]]


def input_of(task: TaskId) -> TopicPartition:
    return TopicPartition("in" if task.subtopology_id == "0" else "r", task.partition)


def inputs_of(*active: TaskId) -> Inputs:
    return {task: (input_of(task),) for task in active}


def tasks(*active: TaskId, standby: tuple[TaskId, ...] = ()) -> MemberTasks:
    return MemberTasks(active=active, standby=standby)


def assignment(inputs: Inputs, standby: tuple[TaskId, ...] = (), **info: Any) -> bytes:
    """The bytes of an assignment of active tasks with their inputs."""
    pairs = sorted((partition, task) for task, its in inputs.items() for partition in its)
    given: dict[str, Any] = {
        "active_tasks": tuple(task for _, task in pairs),
        "standby_tasks": tuple((task, (input_of(task),)) for task in standby),
        **info,
    }
    assigned = partitions_by_name(partition for partition, _ in pairs)
    return ConsumerProtocolAssignment(assigned, AssignmentInfo(**given).encode()).encode()


def description(**changes: Any) -> MemberDescription:
    given: dict[str, Any] = {
        "group_id": "app",
        "process_id": str(PROCESS),
        "topology": TOPOLOGY,
        "rebalance_timeout_ms": REBALANCE_MS,
        **changes,
    }
    return MemberDescription(**given)


class Member:
    """A membership with a coordinator that is known, and a clock."""

    def __init__(
        self, dormant: DormantState | None = None, sources: PatternSources | None = None, **changes: Any
    ) -> None:
        self.now_ms = 10_000
        self.errors = BackgroundErrors()
        backoff = BackoffTimer(100, 1000, random.Random(1))
        self.coordinator = CoordinatorManager("app", Metadata(), self.errors, backoff=backoff, timeout_ms=30_000)
        self.coordinator.node_id = 2
        self.positions: Mapping[TaskId, TaskPosition] = {}
        self.generation = 0
        self.membership = ClassicMembership(
            description(**changes),
            settings=SETTINGS,
            coordinator=self.coordinator,
            errors=self.errors,
            surroundings=ClassicSurroundings(
                positions=lambda: self.positions,
                wall_ms=lambda: WALL_MS + self.now_ms,
                backoff=lambda: BackoffTimer(100, 1000, random.Random(2)),
                rng=random.Random(3),
                dormant=dormant or NoDormantState(),
                sources=sources,
            ),
        )

    # ------------------------------------------------------------------------------------ looking

    @property
    def state(self) -> MembershipState:
        return self.membership.state

    def is_in(self, state: MembershipState) -> bool:
        return self.membership.state is state

    def fatal(self) -> Exception | None:
        return self.errors.fatal

    def may_commit(self) -> bool:
        return self.membership.may_commit

    def log(self) -> list[str]:
        return [event.text for event in self.errors.events.take()]

    def events(self) -> list[object]:
        return list(self.membership.take_events())

    def assigned(self) -> TasksAssigned:
        (event,) = self.events()
        assert isinstance(event, TasksAssigned)
        return event

    def revoked(self) -> TasksRevoked:
        (event,) = self.events()
        assert isinstance(event, TasksRevoked)
        return event

    def lost(self) -> TasksLost:
        (event,) = self.events()
        assert isinstance(event, TasksLost)
        return event

    def confirm(self, event: TasksRevoked | TasksLost) -> None:
        self.membership.confirm(event, self.now_ms)

    # ----------------------------------------------------------------------------------- requests

    def requests(self) -> dict[ApiKey, OutgoingRequest]:
        """What the member sends now."""
        return {each.api: each for each in self.membership.poll(self.now_ms).requests}

    def send(self, api: ApiKey) -> OutgoingRequest:
        """What the member sends now, which is this."""
        requests = self.requests()
        assert requests.keys() == {api}
        return requests[api]

    def send_nothing_but_heartbeats(self) -> bool:
        """Whether nothing is due now, and a heartbeat at its time."""
        is_quiet = not self.requests()
        self.answer(self.heartbeat(), HeartbeatResponse())
        return is_quiet

    def quiet_ms(self) -> int:
        result = self.membership.poll(self.now_ms)
        assert result.requests == ()
        return result.wait_ms

    def answer(self, request: OutgoingRequest, message: object) -> None:
        self.membership.on_response(request, ClientResponse(message, 9, 1), self.now_ms)

    def fail(self, request: OutgoingRequest, error: Exception | None = None) -> None:
        self.membership.on_failure(request, error or DisconnectedError("gone"), self.now_ms)
        self.coordinator.node_id = 2

    def wait(self, ms: int) -> None:
        self.now_ms += ms

    # ------------------------------------------------------------------------------------- rounds

    def started(self) -> "Member":
        self.membership.join(self.now_ms)
        return self

    def joining(self) -> OutgoingRequest:
        """The JoinGroup that the member sends now, with its id."""
        request = self.send(ApiKey.JOIN_GROUP)
        if not self.membership.member_id and self.membership.description.instance_id is None:
            self.refuse(request, ErrorCode.MEMBER_ID_REQUIRED, member_id="me-1")
            request = self.send(ApiKey.JOIN_GROUP)
        return request

    def refuse(self, request: OutgoingRequest, code: ErrorCode, **values: Any) -> None:
        answers: Mapping[ApiKey, Callable[..., object]] = {
            ApiKey.JOIN_GROUP: JoinGroupResponse,
            ApiKey.SYNC_GROUP: SyncGroupResponse,
            ApiKey.HEARTBEAT: HeartbeatResponse,
            ApiKey.LEAVE_GROUP: LeaveGroupResponse,
        }
        self.answer(request, answers[request.api](error_code=code, **values))

    def admit(self, request: OutgoingRequest, leader: str = OTHER, **values: Any) -> None:
        """Answer JoinGroup with the next generation."""
        self.generation += 1
        given: dict[str, Any] = {
            "generation_id": self.generation,
            "protocol_type": "consumer",
            "protocol_name": "stream",
            "leader": leader,
            "member_id": self.membership.member_id or "me-1",
        }
        self.answer(request, JoinGroupResponse(**given | values))

    def admit_as_leader(self, request: OutgoingRequest, **values: Any) -> None:
        me = JoinGroupResponseMember(member_id=self.membership.member_id or "me-1", metadata=b"")
        self.admit(request, leader=me.member_id, members=(me,), **values)

    def sync(self, data: bytes) -> None:
        self.answer(self.send(ApiKey.SYNC_GROUP), SyncGroupResponse(assignment=data))

    def round(self, *active: TaskId, **info: Any) -> "Member":
        """A round in which the member follows and gets these tasks."""
        self.admit(self.joining())
        self.sync(assignment(inputs_of(*active), **info))
        return self

    def joined(self, *active: TaskId, **info: Any) -> "Member":
        """A stable member with these tasks, of which its program has heard."""
        self.started().round(*active, **info)
        assert self.state is MembershipState.STABLE
        self.events()
        self.log()
        return self

    def heartbeat(self) -> OutgoingRequest:
        """The next heartbeat at its time."""
        self.wait(SETTINGS.heartbeat_ms)
        return self.send(ApiKey.HEARTBEAT)

    def rebalance(self) -> None:
        """The coordinator says that a round has begun."""
        self.refuse(self.heartbeat(), ErrorCode.REBALANCE_IN_PROGRESS)


def joined_with(request: OutgoingRequest) -> JoinGroupRequest:
    message = request.build(9)
    assert isinstance(message, JoinGroupRequest)
    return message


def subscription_in(request: OutgoingRequest) -> ConsumerProtocolSubscription:
    return ConsumerProtocolSubscription.decode(joined_with(request).protocols[0].metadata)


def user_data_in(request: OutgoingRequest) -> SubscriptionInfo:
    info = decode_subscription(subscription_in(request).user_data)
    assert isinstance(info, SubscriptionInfo)
    return info


def synced_with(request: OutgoingRequest) -> SyncGroupRequest:
    message = request.build(5)
    assert isinstance(message, SyncGroupRequest)
    return message


def leading(**values: Any) -> Member:
    member = Member().joined(A)
    member.rebalance()
    member.admit_as_leader(member.send(ApiKey.JOIN_GROUP), **values)
    return member
