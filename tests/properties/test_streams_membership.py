"""Members of a streams group and the embedded coordinator, while requests and responses are lost and coordinators move.

Programs take their time to close tasks, stay away, leave and are started again.
"""

import random
from collections import Counter
from collections.abc import Mapping

import pytest
from attrs import evolve

from kafka_groups.admin.rules.group_topology.group_topology import ChangelogTopic, RepartitionTopic
from kafka_groups.admin.rules.group_topology.topology_builder import GroupTopologyBuilder
from kafka_groups.broker.coordinators.groups.streams.records import StreamsAssignment
from kafka_groups.client.background import BackgroundErrors
from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.client.coordinators import CoordinatorManager
from kafka_groups.client.metadata import Metadata
from kafka_groups.client.requests import ClientResponse, OutgoingRequest
from kafka_groups.errors import BrokerError, DisconnectedError
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)
from kafka_groups.streams.member.coordinated.heartbeat import MemberHeartbeats
from kafka_groups.streams.member.coordinated.membership import StreamsMembership
from kafka_groups.streams.member.coordinated.pace import HeartbeatPace
from kafka_groups.streams.member.coordinated.task_offsets import TaskOffsetReporter
from kafka_groups.streams.member.rules.member_description import MemberDescription
from kafka_groups.streams.member.rules.member_events import TasksAssigned, TasksLost, TasksRevoked
from kafka_groups.streams.member.rules.member_tasks import NO_TASKS
from kafka_groups.streams.member.rules.states import MembershipState
from kafka_groups.types import TaskId
from tests.support.broker.streams_groups import AT_ONCE, GROUP, REBALANCE_MS, Streams
from tests.support.members.old_session import old_session

TOPOLOGY = (
    GroupTopologyBuilder()
    .add_subtopology("0", sources=["in"], sinks=["r"])
    .add_subtopology("1", repartition_sources=[RepartitionTopic("r")], changelogs=[ChangelogTopic("store")])
    .build()
)
PARTITIONS, STEPS, MOST_MEMBERS = 5, 300, 5
SESSION_MS = 8_000
TASKS = sorted(TaskId(each, partition) for each in "01" for partition in range(PARTITIONS))
SEEDS = [*range(2), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 40))]


class Program:
    """A process with one member. It closes tasks when it likes."""

    def __init__(self, member_id: str, rng: random.Random, now_ms: int) -> None:
        self.errors = BackgroundErrors()
        finder = CoordinatorManager(
            GROUP, Metadata(), self.errors, backoff=BackoffTimer(100, 1_000, rng), timeout_ms=30_000
        )
        self.finder = finder
        self.to_close: list[TasksRevoked | TasksLost] = []
        self.held = NO_TASKS
        self.terms: dict[TaskId, int] = {}
        self.in_doubt = False
        self.paused_until_ms = 0
        self.membership = StreamsMembership(
            MemberHeartbeats(
                MemberDescription(
                    group_id=GROUP,
                    process_id=member_id,
                    topology=TOPOLOGY,
                    rebalance_timeout_ms=REBALANCE_MS,
                ),
                member_id,
            ),
            coordinator=finder,
            errors=self.errors,
            pace=HeartbeatPace(BackoffTimer(100, 1_000, rng), old_session(rng), rng),
            offsets=TaskOffsetReporter(dict),
            timeout_ms=30_000,
        )
        self.membership.join(now_ms)

    def due(self, now_ms: int) -> OutgoingRequest | None:
        self.finder.node_id = 1
        requests = self.membership.poll(now_ms).requests
        return requests[0] if requests else None

    def hear(self, terms: Mapping[TaskId, int]) -> None:
        """Take the events; `terms` has for each task how often it has changed hands."""
        assert self.errors.fatal is None
        for event in self.membership.take_events():
            if isinstance(event, TasksAssigned):
                assert not event.tasks.ids & self.held.ids
                self.held |= event.tasks
                self.terms |= {task: terms[task] for task in event.tasks.active}
            elif isinstance(event, TasksRevoked | TasksLost):
                assert not event.tasks - self.held
                self.held -= event.tasks
                self.to_close.append(event)

    @property
    def processed(self) -> frozenset[TaskId]:
        """What the program processes and may commit: also what it was asked to close, but not what it has lost."""
        revoked = (event.tasks.active for event in self.to_close if isinstance(event, TasksRevoked))
        return self.held.active.union(*revoked)

    def close_tasks(self, terms: Mapping[TaskId, int], now_ms: int) -> None:
        while self.to_close:
            self.membership.confirm(self.to_close.pop(0), now_ms)
            self.hear(terms)


class World:
    """Programs, their coordinator, and what happens to them."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        standbys = self.rng.randrange(2)
        self.streams = Streams(
            evolve(
                AT_ONCE,
                num_standby_replicas=standbys,
                heartbeat_interval_ms=1_000,
                session_timeout_ms=SESSION_MS,
            )
        )
        for name in ("in", "r", "store"):
            self.streams.topics.create(name, PARTITIONS)
        self.programs: dict[str, Program] = {}
        self.seen: Counter[str] = Counter()
        self.terms: Counter[TaskId] = Counter()
        self._owners: dict[TaskId, str] = {}
        self._started = 0

    def step(self) -> None:
        chosen = self.rng.choices(
            (self.start, self.talk, self.close_tasks, self.leave, self.kill, self.move, self.stay_away),
            weights=(4, 70, 10, 2, 1, 2, 1),
        )
        chosen[0]()
        self.check()

    def start(self) -> None:
        if len(self.programs) < MOST_MEMBERS:
            self._started += 1
            name = f"m{self._started}"
            self.programs[name] = Program(name, self.rng, self.streams.now_ms)

    def talk(self) -> None:
        self.streams.after(self.rng.choice((50, 300, 1_000)))
        for program in self.programs.values():
            if not self._is_paused(program):
                program.membership.application_called(self.streams.now_ms)
                self.deliver(program, fault=self.rng.choices(("", "request", "response"), weights=(90, 4, 6))[0])

    def deliver(self, program: Program, fault: str = "") -> None:
        """Send the heartbeat that is due, if one is."""
        request, now_ms = program.due(self.streams.now_ms), self.streams.now_ms
        if request is None:
            return
        answer = None if fault == "request" else self.answer(request)
        if answer is None or fault:
            self.seen["lost " + fault] += 1
            program.in_doubt = True
            program.membership.on_failure(request, DisconnectedError("lost"), now_ms)
        else:
            program.membership.on_response(request, ClientResponse(answer, 1, 1), now_ms)
            is_certain = request.context.joins or answer.active_tasks is not None
            program.in_doubt = program.in_doubt and not is_certain
            self.seen[answer.error_code.name] += 1
        program.hear(self.terms)

    def answer(self, request: OutgoingRequest) -> StreamsGroupHeartbeatResponse:
        message = request.build(1)
        assert isinstance(message, StreamsGroupHeartbeatRequest)
        try:
            return self.streams.handle(message)
        except BrokerError as error:
            return StreamsGroupHeartbeatResponse(error_code=ErrorCode(error.code), error_message=str(error))
        finally:
            self._note_owners()

    def _note_owners(self) -> None:
        """Count how often each task changes hands."""
        for name, member in self._known.items():
            for task in member.active:
                self.terms[task] += self._owners.get(task, name) != name
                self._owners[task] = name

    @property
    def _known(self) -> Mapping[str, StreamsAssignment]:
        return self.streams.group.current if self.streams.groups.groups else {}

    def some(self) -> Program | None:
        return self.rng.choice(list(self.programs.values())) if self.programs else None

    def close_tasks(self) -> None:
        if (program := self.some()) is not None:
            program.close_tasks(self.terms, self.streams.now_ms)

    def leave(self) -> None:
        if self.programs:
            program = self.programs.pop(self.rng.choice(list(self.programs)))
            program.close_tasks(self.terms, self.streams.now_ms)
            program.membership.leave()
            self.deliver(program)

    def kill(self) -> None:
        if self.programs:
            self.programs.pop(self.rng.choice(list(self.programs)))

    def move(self) -> None:
        self.streams.move()

    def stay_away(self) -> None:
        """Time passes, and nobody calls."""
        self.streams.after(REBALANCE_MS + 1)
        for program in self.programs.values():
            self.deliver(program)
            self.seen[program.membership.state.name] += 1

    def _is_paused(self, program: Program) -> bool:
        """A process stands still until its session has ended, often just before its member joins again."""
        now_ms = self.streams.now_ms
        if now_ms < program.paused_until_ms:
            return True
        joins_again = program.membership.state is MembershipState.JOINING and bool(program.held)
        if self.rng.random() > (0.3 if joins_again else 0.002):
            return False
        self.seen["paused before joining again"] += joins_again
        program.paused_until_ms = now_ms + 2 * SESSION_MS
        return True

    def check(self) -> None:
        """No task has two owners that the coordinator knows and that know what it told them.

        No program keeps a task that another member had in between: the store would be outdated.
        """
        known = self._known
        owners: Counter[TaskId] = Counter()
        for name, program in self.programs.items():
            member = program.membership
            if name in known and known[name].member_epoch == member.epoch and not program.in_doubt:
                owners.update(program.processed)
                kept = program.held.active & known[name].active.keys()
                outdated = {task for task in kept if program.terms[task] != self.terms[task]}
                assert not outdated, f"{name} kept {outdated}, which another member had in between"
        assert all(count == 1 for count in owners.values()), owners

    def lose_the_last_change(self) -> None:
        """Let the last change of the group be one of which many responses are lost."""
        self.settle()
        self.programs.pop(min(self.programs, default=""), None)
        self.start()
        for _ in range(200):
            self.streams.after(300)
            for program in self.programs.values():
                program.paused_until_ms = 0
                program.close_tasks(self.terms, self.streams.now_ms)
                program.membership.application_called(self.streams.now_ms)
                self.deliver(program, fault=self.rng.choice(("", "response")))

    def settle(self) -> None:
        """Nothing goes wrong any more, and the members of killed programs are forgotten."""
        for _ in range(200):
            self.streams.after(300)
            for program in self.programs.values():
                program.paused_until_ms = 0
                program.close_tasks(self.terms, self.streams.now_ms)
                program.membership.application_called(self.streams.now_ms)
                self.deliver(program)
            self.check()


@pytest.mark.parametrize("seed", SEEDS)
def test_in_the_end_each_task_has_one_owner_whatever_was_lost(seed: int) -> None:
    world = World(seed)
    for _ in range(STEPS):
        world.step()
    world.lose_the_last_change()
    world.settle()
    members = [program.membership for program in world.programs.values()]
    assert {member.state for member in members} == {MembershipState.STABLE}
    assert sorted(task for member in members for task in member.owned.active) == TASKS
    loads = [len(member.owned.active) for member in members]
    assert max(loads) - min(loads) <= 1


def test_the_runs_contain_what_can_go_wrong() -> None:
    seen: Counter[str] = Counter()
    for seed in range(4):
        world = World(seed)
        for _ in range(STEPS):
            world.step()
        seen += world.seen
    assert seen >= Counter(
        ["lost request", "lost response", "UNKNOWN_MEMBER_ID", "STALE", "paused before joining again"]
    )
