"""How tasks move from member to member, and change their role."""

import pytest

from kafka_groups.broker.coordinators.groups.streams.group import StreamsDraft, StreamsGroup
from kafka_groups.broker.coordinators.groups.streams.reconciliation import reconcile
from kafka_groups.broker.coordinators.groups.streams.records import StreamsAssignment, StreamsMember, StreamsTarget
from kafka_groups.broker.coordinators.groups.streams.states import STREAMS_MEMBER_TRANSITIONS, StreamsMemberState
from kafka_groups.broker.coordinators.groups.streams.tasks import OwnedTasks
from kafka_groups.errors import FencedMemberEpochError
from kafka_groups.protocol.coordinator_records.streams_group import (
    StreamsGroupCurrentMemberAssignment,
    StreamsGroupMemberMetadata,
)
from kafka_groups.types import TaskId

GROUP = "g"
T0, T1, T2 = TaskId("0", 0), TaskId("0", 1), TaskId("0", 2)
STABLE, UNREVOKED = StreamsMemberState.STABLE, StreamsMemberState.UNREVOKED_TASKS
UNRELEASED, UNKNOWN = StreamsMemberState.UNRELEASED_TASKS, StreamsMemberState.UNKNOWN


def tasks(*each: TaskId) -> frozenset[TaskId]:
    return frozenset(each)


class Tasks:
    """A group whose members are described by their tasks, at epoch 5."""

    def __init__(self) -> None:
        self.draft = StreamsDraft(StreamsGroup(GROUP))

    def member(
        self,
        member_id: str,
        *,
        active: tuple[TaskId, ...] = (),
        standby: tuple[TaskId, ...] = (),
        revoking: tuple[TaskId, ...] = (),
        process: str = "",
        state: StreamsMemberState = STABLE,
    ) -> None:
        said = StreamsMember(client_id="c", client_host="/h", process_id=process or member_id)
        has = StreamsAssignment(
            member_epoch=5,
            previous_member_epoch=4,
            state=state,
            active=dict.fromkeys(active, 5),
            standby=frozenset(standby),
            revoking_active=dict.fromkeys(revoking, 5),
        )
        self.draft.write(StreamsGroupMemberMetadata(GROUP, member_id, said))
        self.draft.write(StreamsGroupCurrentMemberAssignment(GROUP, member_id, has))

    def step(
        self,
        member_id: str,
        active: tuple[TaskId, ...] = (),
        standby: tuple[TaskId, ...] = (),
        owned: OwnedTasks | None = None,
    ) -> StreamsAssignment:
        """The next step to a target assignment of epoch 6."""
        before = self.draft.group.current_of(member_id).state
        target = StreamsTarget(frozenset(active), frozenset(standby))
        reached = reconcile(self.draft, member_id, owned, target, 6)
        assert reached.state in STREAMS_MEMBER_TRANSITIONS[before]
        return reached


def test_free_tasks_are_given_with_the_epoch() -> None:
    group = Tasks()
    group.member("a", active=(T0,))

    reached = group.step("a", active=(T0, T1), standby=(T2,))

    assert (reached.member_epoch, reached.previous_member_epoch, reached.state) == (6, 5, STABLE)
    assert reached.active == {T0: 5, T1: 6}
    assert reached.standby == tasks(T2)


def test_a_task_is_given_only_when_its_owner_has_confirmed_that_it_revoked_it() -> None:
    group = Tasks()
    group.member("a", active=(T0, T1))
    group.member("b")

    assert group.step("b", active=(T1,)).state is UNRELEASED
    must = group.step("a", active=(T0,))
    assert (must.member_epoch, must.state, must.active, must.revoking_active) == (5, UNREVOKED, {T0: 5}, {T1: 5})
    assert group.step("a", active=(T0,)) is must, "it does not say what it owns"
    assert group.step("a", active=(T0,), owned=OwnedTasks(tasks(T0, T1))) is must
    assert group.step("b", active=(T1,)).active == {}

    done = group.step("a", active=(T0,), owned=OwnedTasks(tasks(T0)))
    assert (done.member_epoch, done.state, done.revoking_active) == (6, STABLE, {})
    got = group.step("b", active=(T1,))
    assert (got.active, got.state) == ({T1: 6}, STABLE)


def test_the_epoch_grows_by_one_if_other_tasks_must_be_revoked_afterwards() -> None:
    group = Tasks()
    group.member("a", active=(T0, T1), revoking=(T2,), state=UNREVOKED)

    reached = group.step("a", active=(T0,), owned=OwnedTasks(tasks(T0, T1)))

    assert (reached.member_epoch, reached.previous_member_epoch, reached.state) == (6, 5, UNREVOKED)
    assert (reached.active, reached.revoking_active) == ({T0: 5}, {T1: 5})


def test_who_confirms_at_once_need_not_be_told_first() -> None:
    group = Tasks()
    group.member("a", active=(T0, T1))

    assert group.step("a", active=(T0,), owned=OwnedTasks(tasks(T0))).state is STABLE


def test_an_active_task_becomes_a_standby_at_once() -> None:
    group = Tasks()
    group.member("a", active=(T0,))

    must = group.step("a", standby=(T0,))
    assert (must.state, must.standby, must.revoking_active) == (UNREVOKED, tasks(T0), {T0: 5})
    done = group.step("a", standby=(T0,), owned=OwnedTasks(standby=tasks(T0)))
    assert (done.state, done.standby, done.active) == (STABLE, tasks(T0), {})


def test_a_standby_is_kept_until_its_active_is_granted() -> None:
    group = Tasks()
    group.member("a", active=(T0,))
    group.member("b", standby=(T0,))

    waits = group.step("b", active=(T0,))
    assert (waits.member_epoch, waits.state, waits.standby, waits.active) == (6, UNRELEASED, tasks(T0), {})
    group.step("a", owned=OwnedTasks())
    got = group.step("b", active=(T0,))
    assert (got.state, got.standby, got.active) == (STABLE, tasks(), {T0: 6})


def test_a_standby_that_becomes_active_is_kept_while_other_tasks_are_revoked() -> None:
    group = Tasks()
    group.member("a", active=(T1,), standby=(T0,))

    must = group.step("a", active=(T0,))
    assert (must.state, must.standby, must.active) == (UNREVOKED, tasks(T0), {})
    got = group.step("a", active=(T0,), owned=OwnedTasks(standby=tasks(T0)))
    assert (got.state, got.standby, got.active) == (STABLE, tasks(), {T0: 6})


def test_active_and_standby_of_a_task_are_never_in_one_process() -> None:
    group = Tasks()
    group.member("a", active=(T0,), process="p")
    group.member("b", process="p")
    group.member("c", process="q")

    assert group.step("b", standby=(T0,)).state is UNRELEASED
    assert group.step("c", standby=(T0,)).state is STABLE


def test_an_active_task_waits_for_the_standby_of_another_member_of_the_process() -> None:
    group = Tasks()
    group.member("a", standby=(T0,), process="p")
    group.member("b", process="p")

    assert group.step("b", active=(T0,)).state is UNRELEASED
    assert group.step("a").state is UNREVOKED
    assert group.step("b", active=(T0,)).state is UNRELEASED
    group.step("a", owned=OwnedTasks())
    assert group.step("b", active=(T0,)).active == {T0: 6}


def test_a_process_has_one_standby_of_a_task() -> None:
    group = Tasks()
    group.member("a", standby=(T0,), process="p")
    group.member("b", process="p")

    assert group.step("b", standby=(T0,)).state is UNRELEASED


def test_a_member_in_a_state_that_is_not_known_has_to_give_up_its_tasks() -> None:
    group = Tasks()
    group.member("a", state=UNKNOWN, active=(T1,))

    for owned in (None, OwnedTasks(tasks(T0))):
        with pytest.raises(FencedMemberEpochError, match="state of member a is unknown"):
            group.step("a", owned=owned)
    assert group.step("a", active=(T0,), owned=OwnedTasks()).active == {T0: 6}


def test_a_member_whose_state_was_not_known_waits_for_tasks_of_others() -> None:
    group = Tasks()
    group.member("a", state=UNKNOWN)
    group.member("b", active=(T0,))

    assert group.step("a", active=(T0,), owned=OwnedTasks()).state is UNRELEASED
