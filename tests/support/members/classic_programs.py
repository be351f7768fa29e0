"""Programs with members of a classic group, and a world in which answers are lost, late and repeated."""

import random
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final
from uuid import UUID

from attrs import define, frozen

from kafka_groups.admin.rules.group_topology.group_topology import GroupTopology, RepartitionTopic, Subtopology
from kafka_groups.client.background import BackgroundErrors
from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.client.coordinators import CoordinatorManager
from kafka_groups.client.metadata import Metadata
from kafka_groups.client.requests import ClientResponse, Lane, OutgoingRequest
from kafka_groups.errors import DisconnectedError, KafkaGroupsError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.join_group import JoinGroupResponseMember
from kafka_groups.protocol.streams_user_data.assignment_info import AssignmentInfo
from kafka_groups.streams.member.classic.classic_settings import ClassicSettings, ClassicSurroundings
from kafka_groups.streams.member.classic.leading import LedGeneration
from kafka_groups.streams.member.classic.member_subscription import partitions_by_name
from kafka_groups.streams.member.classic.membership import ClassicMembership
from kafka_groups.streams.member.rules.member_description import MemberDescription
from kafka_groups.streams.member.rules.member_events import TasksAssigned, TasksLost, TasksRevoked
from kafka_groups.streams.member.rules.member_tasks import NO_TASKS
from kafka_groups.streams.member.rules.states import MembershipState
from kafka_groups.types import TaskId, TopicPartition
from tests.support.members.naive_classic_group import NaiveClassicGroup

__all__ = ["TASKS", "ClassicProgram", "ClassicWorld", "Faults"]

PARTITIONS: Final = 3
MOST_PROGRAMS: Final = 3
SETTINGS: Final = ClassicSettings(session_ms=10_000, heartbeat_ms=1_000)
REBALANCE_MS: Final = 20_000
TOPOLOGY: Final = GroupTopology(
    (
        Subtopology(subtopology_id="0", source_topics=("in", "in2"), repartition_sinks=("r",)),
        Subtopology(subtopology_id="1", repartition_sources=(RepartitionTopic("r"),)),
    )
)
TASKS: Final = tuple(sorted(TaskId(each, number) for each in "01" for number in range(PARTITIONS)))


@frozen
class Faults:
    """What goes wrong, by its weight in a hundred.

    Attributes:
        lost_request: Requests that the coordinator never gets.
        lost_answer: Answers that the member never gets.
        silent: Answers to JoinGroup that never come, on a connection that stays open.
        repeated: Answers that come twice.
        pause: Processes that stand still in a step.
        no_lead: Leaders that cannot assign tasks.
        late_ms: How late answers may be.
    """

    lost_request: float = 3
    lost_answer: float = 5
    silent: float = 8
    repeated: float = 5
    pause: float = 0.8
    no_lead: float = 10
    late_ms: int = 2_500


NO_FAULTS: Final = Faults(0, 0, 0, 0, 0, 0, 100)


@define(eq=False)
class _Sent:
    """A request on its way."""

    request: OutgoingRequest
    is_lost: bool
    answer: Any = None
    is_handed: bool = False
    is_silent: bool = False
    until_ms: int = 0


@define(eq=False)
class _Commit:
    """A commit that holds the member."""

    member_id: str
    generation: int
    life: int
    until_ms: int


class ClassicProgram:
    """A process with one member. It closes tasks and commits when it likes."""

    def __init__(self, name: str, instance_id: str | None, rng: random.Random, now_ms: Callable[[], int]) -> None:
        self.name = name
        self.instance_id = instance_id
        self.rng = rng
        self.now_ms = now_ms
        self.errors = BackgroundErrors()
        backoff = BackoffTimer(50, 500, rng)
        self.coordinator = CoordinatorManager("app", Metadata(), self.errors, backoff=backoff, timeout_ms=30_000)
        self.membership = ClassicMembership(
            MemberDescription(
                group_id="app",
                process_id=str(UUID(int=rng.getrandbits(120))),
                topology=TOPOLOGY,
                rebalance_timeout_ms=REBALANCE_MS,
                instance_id=instance_id,
            ),
            settings=SETTINGS,
            coordinator=self.coordinator,
            errors=self.errors,
            surroundings=ClassicSurroundings(
                dict, lambda: 10**12 + self.now_ms(), lambda: BackoffTimer(50, 500, rng), rng
            ),
        )
        self.lanes: Mapping[Lane, deque[_Sent]] = defaultdict(deque)
        self.held = NO_TASKS
        self.inputs: dict[TaskId, frozenset[TopicPartition]] = {}
        self.to_close: list[TasksRevoked | TasksLost] = []
        self.commit: _Commit | None = None
        self.leads: tuple[LedGeneration, int] | None = None
        self.paused_until_ms = 0
        self.membership.join(now_ms())

    def __repr__(self) -> str:
        return f"<{self.name} {self.membership!r} holds {self.held}>"

    def hear(self) -> None:
        """Take the events: each task ends with exactly one."""
        assert self.errors.fatal is None, self.errors.fatal
        for event in self.membership.take_events():
            if isinstance(event, TasksAssigned):
                assert not event.tasks.ids & self.held.ids, f"{self} has {event.tasks} already"
                self.held |= event.tasks
                assert event.inputs.keys() == event.tasks.active
                self.inputs |= event.inputs
            elif isinstance(event, TasksRevoked | TasksLost):
                assert not event.tasks - self.held, f"{self} does not have {event.tasks}"
                self.held -= event.tasks
                self.to_close.append(event)

    @property
    def processed(self) -> list[TopicPartition]:
        """The partitions that the program reads: also of what it was asked to close, but not of what it has lost."""
        revoked = [task for event in self.to_close if isinstance(event, TasksRevoked) for task in event.tasks.active]
        return [partition for task in (*self.held.active, *revoked) for partition in self.inputs[task]]

    def close_tasks(self) -> None:
        """Close what has to be closed."""
        while self.to_close:
            self.membership.confirm(self.to_close.pop(0), self.now_ms())
            self.hear()


class ClassicWorld:
    """Programs, their group, and what happens to them."""

    def __init__(self, seed: int, faults: Faults = Faults(), static: float = 0.3) -> None:
        self.rng = random.Random(seed)
        self.group = NaiveClassicGroup(rebalance_ms=REBALANCE_MS)
        self.faults = faults
        self.static = static
        self.programs: dict[str, ClassicProgram] = {}
        self.killed: list[str] = []
        self.seen: Counter[str] = Counter()
        self.grown = False
        self._started = 0

    # ---------------------------------------------------------------------------------- what happens

    def step(self) -> None:
        """Let something happen, and some time pass."""
        happens = self.rng.choices(
            (self.start, self.close_tasks, self.begin_commit, self.close, self.kill, self.grow, self.pause, self._idle),
            weights=(4, 25, 25, 1, 0.7, 0.5, self.faults.pause, 45),
        )
        happens[0]()
        self.pass_time(self.rng.choice((20, 100, 400)))

    def _idle(self) -> None:
        pass

    def pass_time(self, ms: int) -> None:
        """Let time pass, and requests and answers with it."""
        self.group.after(ms)
        for program in list(self.programs.values()):
            if self.group.now_ms >= program.paused_until_ms:
                self._turn(program)
        self.check()

    def _turn(self, program: ClassicProgram) -> None:
        program.coordinator.node_id = 1
        program.membership.application_called(self.group.now_ms)
        self._end_commit(program)
        self._lead(program)
        for lane in list(program.lanes.values()):
            self._move(program, lane)
        for request in program.membership.poll(self.group.now_ms).requests:
            lost = self.rng.uniform(0, 100) < self.faults.lost_request
            if request.on_new_connection:
                self._hang_up(program, program.lanes[request.lane])
            program.lanes[request.lane].append(_Sent(request, lost, until_ms=self._soon()))
        program.hear()

    def _hang_up(self, program: ClassicProgram, lane: deque[_Sent]) -> None:
        self.seen["another connection"] += 1
        while lane:
            self._fail(program, lane.popleft())

    def _soon(self) -> int:
        late = self.rng.random() < 0.2
        return self.group.now_ms + self.rng.randrange(self.faults.late_ms if late else 100)

    def _move(self, program: ClassicProgram, lane: deque[_Sent]) -> None:
        """Move the first request of a lane on. The others wait: brokers answer a connection in order."""
        sent = lane[0] if lane else None
        if sent is None or self.group.now_ms < sent.until_ms:
            return
        if sent.is_lost or sent.is_silent:
            lane.popleft()
            self._fail(program, sent)
        elif not sent.is_handed:
            sent.is_handed = True
            self.group.handle(sent.request.build(5), lambda answer: self._answered(sent, answer))
        elif sent.answer is not None and self._is_silent(sent):
            sent.is_silent, sent.until_ms = True, self.group.now_ms + sent.request.timeout_ms
        elif sent.answer is not None:
            lane.popleft()
            self._deliver(program, sent)

    def _is_silent(self, sent: _Sent) -> bool:
        return sent.request.api is ApiKey.JOIN_GROUP and self.rng.uniform(0, 100) < self.faults.silent

    def _answered(self, sent: _Sent, answer: Any) -> None:
        sent.answer, sent.until_ms = answer, self._soon()

    def _deliver(self, program: ClassicProgram, sent: _Sent) -> None:
        if self.rng.uniform(0, 100) < self.faults.lost_answer:
            self.seen["lost answer"] += 1
            self._fail(program, sent)
            return
        self.seen[f"{sent.request.api.name} {sent.answer.error_code.name}"] += 1
        times = 2 if self.rng.uniform(0, 100) < self.faults.repeated else 1
        for _ in range(times):
            program.membership.on_response(sent.request, ClientResponse(sent.answer, 9, 1), self.group.now_ms)
            program.hear()

    def _fail(self, program: ClassicProgram, sent: _Sent) -> None:
        program.membership.on_failure(sent.request, DisconnectedError("lost"), self.group.now_ms)
        program.coordinator.node_id = 1

    # ------------------------------------------------------------------------------------- programs

    def some(self) -> ClassicProgram | None:
        """A program that does not stand still."""
        now_ms = self.group.now_ms
        awake = [each for each in self.programs.values() if now_ms >= each.paused_until_ms]
        return self.rng.choice(awake) if awake else None

    def start(self) -> None:
        """Start a program; a static one that was killed, again."""
        if len(self.programs) >= MOST_PROGRAMS:
            return
        self._started += 1
        name = f"p{self._started}"
        instance = f"s{self._started}" if self.rng.random() < self.static else None
        if self.killed and self.rng.random() < 0.7:
            instance = self.killed.pop()
            self.seen["restarted"] += 1
        self.programs[name] = ClassicProgram(name, instance, self.rng, lambda: self.group.now_ms)

    def close_tasks(self) -> None:
        if (program := self.some()) is not None:
            program.close_tasks()

    def begin_commit(self) -> None:
        program = self.some()
        if program is None or program.commit is not None or program.membership.lost.active:
            return
        membership = program.membership
        if membership.hold():
            until_ms = self.group.now_ms + self.rng.choice((50, 1_000, 12_000))
            program.commit = _Commit(membership.member_id, membership.epoch, membership.life, until_ms)
        elif membership.epoch > 0:
            self.seen["gate closed"] += 1

    def _end_commit(self, program: ClassicProgram) -> None:
        """Offsets that no gate holds back are never refused, but from a member that is not in the group any more."""
        commit = program.commit
        if commit is None or self.group.now_ms < commit.until_ms:
            return
        program.commit = None
        if program.membership.life == commit.life:
            code = self.group.commit(program.membership.member_id, program.membership.epoch)
            self.seen[f"commit {code.name}"] += 1
            assert code in (ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID), f"{program}: a commit met {code.name}"
        program.membership.release()

    def close(self) -> None:
        """Let a program end in order."""
        program = self.some()
        if program is None or program.commit is not None:
            return
        program.close_tasks()
        program.membership.leave()
        for request in program.membership.poll(self.group.now_ms).requests:
            self.seen["leave"] += request.api is ApiKey.LEAVE_GROUP
            self.group.handle(request.build(5), lambda _answer: None)
        self._forget(program)

    def kill(self) -> None:
        if (program := self.some()) is not None:
            self.seen["kill"] += 1
            self._forget(program)

    def _forget(self, program: ClassicProgram) -> None:
        del self.programs[program.name]
        if program.instance_id is not None:
            self.killed.append(program.instance_id)

    def grow(self) -> None:
        """A second source of the first sub-topology gains its partitions, or loses them."""
        self.grown = not self.grown
        for program in self.programs.values():
            if program.membership.to_lead is not None:
                program.membership.request_round("topics have grown")

    def pause(self) -> None:
        """Let a process stand still, often for longer than its session."""
        if (program := self.some()) is not None:
            self.seen["pause"] += 1
            program.paused_until_ms = self.group.now_ms + self.rng.choice((3_000, 15_000, 40_000))

    # -------------------------------------------------------------------------------------- leading

    def _lead(self, program: ClassicProgram) -> None:
        """Compute assignments for a while, and hand them over, also if they are late."""
        generation = program.membership.to_lead
        if program.leads is not None and self.group.now_ms >= program.leads[1]:
            led, program.leads = program.leads[0], None
            if self.rng.uniform(0, 100) < self.faults.no_lead:
                self.seen["not led"] += 1
                why = KafkaGroupsError("the brokers do not answer")
                program.membership.could_not_lead(led, why, self.group.now_ms, is_final=False)
            else:
                program.membership.assign(led, assignments(led.members, self.inputs_of))
        is_due = generation is not None and program.membership.state is MembershipState.LEADING
        if generation is not None and is_due and program.leads is None:
            program.leads = generation, self.group.now_ms + self.rng.choice((0, 200, 12_000))

    def inputs_of(self, task: TaskId) -> tuple[TopicPartition, ...]:
        """The partitions that a task reads, as topics are now."""
        if task.subtopology_id == "1":
            return (TopicPartition("r", task.partition),)
        topics = ("in", "in2") if self.grown else ("in",)
        return tuple(TopicPartition(topic, task.partition) for topic in topics)

    # ------------------------------------------------------------------------------------- verdicts

    def check(self) -> None:
        """No partition has two owners that the group knows."""
        owners: Counter[TopicPartition] = Counter()
        for program in self.programs.values():
            if program.membership.member_id in self.group.members:
                owners.update(program.processed)
        assert all(count == 1 for count in owners.values()), (owners, list(self.programs.values()))

    def settle(self) -> None:
        """Nothing goes wrong any more, and the members of killed programs are forgotten."""
        self.faults = NO_FAULTS
        for _ in range(900):
            for program in self.programs.values():
                program.paused_until_ms = 0
                program.close_tasks()
            self.pass_time(100)

    def owned(self) -> Iterator[TaskId]:
        """The active tasks of all members."""
        for program in self.programs.values():
            yield from program.membership.owned.active


def assignments(
    members: tuple[JoinGroupResponseMember, ...], inputs_of: Callable[[TaskId], tuple[TopicPartition, ...]]
) -> dict[str, bytes]:
    """What a plain leader assigns: each member keeps its tasks up to its share, and nobody gets what another owns."""
    claims = {each.member_id: _claimed(each.metadata) for each in members}
    most = -(-len(TASKS) // len(members))
    wanted: dict[str, list[TaskId]] = {
        member: [task for task in TASKS if inputs_of(task)[0] in claimed][:most] for member, claimed in claims.items()
    }
    for task in TASKS:
        if not any(task in each for each in wanted.values()):
            wanted[min(wanted, key=lambda member: len(wanted[member]))].append(task)
    return {member: _encoded(member, tasks, claims, inputs_of) for member, tasks in wanted.items()}


def _claimed(metadata: bytes) -> frozenset[TopicPartition]:
    owned = ConsumerProtocolSubscription.decode(metadata).owned_partitions
    return frozenset(TopicPartition(topic, number) for topic, numbers in owned.items() for number in numbers)


def _encoded(
    member: str,
    tasks: list[TaskId],
    claims: Mapping[str, frozenset[TopicPartition]],
    inputs_of: Callable[[TaskId], tuple[TopicPartition, ...]],
) -> bytes:
    others = frozenset().union(*(each for other, each in claims.items() if other != member))
    free = [task for task in tasks if not others & set(inputs_of(task))]
    pairs = sorted((partition, task) for task in free for partition in inputs_of(task))
    info = AssignmentInfo(
        active_tasks=tuple(task for _, task in pairs), next_rebalance_ms=0 if len(free) < len(tasks) else None
    )
    return ConsumerProtocolAssignment(partitions_by_name(partition for partition, _ in pairs), info.encode()).encode()
