"""A member of a classic group, as the group keeps it in memory."""

from collections.abc import Iterable
from typing import Self

from attrs import define, evolve, frozen

from kafka_groups.protocol.coordinator_records.offsets import GroupMetadataMember
from kafka_groups.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol

__all__ = ["ClassicMember", "ParkedJoin", "distinct_protocols"]

_NOT_SET = -1


@frozen
class ParkedJoin:
    """A JoinGroup request that waits for its response, and its version."""

    token: int
    version: int


@define(eq=False, kw_only=True)
class ClassicMember:
    """One member. The attributes that records lack are soft state.

    Attributes:
        protocols: The protocols that it supports, the preferred one first. After loading, only the chosen one is known.
        assignment: The leader's assignment for it, or no bytes.
        is_new: It has not got the response to its first JoinGroup yet.
        parked_join: Its JoinGroup request that waits for the other members.
        parked_sync: The token of its SyncGroup request that waits for the leader.
    """

    member_id: str
    group_instance_id: str | None = None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: tuple[JoinGroupRequestProtocol, ...]
    assignment: bytes = b""
    is_new: bool = False
    parked_join: ParkedJoin | None = None
    parked_sync: int | None = None

    @classmethod
    def joining(cls, request: JoinGroupRequest, member_id: str, client_id: str, client_host: str) -> Self:
        """Return a new member."""
        return cls(
            member_id=member_id,
            group_instance_id=request.group_instance_id,
            client_id=client_id,
            client_host=client_host,
            rebalance_timeout_ms=_rebalance_timeout_ms(request),
            session_timeout_ms=request.session_timeout_ms,
            protocols=distinct_protocols(request.protocols),
            is_new=True,
        )

    @classmethod
    def loaded(cls, stored: GroupMetadataMember, protocol: str | None) -> Self:
        """Return a member of a stored generation, with what it said about the chosen protocol."""
        # A record has the metadata for the chosen protocol only. So a group that was loaded knows one protocol of each
        # member until the next round.
        protocols = () if protocol is None else (JoinGroupRequestProtocol(name=protocol, metadata=stored.subscription),)
        return cls(
            member_id=stored.member_id,
            group_instance_id=stored.group_instance_id,
            client_id=stored.client_id,
            client_host=stored.client_host,
            rebalance_timeout_ms=_rebalance_timeout_ms(stored),
            session_timeout_ms=stored.session_timeout_ms,
            protocols=protocols,
            assignment=stored.assignment,
        )

    @property
    def is_static(self) -> bool:
        """True if the member has an instance id (KIP-345)."""
        return self.group_instance_id is not None

    @property
    def may_be_silent(self) -> bool:
        """True if the member cannot send heartbeats now, because it waits for a response.

        A new member may not: its client may be gone and may have joined again under another id.
        """
        return not self.is_new and (self.parked_join is not None or self.parked_sync is not None)

    def supports_the_same(self, request: JoinGroupRequest) -> bool:
        """Return whether a request has the stored protocols, in the same order and with the same metadata."""
        # The order is a preference, and the metadata has the topics: if either changes, the assignments may have to
        # (ClassicGroupMember.matches in Kafka).
        return self.protocols == distinct_protocols(request.protocols)

    def metadata(self, protocol: str | None) -> bytes:
        """Return its metadata for a protocol."""
        return next((each.metadata for each in self.protocols if each.name == protocol), b"")

    def successor(self, request: JoinGroupRequest, member_id: str) -> Self:
        """Return the member that continues this static member after a restart.

        As in Kafka, it keeps the client id and the host of the first start.
        """
        return evolve(
            self,
            member_id=member_id,
            rebalance_timeout_ms=_rebalance_timeout_ms(request),
            session_timeout_ms=request.session_timeout_ms,
            protocols=distinct_protocols(request.protocols),
            is_new=False,
            parked_join=None,
            parked_sync=None,
        )

    def follow(self, request: JoinGroupRequest) -> None:
        """Take over what a request of the member says about it."""
        self.rebalance_timeout_ms = _rebalance_timeout_ms(request)
        self.session_timeout_ms = request.session_timeout_ms
        self.protocols = distinct_protocols(request.protocols)

    def stored(self, protocol: str | None, assignment: bytes) -> GroupMetadataMember:
        """Return the member as records contain it."""
        return GroupMetadataMember(
            member_id=self.member_id,
            group_instance_id=self.group_instance_id,
            client_id=self.client_id,
            client_host=self.client_host,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            session_timeout_ms=self.session_timeout_ms,
            subscription=self.metadata(protocol),
            assignment=assignment,
        )


def distinct_protocols(protocols: Iterable[JoinGroupRequestProtocol]) -> tuple[JoinGroupRequestProtocol, ...]:
    """Return the protocols without those whose name was there before."""
    by_name: dict[str, JoinGroupRequestProtocol] = {}
    for protocol in protocols:
        # Kafka's collection of protocols keeps the first of two with one name, too.
        by_name.setdefault(protocol.name, protocol)
    return tuple(by_name.values())


def _rebalance_timeout_ms(described: JoinGroupRequest | GroupMetadataMember) -> int:
    # In version 0, requests and records have no rebalance timeout: the session timeout was used for both.
    given = described.rebalance_timeout_ms
    return described.session_timeout_ms if given == _NOT_SET else given
