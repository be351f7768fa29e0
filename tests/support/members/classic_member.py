"""A member of a classic group that does only what a test has it do."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

from kafka_groups.protocol.messages.heartbeat import HeartbeatRequest
from kafka_groups.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from kafka_groups.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupRequestMember
from kafka_groups.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafka_groups.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.support.cluster_client import Topic
from tests.support.requests.raw_client import RawClient

__all__ = ["ClassicMember", "subscription"]

SESSION_MS, REBALANCE_MS = 30_000, 30_000
NEWEST_JOIN = 9
NONE, MEMBER_ID_REQUIRED = "NONE", "MEMBER_ID_REQUIRED"


def subscription(*topics: str) -> bytes:
    """The metadata of a consumer that subscribes to topics."""
    names = b"".join(len(topic).to_bytes(2, "big") + topic.encode() for topic in topics)
    return b"\x00\x00" + len(topics).to_bytes(4, "big") + names + b"\xff\xff\xff\xff"


class ClassicMember:
    """A member, with a connection of its own: a request that waits keeps no other one waiting.

    Attributes:
        member_id: Its id, once it has one.
        generation: The generation that it has joined.
        leader: Who leads it, by its response.
        protocol: The protocol that was chosen.
    """

    def __init__(
        self,
        client: RawClient,
        group_id: str,
        instance: str | None = None,
        *,
        protocols: Sequence[tuple[str, bytes]] = (("range", subscription("t")),),
    ) -> None:
        self.client = client
        self.group_id = group_id
        self.instance = instance
        self.protocols = tuple(protocols)
        self.member_id = ""
        self.generation = -1
        self.leader = ""
        self.protocol: str | None = None

    @property
    def leads(self) -> bool:
        """Whether it leads the generation that it has joined."""
        return self.leader == self.member_id

    def restarted(self, client: RawClient, **keywords: Any) -> "ClassicMember":
        """The same instance, started again: it has forgotten all else."""
        return ClassicMember(client, self.group_id, self.instance, **{"protocols": self.protocols, **keywords})

    async def ask_to_join(self, version: int = NEWEST_JOIN, **fields: Any) -> JoinGroupResponse:
        """Send JoinGroup once, and note what the response says if it is not an error."""
        values: dict[str, Any] = {
            "group_id": self.group_id,
            "session_timeout_ms": SESSION_MS,
            "rebalance_timeout_ms": REBALANCE_MS,
            "member_id": self.member_id,
            "group_instance_id": self.instance,
            "protocol_type": "consumer",
            "protocols": self.protocols,
        }
        values |= fields
        named = [JoinGroupRequestProtocol(name=name, metadata=data) for name, data in values.pop("protocols")]
        response = await self.client.ask(JoinGroupRequest(**values, protocols=tuple(named)), version)
        assert isinstance(response, JoinGroupResponse)
        if response.error_code.name == NONE:
            self.member_id, self.generation = response.member_id, response.generation_id
            self.leader, self.protocol = response.leader, response.protocol_name
        return response

    async def join(self, version: int = NEWEST_JOIN, **fields: Any) -> JoinGroupResponse:
        """Join, with an id if the broker demands one first."""
        response = await self.ask_to_join(version, **fields)
        if response.error_code.name == MEMBER_ID_REQUIRED:
            self.member_id = response.member_id
            response = await self.ask_to_join(version, **fields)
        assert response.error_code.name == NONE, response
        return response

    async def sync(self, assignments: Mapping[str, bytes] | None = None, **fields: Any) -> tuple[str, bytes]:
        """Send SyncGroup; returns the name of the error, and the assignment."""
        given = [SyncGroupRequestAssignment(member_id=k, assignment=v) for k, v in (assignments or {}).items()]
        values = {**self.identity, "protocol_type": "consumer", "protocol_name": self.protocol, **fields}
        response = await self.client.ask(SyncGroupRequest(**values, assignments=tuple(given)))
        return response.error_code.name, response.assignment

    async def heartbeat(self, **fields: Any) -> str:
        """Send a heartbeat; returns the name of the error."""
        response = await self.client.ask(HeartbeatRequest(**{**self.identity, **fields}))
        return str(response.error_code.name)

    async def commit(self, topic: Topic, offset: int, **fields: Any) -> str:
        """Commit an offset of partition 0; returns the name of the error."""
        partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset, committed_metadata="")
        named = OffsetCommitRequestTopic(name=topic.name, topic_id=topic.topic_id, partitions=(partition,))
        values = {**self.identity, **fields}
        values["generation_id_or_member_epoch"] = values.pop("generation_id")
        response = await self.client.ask(OffsetCommitRequest(**values, topics=(named,)), 9)
        return str(response.topics[0].partitions[0].error_code.name)

    async def leave(self, *members: LeaveGroupRequestMember, version: int = 5) -> list[tuple[str, str | None, str]]:
        """Remove members, or this one; returns member ids, instance ids and names of errors."""
        given = members or (LeaveGroupRequestMember(member_id=self.member_id, group_instance_id=self.instance),)
        response = await self.client.ask(LeaveGroupRequest(group_id=self.group_id, members=given), version)
        return [(each.member_id, each.group_instance_id, each.error_code.name) for each in response.members]

    @property
    def identity(self) -> dict[str, Any]:
        """The fields by which a request names its member."""
        return {
            "group_id": self.group_id,
            "generation_id": self.generation,
            "member_id": self.member_id,
            "group_instance_id": self.instance,
        }

    def known_as(self, member_id: str) -> Self:
        """Use an id that the member was given elsewhere."""
        self.member_id = member_id
        return self
