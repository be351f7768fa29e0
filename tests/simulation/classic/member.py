"""A simulated consumer of a classic group: joins, shares out partitions if it leads, commits, and follows errors."""

import asyncio
import enum
import random
from collections.abc import Iterable

from attrs import define, field, frozen

from kafka_groups.errors import FencedInstanceIdError, KafkaGroupsError, UnknownMemberIdError
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.heartbeat import HeartbeatRequest
from kafka_groups.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    JoinGroupResponseMember,
)
from kafka_groups.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupRequestMember
from kafka_groups.protocol.messages.offset_commit import OffsetCommitRequest
from kafka_groups.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
)
from kafka_groups.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from kafka_groups.testing.simulation import SimulatedWorld
from tests.simulation.groups.coordination import link_to
from tests.simulation.groups.coordinator_link import CoordinatorLink, check
from tests.simulation.groups.offset_requests import committed_topic
from tests.simulation.groups.timing import REBALANCE_S, SESSION_S
from tests.support.members.classic_member import subscription

__all__ = [
    "GROUP",
    "INSTANCES",
    "PARTITIONS",
    "TOPIC",
    "Member",
    "Phase",
    "Seat",
    "instance_of",
    "owner_of",
]

GROUP, TOPIC, PARTITIONS = "readers", "jobs", 6
INSTANCES = ("one", "two", "three", "four")
LONGEST_ROUND_S = 60.0
"""A client waits longer than that for no response."""
_HEARTBEAT_S = (1.5, 2.5)
_BACKOFF_S = (0.1, 1.0)
_PROTOCOL = JoinGroupRequestProtocol(name="range", metadata=subscription(TOPIC))
_SUFFIX = len("-00000000-0000-0000-0000-000000000000")
_REJOIN = (ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION)


class Phase(enum.Enum):
    """What a member is doing."""

    OUT = "out"
    JOINING = "joining"
    SYNCING = "syncing"
    IN = "in"


@frozen
class Seat:
    """A process in the deployment, whoever runs it now.

    Attributes:
        name: Its name.
        instance: Its instance id. None: its members are dynamic.
        gives_up: Whether it ends after the first failure to join.
    """

    name: str
    instance: str | None
    gives_up: bool = False

    @property
    def client_id(self) -> str:
        """The beginning of its member ids if it is dynamic. It is not that of static ones, which is the instance."""
        return f"client {self.name}"


@define(eq=False, repr=False)
class Member:
    """One life of a consumer.

    Attributes:
        seat: What it is.
        world: Where it lives.
        rng: Its own randomness.
        version: The version of its requests to join.
        phase: What it does now.
        partitions: What it is assigned.
    """

    seat: Seat
    world: SimulatedWorld
    rng: random.Random
    version: int
    phase: Phase = Phase.OUT
    member_id: str = ""
    generation: int = -1
    partitions: tuple[int, ...] = ()
    _positions: dict[int, int] = field(factory=dict)
    _commits: int = 0
    _is_in: bool = False
    _link: CoordinatorLink = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._link = link_to(self.world, GROUP, self.seat.client_id)

    def __repr__(self) -> str:
        return f"<{self.seat.name} {self.phase.value} in {self.generation} with {self.partitions}>"

    async def live(self) -> None:
        """Consume until another member of the same instance takes over, or the process ends."""
        try:
            while not await self._is_over():
                self.phase = Phase.OUT
                await asyncio.sleep(self.rng.uniform(*_BACKOFF_S))
        except asyncio.CancelledError:
            await self._leave()
            raise
        finally:
            self.phase = Phase.OUT
            self._link.close()

    async def _is_over(self) -> bool:
        """Go through rounds until something goes wrong, and return whether that is final."""
        try:
            await self._link.find(self.rng.randrange(3))
            while True:
                self._is_in = self._is_in or await self._round()
                self._is_in = self._is_in and await self._work()
        except FencedInstanceIdError:
            self.world.struck["older one fenced"] += 1
            return True
        except UnknownMemberIdError:
            self.member_id, self._is_in = "", False
            return self.seat.gives_up
        except KafkaGroupsError as error:
            self.world.note(self.seat.name, "met", type(error).__name__)
            return self.seat.gives_up and not self.member_id

    async def _round(self) -> bool:
        """Join and get an assignment; returns whether there is one."""
        response = await self._join()
        if not await self._sync(() if response.skip_assignment else response.members):
            return False
        await self._fetch_committed()
        return True

    # ------------------------------------------------------------------------------------------------ rounds

    async def _join(self) -> JoinGroupResponse:
        self.phase = Phase.JOINING
        response = await self._link.ask(self._join_request(), self.version, LONGEST_ROUND_S)
        if response.error_code is ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = response.member_id
            response = await self._link.ask(self._join_request(), self.version, LONGEST_ROUND_S)
        check(response.error_code)
        self.member_id, self.generation = response.member_id, response.generation_id
        assert isinstance(response, JoinGroupResponse)
        return response

    def _join_request(self) -> JoinGroupRequest:
        return JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=SESSION_S * 1000,
            rebalance_timeout_ms=REBALANCE_S * 1000,
            member_id=self.member_id,
            group_instance_id=self.seat.instance,
            protocol_type="consumer",
            protocols=(_PROTOCOL,),
        )

    async def _sync(self, members: Iterable[JoinGroupResponseMember]) -> bool:
        self.phase = Phase.SYNCING
        request = SyncGroupRequest(
            group_id=GROUP,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.seat.instance,
            protocol_type="consumer",
            protocol_name="range",
            assignments=_shared_out(members),
        )
        response = await self._link.ask(request, 5 if self.version > 6 else 3, LONGEST_ROUND_S)
        if response.error_code in _REJOIN:
            return False
        check(response.error_code)
        self.partitions = tuple(response.assignment)
        return True

    # -------------------------------------------------------------------------------------------------- work

    async def _work(self) -> bool:
        """Send heartbeats and commit now and then, until the member has to join again."""
        self.phase = Phase.IN
        while True:
            await asyncio.sleep(self.rng.uniform(*_HEARTBEAT_S))
            if self.world.strikes("session_expired", 0.006):
                await asyncio.sleep(SESSION_S * self.rng.uniform(1.1, 1.6))  # the whole process stands still
            if self.rng.random() < 0.3 and not await self._commit():
                return False
            error = await self._heartbeat()
            if error in _REJOIN:
                break
            check(error)
        if error is ErrorCode.REBALANCE_IN_PROGRESS:
            await self._commit()
            await self._dawdle()
        return False

    async def _dawdle(self) -> None:
        """Now and then, work on for longer than a round takes, while a background thread sends heartbeats."""
        if not self.world.strikes("slow_rejoin", 0.12):
            return
        for _ in range(round(REBALANCE_S * 1.3 / 2)):
            await asyncio.sleep(2)
            error = await self._heartbeat()
            if error is not ErrorCode.REBALANCE_IN_PROGRESS:
                return

    async def _heartbeat(self) -> ErrorCode:
        request = HeartbeatRequest(
            group_id=GROUP,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.seat.instance,
        )
        error: ErrorCode = (await self._link.ask(request, 4)).error_code
        if error is ErrorCode.FENCED_INSTANCE_ID:
            check(error)
        return error

    # ----------------------------------------------------------------------------------------------- offsets

    async def _fetch_committed(self) -> None:
        if not self.partitions:
            return
        topic = OffsetFetchRequestTopic(name=TOPIC, partition_indexes=self.partitions)
        request = OffsetFetchRequest(groups=(OffsetFetchRequestGroup(group_id=GROUP, topics=(topic,)),))
        [group] = (await self._link.ask(request, 9)).groups
        check(group.error_code)
        found = {each.partition_index: each.committed_offset for each in group.topics[0].partitions}
        self._positions = {partition: max(offset, 0) for partition, offset in found.items()}

    async def _commit(self) -> bool:
        """Commit after some progress, and return whether the member is still in its generation."""
        if not self._positions:
            return True
        self._commits += 1
        for partition in self._positions:
            self._positions[partition] += self.rng.randrange(1, 10)
        mark = f"{self.member_id} {self._commits}"
        request = OffsetCommitRequest(
            group_id=GROUP,
            generation_id_or_member_epoch=self.generation,
            member_id=self.member_id,
            group_instance_id=self.seat.instance,
            topics=(committed_topic(TOPIC, None, self._positions, mark),),
        )
        response = await self._link.ask(request, 9)
        error = response.topics[0].partitions[0].error_code
        if error in _REJOIN:
            return False
        check(error)
        return True

    async def _leave(self) -> None:
        """Leave the group, if the member is dynamic. Static ones are expected back."""
        if self.seat.instance is None and self.member_id:
            try:
                members = (LeaveGroupRequestMember(member_id=self.member_id),)
                await self._link.ask(LeaveGroupRequest(group_id=GROUP, members=members), 5)
            except KafkaGroupsError as error:
                self.world.note(self.seat.name, "could not leave", type(error).__name__)


def instance_of(member: JoinGroupResponseMember) -> str | None:
    """The instance of a member. Up to version 4 of JoinGroup, only its member id tells."""
    prefix = member.member_id[:-_SUFFIX]
    return member.group_instance_id or (prefix if prefix in INSTANCES else None)


def owner_of(member_id: str, instance: str | None) -> str:
    """What owns partitions: an instance, whichever id it has now, or a dynamic member."""
    return instance or member_id


def _shared_out(members: Iterable[JoinGroupResponseMember]) -> tuple[SyncGroupRequestAssignment, ...]:
    ordered = sorted(members, key=lambda each: owner_of(each.member_id, each.group_instance_id))
    return tuple(
        SyncGroupRequestAssignment(member_id=each.member_id, assignment=bytes(range(number, PARTITIONS, len(ordered))))
        for number, each in enumerate(ordered)
    )
