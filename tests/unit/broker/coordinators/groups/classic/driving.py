"""Classic groups driven by hand, in virtual time: clients, a log that may refuse records, moves to other shards."""

from collections.abc import Iterable
from itertools import count
from typing import Any, Generic, TypeVar
from uuid import UUID

from attrs import define, field

from kafka_groups.broker.coordinators.groups.classic.group import ClassicGroup
from kafka_groups.broker.coordinators.groups.classic.groups import ClassicGroups
from kafka_groups.broker.coordinators.groups.classic.joining import ClassicSources
from kafka_groups.broker.coordinators.groups.classic.settings import ClassicGroupSettings
from kafka_groups.broker.coordinators.groups.member_client import MemberClient
from kafka_groups.broker.coordinators.groups.records import GROUP_RECORDS
from kafka_groups.broker.coordinators.result import Reply, Result
from kafka_groups.protocol.coordinator_records.offsets import ClassicGroupMetadata
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.heartbeat import HeartbeatRequest
from kafka_groups.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from kafka_groups.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupRequestMember, LeaveGroupResponse
from kafka_groups.protocol.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)

R = TypeVar("R")

GROUP = "group"
SESSION_MS, REBALANCE_MS, DELAY_MS = 10_000, 60_000, 3_000
NEWEST = 9
WALL_MS = 1_700_000_000_000
NONE = ErrorCode.NONE


class RefusedError(Exception):
    """The log has refused records. The shard was thrown away."""


@define(eq=False)
class Pending(Generic[R]):
    """A request. Without an outcome it waits."""

    outcome: R | None = None

    @property
    def waits(self) -> bool:
        """Whether there is no response yet."""
        return self.outcome is None

    @property
    def response(self) -> R:
        """The response."""
        assert self.outcome is not None, "the request waits"
        return self.outcome


class Cluster:
    """A shard with its log and a clock."""

    def __init__(self, **settings: int) -> None:
        self.settings = ClassicGroupSettings(**settings)
        self.now_ms = 0
        self.log: list[ClassicGroupMetadata] = []
        self.refuses = False
        self.loses = False
        self._tokens, self._ids = count(1), count(1)
        self._parked: dict[int, Pending[Any]] = {}
        self.groups = self._new_shard()

    def _new_shard(self) -> ClassicGroups:
        sources = ClassicSources(
            lambda: next(self._tokens), lambda: UUID(int=next(self._ids)), lambda: WALL_MS + self.now_ms
        )
        return ClassicGroups(self.settings, sources)

    @property
    def group(self) -> ClassicGroup:
        """The group."""
        return self.groups.groups[GROUP]

    @property
    def state(self) -> str:
        """The state of the group."""
        return self.group.state.value

    @property
    def waiting(self) -> int:
        """Number of requests that wait."""
        return len(self._parked)

    @property
    def parked_tokens(self) -> set[int]:
        """The tokens of the requests that wait."""
        return set(self._parked)

    def commit(self, result: Result[R | None, ClassicGroupMetadata]) -> Pending[R]:
        """Store and replay the records, and send the responses."""
        pending: Pending[R] = Pending(result.response)
        if self.refuses and result.records:
            self.move()
            raise RefusedError
        if self.loses and result.records:
            return pending  # too large: the runtime drops the result, and the shard stays
        for record in result.records:
            self.log.append(record)
            self.groups.replay(through_bytes(record))
        if result.parked is not None:
            assert result.response is None
            self._parked[result.parked] = pending
        for effect in result.effects:
            assert isinstance(effect, Reply)
            self._parked.pop(effect.token).outcome = effect.outcome
        return pending

    def advance(self, duration_ms: int) -> None:
        """Let time pass, and do what is due when it is due."""
        until_ms = self.now_ms + duration_ms
        while (deadline_ms := self.groups.next_deadline_ms()) is not None and deadline_ms <= until_ms:
            self.now_ms = max(self.now_ms, deadline_ms)
            self.commit(self.groups.expire(self.now_ms))
        self.now_ms = until_ms

    def move(self) -> None:
        """Let another coordinator load the log. Nobody answers the requests that wait."""
        self._parked.clear()
        self.groups = self._new_shard()
        for record in self.log:
            self.groups.replay(through_bytes(record))
        self.groups.loaded(self.now_ms)

    def leave(self, *members: LeaveGroupRequestMember, version: int = 5, group_id: str = GROUP) -> LeaveGroupResponse:
        """Send a LeaveGroup request with several members."""
        request = LeaveGroupRequest(group_id=group_id, members=members)
        return self.commit(self.groups.leave(request, version, self.now_ms)).response

    def leave_instance(self, instance: str) -> ErrorCode:
        """Remove a static member, as an administrator does."""
        return self.leave(LeaveGroupRequestMember(member_id="", group_instance_id=instance)).members[0].error_code

    def delete_group(self) -> None:
        """Delete the group."""
        self.commit(Result(None, self.groups.delete(GROUP)))


def through_bytes(record: ClassicGroupMetadata) -> ClassicGroupMetadata:
    """The record after it was written to a log, and read again."""
    codec = GROUP_RECORDS
    found = codec.decode(*codec.encode(record))
    assert isinstance(found, ClassicGroupMetadata)
    return found


@define(eq=False)
class Client:
    """A client, with what it learns from responses."""

    cluster: Cluster
    name: str = "client"
    instance: str | None = None
    version: int = NEWEST
    protocols: dict[str, bytes] = field(factory=lambda: {"range": b"all"})
    session_ms: int = SESSION_MS
    rebalance_ms: int = REBALANCE_MS
    protocol_type: str = "consumer"
    member_id: str = ""
    generation: int = -1
    joined: Pending[JoinGroupResponse] = field(factory=Pending)
    synced: Pending[SyncGroupResponse] = field(factory=Pending)

    def restarted(self, **changes: Any) -> "Client":
        """The client after a restart: it has the same instance id, and no member id."""
        kept = {name: getattr(self, name) for name in ("name", "instance", "version", "protocols", "protocol_type")}
        return Client(self.cluster, **{**kept, **changes})

    def send_join(self, group_id: str = GROUP) -> Pending[JoinGroupResponse]:
        """Send JoinGroup once."""
        protocols = tuple(JoinGroupRequestProtocol(name=name, metadata=data) for name, data in self.protocols.items())
        request = JoinGroupRequest(
            group_id=group_id,
            session_timeout_ms=self.session_ms,
            rebalance_timeout_ms=self.rebalance_ms,
            member_id=self.member_id,
            group_instance_id=self.instance,
            protocol_type=self.protocol_type,
            protocols=protocols,
        )
        client, cluster = MemberClient(self.name, "/127.0.0.1"), self.cluster
        self.joined = cluster.commit(cluster.groups.join(request, client, self.version, cluster.now_ms))
        return self.joined

    def join(self) -> Pending[JoinGroupResponse]:
        """Send JoinGroup, and again with the id that the coordinator has given (KIP-394)."""
        self.send_join()
        if not self.joined.waits and self.joined.response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = self.joined.response.member_id
            self.send_join()
        return self.joined

    def learn(self) -> JoinGroupResponse:
        """Take the id and the generation from the response to JoinGroup, which must have come."""
        response = self.joined.response
        assert response.error_code == NONE, response
        self.member_id, self.generation = response.member_id, response.generation_id
        return response

    def instance_bytes(self) -> bytes:
        """The assignment of this client in simulations: the same after a restart."""
        return (self.instance or "dynamic").encode()

    @property
    def leads(self) -> bool:
        """Whether the response names this client as the leader."""
        return self.joined.response.leader == self.joined.response.member_id

    def sync(self, assignments: dict[str, bytes] | None = None, **fields: Any) -> Pending[SyncGroupResponse]:
        """Send SyncGroup."""
        request = SyncGroupRequest(
            **{
                "group_id": GROUP,
                "generation_id": self.generation,
                "member_id": self.member_id,
                "group_instance_id": self.instance,
                **fields,
            },
            assignments=tuple(
                SyncGroupRequestAssignment(member_id=member_id, assignment=data)
                for member_id, data in (assignments or {}).items()
            ),
        )
        self.synced = self.cluster.commit(self.cluster.groups.sync(request, self.cluster.now_ms))
        return self.synced

    def heartbeat(self, **fields: Any) -> ErrorCode:
        """Send a heartbeat."""
        known = {
            "group_id": GROUP,
            "generation_id": self.generation,
            "member_id": self.member_id,
            "group_instance_id": self.instance,
            **fields,
        }
        request = HeartbeatRequest(**known)
        return self.cluster.commit(self.cluster.groups.heartbeat(request, self.cluster.now_ms)).response.error_code

    def leave(self) -> ErrorCode:
        """Leave, as a consumer does that is closed."""
        leaving = LeaveGroupRequestMember(member_id=self.member_id, group_instance_id=self.instance)
        return self.cluster.leave(leaving).members[0].error_code


def settle(clients: Iterable[Client]) -> None:
    """After all have joined: the leader assigns to each member its id, and all get that."""
    members = list(clients)
    for client in members:
        client.learn()
    leader = next(client for client in members if client.leads)
    for client in members:
        if client is not leader:
            client.sync()
    leader.sync({each.member_id: each.member_id.encode() for each in leader.joined.response.members})
    for client in members:
        assert client.synced.response.error_code == NONE
        assert client.synced.response.assignment == client.member_id.encode()


def stable(cluster: Cluster, *clients: Client) -> None:
    """Let these clients form a group. The first one leads."""
    for client in clients:
        client.join()
    cluster.advance(DELAY_MS)
    if any(client.joined.waits for client in clients):
        cluster.advance(DELAY_MS)
    settle(clients)
    assert clients[0].leads
    assert cluster.state == "Stable"


def dynamic(cluster: Cluster, name: str, **fields: Any) -> Client:
    """A member without instance id."""
    return Client(cluster, name, **fields)


def static(cluster: Cluster, instance: str, **fields: Any) -> Client:
    """A member with an instance id."""
    return Client(cluster, f"of-{instance}", instance, **fields)


def refused(error: ErrorCode, member_id: str = "") -> JoinGroupResponse:
    """The response to a JoinGroup of the newest version that is refused."""
    return JoinGroupResponse(error_code=error, member_id=member_id, protocol_name=None)
