"""Each task that a program holds ends by exactly one event, whatever happens between two polls.

The model is naive: what the program holds is the sum of the events that it took.
"""

from collections.abc import Iterable

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kafka_groups.streams.member.rules.member_events import (
    StatusesChanged,
    StreamsMembershipEvent,
    TasksAssigned,
    TasksLost,
    TasksRevoked,
)
from kafka_groups.streams.member.rules.member_tasks import NO_TASKS, MemberTasks
from kafka_groups.streams.member.rules.owned_tasks import TaskOwnership
from kafka_groups.types import TaskId

TASKS = [TaskId("0", partition) for partition in range(4)]
ROLES = st.sampled_from(["active", "standby", "warmup", "none"])
TARGETS = st.lists(ROLES, min_size=len(TASKS), max_size=len(TASKS)).map(
    lambda roles: MemberTasks(
        **{
            name: [task for task, role in zip(TASKS, roles, strict=True) if role == name]
            for name in ("active", "standby", "warmup")
        }
    )
)


class ProgramAndOwnership(RuleBasedStateMachine):
    """A coordinator assigns and fences; a program takes events and confirms them in any order, some twice."""

    def __init__(self) -> None:
        super().__init__()
        self.ownership = TaskOwnership()
        self.held = NO_TASKS
        self.closing: list[TasksRevoked | TasksLost] = []
        self.confirmed: list[TasksRevoked | TasksLost] = []
        self.is_in = True

    # ------------------------------------------------------------------------------------ coordinator

    @precondition(lambda self: self.is_in)
    @rule(target_=TARGETS, rejoined=st.booleans())
    def assign(self, target_: MemberTasks, rejoined: bool) -> None:
        self.ownership.target = target_
        self.ownership.advance(7, lost=rejoined)

    @precondition(lambda self: self.is_in)
    @rule()
    def fence(self) -> None:
        self.ownership.lose()
        self.is_in = False
        queued = [event for event in self.ownership.inbox._waiting if not isinstance(event, StatusesChanged)]
        lost = NO_TASKS
        for event in queued:
            assert isinstance(event, TasksLost), queued
            lost |= event.tasks
        assert lost == self.held
        assert self.ownership.owned == NO_TASKS

    @precondition(lambda self: not self.is_in and not self.ownership.awaits_confirmation)
    @rule()
    def rejoin(self) -> None:
        self.is_in = True
        assert self.held == NO_TASKS
        assert not self.closing

    @rule()
    def change_status(self) -> None:
        self.ownership.tell(StatusesChanged(()))

    @rule()
    def hear_of_tasks(self) -> None:
        self.ownership.told(self.ownership.owned)
        assert self.ownership.is_told

    # ---------------------------------------------------------------------------------------- program

    @rule()
    def take(self) -> None:
        self.hear(self.ownership.inbox.take())

    @precondition(lambda self: self.ownership.inbox)
    @rule()
    def take_only_one(self) -> None:
        """Another thread may be between two steps of `take`."""
        self.hear([self.ownership.inbox._waiting.popleft()])

    def hear(self, events: Iterable[StreamsMembershipEvent]) -> None:
        for event in events:
            match event:
                case TasksAssigned(tasks, epoch):
                    assert tasks
                    assert epoch == 7
                    assert not self.closing, "assigned before everything that was given up is closed"
                    assert not (tasks.ids & self.held.ids), "assigned twice"
                    self.held |= tasks
                case TasksRevoked(tasks) | TasksLost(tasks):
                    assert tasks
                    assert not tasks - self.held, "ended twice, or never begun"
                    self.held -= tasks
                    self.closing.append(event)

    @precondition(lambda self: self.closing)
    @rule(data=st.data())
    def confirm(self, data: st.DataObject) -> None:
        event = data.draw(st.sampled_from(self.closing))
        self.closing.remove(event)
        self.confirmed.append(event)
        assert self.ownership.confirm(event)
        if self.is_in:
            self.ownership.advance(7)

    @precondition(lambda self: self.confirmed)
    @rule(data=st.data())
    def confirm_again(self, data: st.DataObject) -> None:
        assert not self.ownership.confirm(data.draw(st.sampled_from(self.confirmed)))

    # ------------------------------------------------------------------------------------- invariants

    @invariant()
    def the_member_says_that_it_owns_what_is_not_closed(self) -> None:
        if self.is_in and not self.ownership.inbox:
            closing = (event.tasks for event in self.closing if isinstance(event, TasksRevoked))
            owned = self.ownership.owned
            assert not self.held - owned
            assert all(not tasks - owned for tasks in closing)

    @invariant()
    def nothing_is_left_to_do_without_the_program(self) -> None:
        if self.is_in and not self.ownership.awaits_confirmation:
            assert self.ownership.owned == self.ownership.target


ProgramAndOwnership.TestCase.settings = settings(
    max_examples=3 * settings().max_examples,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestEveryOrderOfEvents = ProgramAndOwnership.TestCase
