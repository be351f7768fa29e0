"""The requests of a member of a classic group."""

from collections.abc import Mapping
from typing import Final

from attrs import frozen

from kafka_groups.client.requests import Lane, OutgoingRequest
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.messages.heartbeat import HeartbeatRequest
from kafka_groups.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafka_groups.protocol.messages.leave_group import (
    FIRST_WITH_MANY_MEMBERS,
    LeaveGroupRequest,
    LeaveGroupRequestMember,
)
from kafka_groups.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from kafka_groups.streams.member.classic.classic_settings import ClassicSettings
from kafka_groups.streams.member.rules.member_description import MemberDescription

__all__ = ["PROTOCOL", "PROTOCOL_TYPE", "ClassicIdentity", "ClassicRequests"]

PROTOCOL_TYPE: Final = "consumer"
PROTOCOL: Final = "stream"
"""The name of the only protocol that members of Kafka Streams offer (StreamsPartitionAssignor.name)."""

_GRACE_MS: Final = 5_000
"""The time by which the coordinator may exceed the rebalance timeout, as in Java (JOIN_GROUP_TIMEOUT_LAPSE)."""


@frozen
class ClassicIdentity:
    """The member in a generation, as a request names it.

    Attributes:
        member_id: Its id; empty before the coordinator has given it one.
        generation: The generation, or 0.
    """

    member_id: str
    generation: int


@frozen
class ClassicRequests:
    """Builds the requests of one member.

    Attributes:
        description: What the member tells its group about itself.
        settings: Its configuration.
    """

    description: MemberDescription
    settings: ClassicSettings

    @property
    def round_timeout_ms(self) -> int:
        """The time to wait for JoinGroup and SyncGroup, which wait in the broker for other members."""
        return max(self.settings.request_timeout_ms, self.description.rebalance_timeout_ms + _GRACE_MS)

    def join(self, node_id: int, who: ClassicIdentity, metadata: bytes, reason: str) -> OutgoingRequest:
        """Return JoinGroup."""
        description = self.description
        request = JoinGroupRequest(
            group_id=description.group_id,
            session_timeout_ms=self.settings.session_ms,
            rebalance_timeout_ms=description.rebalance_timeout_ms,
            member_id=who.member_id,
            group_instance_id=description.instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=(JoinGroupRequestProtocol(name=PROTOCOL, metadata=metadata),),
            reason=reason,
        )
        return self._of_round(ApiKey.JOIN_GROUP, node_id, who, request)

    def sync(self, node_id: int, who: ClassicIdentity, assignments: Mapping[str, bytes]) -> OutgoingRequest:
        """Return SyncGroup, with the assignments of all members if this one leads."""
        request = SyncGroupRequest(
            group_id=self.description.group_id,
            generation_id=who.generation,
            member_id=who.member_id,
            group_instance_id=self.description.instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=PROTOCOL,
            assignments=tuple(
                SyncGroupRequestAssignment(member_id=member_id, assignment=each)
                for member_id, each in assignments.items()
            ),
        )
        return self._of_round(ApiKey.SYNC_GROUP, node_id, who, request)

    def _of_round(self, api: ApiKey, node_id: int, who: ClassicIdentity, request: object) -> OutgoingRequest:
        # Brokers answer the requests of a connection in order, and these wait for minutes. Heartbeats, LeaveGroup and
        # commits must not wait behind them.
        return OutgoingRequest(
            api, lambda _version: request, node_id, self.round_timeout_ms, context=who, lane=Lane.GROUP
        )

    def heartbeat(self, node_id: int, who: ClassicIdentity) -> OutgoingRequest:
        """Return Heartbeat."""
        request = HeartbeatRequest(
            group_id=self.description.group_id,
            generation_id=who.generation,
            member_id=who.member_id,
            group_instance_id=self.description.instance_id,
        )
        return OutgoingRequest(
            ApiKey.HEARTBEAT, lambda _version: request, node_id, self.settings.request_timeout_ms, context=who
        )

    def leave(self, node_id: int, who: ClassicIdentity, reason: str) -> OutgoingRequest:
        """Return LeaveGroup."""
        group_id, instance_id = self.description.group_id, self.description.instance_id

        def build(version: int) -> LeaveGroupRequest:
            if version < FIRST_WITH_MANY_MEMBERS:
                return LeaveGroupRequest(group_id=group_id, member_id=who.member_id)
            member = LeaveGroupRequestMember(member_id=who.member_id, group_instance_id=instance_id, reason=reason)
            return LeaveGroupRequest(group_id=group_id, members=(member,))

        return OutgoingRequest(ApiKey.LEAVE_GROUP, build, node_id, self.settings.request_timeout_ms, context=who)
