"""A simulated process of a streams application: the member that applications use, and a program around it."""

import asyncio
import random
from typing import Any

from attrs import define, field, frozen

from kafka_groups.client.background import BackgroundErrors
from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.client.coordinators import CoordinatorManager
from kafka_groups.client.metadata import Metadata
from kafka_groups.client.requests import ClientResponse, OutgoingRequest
from kafka_groups.errors import FencedInstanceIdError, KafkaGroupsError, UnreleasedInstanceIdError
from kafka_groups.streams.member.coordinated.heartbeat import MemberHeartbeats
from kafka_groups.streams.member.coordinated.membership import StreamsMembership
from kafka_groups.streams.member.coordinated.pace import HeartbeatPace
from kafka_groups.streams.member.coordinated.task_offsets import TaskOffsetReporter
from kafka_groups.streams.member.rules.member_description import MemberDescription
from kafka_groups.streams.member.rules.member_events import TasksAssigned, TasksLost, TasksRevoked
from kafka_groups.streams.member.rules.member_tasks import MemberTasks
from kafka_groups.streams.member.rules.states import MembershipState
from kafka_groups.testing.simulation import SimulatedWorld
from kafka_groups.types import member_id_of, random_uuid
from tests.simulation.groups.coordination import link_to
from tests.simulation.groups.coordinator_link import CoordinatorLink
from tests.simulation.groups.timing import REBALANCE_S, SESSION_S
from tests.simulation.streams.commits import Commits
from tests.simulation.streams.topics import GROUP, TOPOLOGY, Tasks
from tests.support.members.old_session import old_session

__all__ = ["Member", "Seat"]

_TURN_S = (0.1, 0.5)
_LOOK_S = (0.1, 1.0)
_CLOSE_S = (0.0, 0.4)
_EXPECTED = (FencedInstanceIdError, UnreleasedInstanceIdError)
"""What may end a static member: another process has its instance id."""


@frozen
class Seat:
    """A process in the deployment, whoever runs it now.

    Attributes:
        name: Its name.
        instance: Its instance id. None: its members are dynamic.
        process: The id of the process, which it may share with other members, and which survives restarts.
    """

    name: str
    instance: str | None
    process: str


@define(eq=False, repr=False)
class Member:
    """One life of a member.

    Attributes:
        seat: What it is.
        world: Where it lives.
        rng: Its own randomness.
        version: The version of its heartbeats.
        may_meet: Errors that may end it, besides those of another process with its instance id.
        membership: The member.
        commits: What it commits.
    """

    seat: Seat
    world: SimulatedWorld
    rng: random.Random
    version: int
    may_meet: tuple[type[Exception], ...] = ()
    membership: StreamsMembership = field(init=False)
    commits: Commits = field(init=False)
    _errors: BackgroundErrors = field(factory=BackgroundErrors)
    _finder: CoordinatorManager = field(init=False)
    _link: CoordinatorLink = field(init=False)
    _to_close: list[tuple[TasksRevoked | TasksLost, int]] = field(factory=list)
    _standstill_s: float = 0
    _absent_until_ms: int = 0

    def __attrs_post_init__(self) -> None:
        self._link = link_to(self.world, GROUP, f"client {self.seat.name}")
        backoff = BackoffTimer(100, 1_000, self.rng)
        self._finder = CoordinatorManager(GROUP, Metadata(), self._errors, backoff=backoff, timeout_ms=6_000)
        self.membership = StreamsMembership(
            MemberHeartbeats(
                MemberDescription(
                    group_id=GROUP,
                    process_id=self.seat.process,
                    topology=TOPOLOGY,
                    rebalance_timeout_ms=REBALANCE_S * 1000,
                    instance_id=self.seat.instance,
                ),
                member_id_of(random_uuid(self.rng)),
            ),
            coordinator=self._finder,
            errors=self._errors,
            pace=HeartbeatPace(
                BackoffTimer(100, 1_000, self.rng), old_session(self.rng, SESSION_S * 2000, 5_000), self.rng
            ),
            offsets=TaskOffsetReporter(dict),
            timeout_ms=6_000,
        )
        self.commits = Commits(self.world, self.rng, self.membership)

    def __repr__(self) -> str:
        return f"<{self.seat.name} {self.membership.state.value} epoch {self.epoch} with {self.membership.owned}>"

    @property
    def epoch(self) -> int:
        """Its epoch."""
        return self.membership.epoch

    @property
    def owned(self) -> MemberTasks:
        """Its tasks."""
        return self.membership.owned

    @property
    def active(self) -> Tasks:
        """Its active tasks."""
        return self.membership.owned.active

    @property
    def standby(self) -> Tasks:
        """Its standby tasks."""
        return self.membership.owned.standby

    @property
    def is_in(self) -> bool:
        """Whether it is a member, and owns what it was told to."""
        return self.membership.state is MembershipState.STABLE and not self._to_close

    @property
    def _now_ms(self) -> int:
        return self.world.clock.now_ms()

    def stand_still(self, seconds: float) -> None:
        """Do nothing for so long, as a process does that the operating system has stopped."""
        self._standstill_s = seconds

    async def live(self) -> None:
        """Process until another member of the same instance takes over, or the process ends."""
        self.membership.join(self._now_ms)
        try:
            while self._errors.fatal is None:
                await self._turn()
                await asyncio.sleep(self.rng.uniform(*_TURN_S))
            self._ended(self._errors.fatal)
            await self.commits.send_late(self._link)
        except asyncio.CancelledError:
            await self._leave()
            raise
        finally:
            self._link.close()

    def _ended(self, error: Exception) -> None:
        self.world.struck["older one fenced"] += isinstance(error, FencedInstanceIdError)
        self.world.note(self.seat.name, "ended", type(error).__name__)
        if not isinstance(error, (*_EXPECTED, *self.may_meet)):
            self.world.violations.append(f"{self.seat.name} ended with {error!r}")

    async def _turn(self) -> None:
        if self._now_ms >= self._absent_until_ms:
            self.membership.application_called(self._now_ms)
        if self._finder.node_id is None:
            await self._find()
        for request in self.membership.poll(self._now_ms).requests:
            await self._deliver(request)
        self._hear()
        await self._close_tasks()
        await self._misbehave()
        if self.rng.random() < 0.03:
            await self._commit(self.active)

    async def _find(self) -> None:
        try:
            await self._link.find(self.rng.randrange(3))
            self._finder.node_id = 1
        except KafkaGroupsError as error:
            self._note(error)
            await asyncio.sleep(self.rng.uniform(*_LOOK_S))

    async def _deliver(self, request: OutgoingRequest) -> None:
        joins = request.context.joins
        try:
            response: Any = await self._link.ask(request.build(self.version), self.version)
        except KafkaGroupsError as error:
            self._note(error)
            self.membership.on_failure(request, error, self._now_ms)
        else:
            self.world.struck["unreleased instance"] += joins and response.error_code.name == "UNRELEASED_INSTANCE_ID"
            self.membership.on_response(request, ClientResponse(response, self.version, 1), self._now_ms)

    def _note(self, error: KafkaGroupsError) -> None:
        self.world.note(self.seat.name, "met", type(error).__name__)

    # ------------------------------------------------------------------------------------------- tasks

    def _hear(self) -> None:
        for event in self.membership.take_events():
            match event:
                case TasksRevoked() | TasksLost():
                    self._to_close.append((event, self._now_ms + round(1000 * self._time_to_close(event))))
                case TasksAssigned():
                    self.commits.remember()

    def _time_to_close(self, event: TasksRevoked | TasksLost) -> float:
        """Now and then, it takes too long to close tasks."""
        if isinstance(event, TasksRevoked) and self.world.strikes("slow_revocation", 0.1):
            return REBALANCE_S * 1.3
        return self.rng.uniform(*_CLOSE_S)

    async def _close_tasks(self) -> None:
        due = [event for event, at_ms in self._to_close if at_ms <= self._now_ms]
        for event in due:
            if isinstance(event, TasksRevoked):
                await self._commit(event.tasks.active)
            self.commits.remember()
            self.membership.confirm(event, self._now_ms)
        self._to_close = [each for each in self._to_close if each[0] not in due]

    # ------------------------------------------------------------------------------------- misbehaviour

    async def _misbehave(self) -> None:
        if self.world.strikes("session_expired", 0.0008):
            self.stand_still(SESSION_S * self.rng.uniform(1.1, 1.6))
        seconds, self._standstill_s = self._standstill_s, 0
        if seconds:
            await asyncio.sleep(seconds)
        if self.world.strikes("stayed_away", 0.0008):
            self._absent_until_ms = self._now_ms + round(REBALANCE_S * 1000 * self.rng.uniform(1.1, 1.4))
        if self.world.strikes("late_commit", 0.006):
            await self.commits.send_late(self._link)
        if self.world.strikes("late_heartbeat", 0.004):
            await self._beat_late()

    async def _beat_late(self) -> None:
        """Send a heartbeat of a former epoch, as a request does that was on its way for long."""
        epoch = self.commits.former_epoch()
        if epoch is not None:
            try:
                await self._link.ask(self.membership.heartbeats.brief(epoch), self.version)
            except KafkaGroupsError as error:
                self._note(error)
                self._finder.mark_unknown()

    async def _leave(self) -> None:
        """Leave the group after a last commit: static members for a while."""
        try:
            await self._commit(self.active)
            self.membership.leave()
            for request in self.membership.poll(self._now_ms).requests:
                await self._link.ask(request.build(self.version), self.version)
        except KafkaGroupsError as error:
            self.world.note(self.seat.name, "could not leave", type(error).__name__)

    async def _commit(self, tasks: Tasks) -> None:
        if await self.commits.send(self._link, tasks):
            self._finder.mark_unknown()
