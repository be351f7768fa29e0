"""The leader of a classic group, and the task assignor that it runs, against an embedded cluster in virtual time."""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest

from kafka_groups.admin.rules.streams_leader.group_round import LeaderSettings
from kafka_groups.assignment import (
    ApplicationState,
    AssignedTask,
    HighAvailabilityTaskAssignor,
    KafkaStreamsAssignment,
    ProcessId,
    Registered,
    TaskAssignment,
    TaskAssignmentError,
    TaskAssignor,
)
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.protocol.streams_user_data.subscription_info import SubscriptionInfo
from kafka_groups.streams import AsyncStreamsGroupMember
from kafka_groups.streams.errors import StreamsError
from kafka_groups.streams.member.classic import member_subscription
from kafka_groups.streams.member.classic.versions import UserDataVersion
from kafka_groups.streams.member.classic_membership import classic_membership
from tests.unit.streams.member.classic_members import (
    ALL,
    SETTINGS,
    at_once,
    member,
    owned,
    poll,
    shared,
    simulate,
    until,
)
from tests.unit.streams.member.clusters import TOPIC, TOPOLOGY, World

Assign = Callable[[ApplicationState], TaskAssignment]


class Switched(TaskAssignor):
    """Assigns like the default, until a test sets something else."""

    def __init__(self) -> None:
        self.usual: Assign = HighAvailabilityTaskAssignor().assign
        self.now: Assign = self.usual
        self.asked_ms: list[int] = []

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        self.asked_ms.append(round(application_state.now.timestamp() * 1000))
        return self.now(application_state)

    @property
    def waited_s(self) -> list[int]:
        """The time from each question to the next."""
        return [
            round((later - earlier) / 1000) for earlier, later in zip(self.asked_ms, self.asked_ms[1:], strict=False)
        ]


def cannot_tell(_state: ApplicationState) -> TaskAssignment:
    raise TaskAssignmentError("the inventory is away")


def fails(_state: ApplicationState) -> TaskAssignment:
    raise ValueError("no such zone")


def led(world: World, assignor: TaskAssignor, **config: Any) -> AsyncStreamsGroupMember:
    settings = LeaderSettings(application_id="app", assignor=Registered(assignor, name="own"))
    made = classic_membership(SETTINGS, settings, 60_000, at_once)
    return member(world, **{"_membership_of": made, **config})


def has_tasks(each: AsyncStreamsGroupMember, count: int) -> bool:
    return len(each.tasks.active) == count


def was_asked(assignor: Switched, times: int) -> bool:
    return len(assignor.asked_ms) >= times


async def ended(*members: AsyncStreamsGroupMember) -> KafkaGroupsError:
    """Return the error that ends the first of some members."""
    with pytest.raises(KafkaGroupsError) as raised:
        await until(lambda: False, *members)
    return raised.value


# ------------------------------------------------------------------------------ it cannot tell the assignment


def test_members_run_their_tasks_while_the_assignor_cannot_tell() -> None:
    async def program(world: World) -> None:
        assignor = Switched()
        async with led(world, assignor) as first, led(world, assignor) as second:
            await first.join()
            await until(lambda: shared(first), first)
            assignor.now = cannot_tell
            await second.join()
            await until(lambda: len(assignor.asked_ms) >= 4, first, second)
            assert owned(first, second) == [ALL, set()]
            assignor.now = assignor.usual
            await until(lambda: shared(first, second), first, second)
            assert assignor.waited_s[1:5] == [1, 2, 4, 0]  # and one more, as the first member has given tasks up

    simulate(program)


@pytest.mark.slow
def test_an_assignor_that_has_not_told_for_ten_rounds_ends_all_members() -> None:
    async def program(world: World) -> None:
        assignor = Switched()
        async with led(world, assignor) as first, led(world, assignor) as second:
            await first.join()
            await until(lambda: shared(first), first)
            await second.join()
            await until(lambda: shared(first, second), first, second)
            before, rounds = owned(first, second), len(assignor.asked_ms)
            assignor.now = cannot_tell
            async with led(world, assignor) as third:
                await third.join()
                while len(assignor.asked_ms) < rounds + 10:
                    await poll(first, second, third)
                assert owned(first, second, third) == [*before, set()]
                errors = [str(await ended(each)) for each in (first, second, third)]
            wanted = [1, 2, 4, 8, 16, 30, 30, 30, 30, 30]  # and the time in which all join
            more = [waited - each for waited, each in zip(assignor.waited_s[rounds:], wanted, strict=True)]
            assert set(more) <= {0, 1}
            assert "could not tell the assignment in 11 rounds in a row: the inventory is away." in errors[0]
            assert all("could not assign the tasks. Its log has the cause." in each for each in errors[1:])

    simulate(program)


def test_the_count_begins_anew_when_the_assignor_tells() -> None:
    async def program(world: World) -> None:
        assignor = Switched()
        async with led(world, assignor, topology=TOPOLOGY, metadata_max_age_ms=10_000) as first:
            await first.join()
            for partitions in (3, 4):
                await until(partial(has_tasks, first, partitions - 1), first)
                asked = len(assignor.asked_ms)
                assignor.now = cannot_tell
                world.cluster.metadata.create_partitions(TOPIC, partitions)
                await until(partial(was_asked, assignor, asked + 3), first)
                assert assignor.waited_s[asked:] == [1, 2]
                assignor.now = assignor.usual

    simulate(program)


# ------------------------------------------------------------------------------------------- it fails otherwise


@pytest.mark.parametrize("instance_id", [None, "w"])
def test_a_leader_whose_assignor_fails_leaves_at_once_with_its_exception(instance_id: str | None) -> None:
    async def program(world: World) -> None:
        broken, sound = Switched(), Switched()
        async with led(world, broken, group_instance_id=instance_id) as first, led(world, sound) as second:
            await first.join()
            await until(lambda: shared(first), first)
            broken.now = fails
            await second.join()
            error = await ended(first, second)
            assert isinstance(error, StreamsError)
            assert str(error) == "The task assignor own has failed: ValueError: no such zone."
            assert isinstance(error.__cause__, ValueError)
            left_ms = world.simulation.clock.now_ms()
            await until(lambda: shared(second), second)
            assert world.simulation.clock.now_ms() - left_ms < SETTINGS.session_ms // 2

    simulate(program)


def test_a_wrong_result_ends_the_leader_and_no_member_gets_it() -> None:
    async def program(world: World) -> None:
        broken, sound = Switched(), Switched()
        async with led(world, broken) as first, led(world, sound) as second:
            await first.join()
            await until(lambda: shared(first), first)
            broken.now = lambda _state: TaskAssignment([])
            await second.join()
            assert "MISSING_PROCESS_ID" in str(await ended(first, second))
            await until(lambda: shared(second), second)

    simulate(program)


# ---------------------------------------------------------------------------------------------- what is logged


def only_first(state: ApplicationState) -> TaskAssignment:
    """Give nobody the tasks of the second partition."""
    found = HighAvailabilityTaskAssignor().assign(state)
    for each in found.assignment:
        for task in list(each.tasks.values()):
            if task.id.partition == 1:
                each.remove_task(task)
    return found


def warnings(caplog: pytest.LogCaptureFixture, words: str) -> list[str]:
    return [
        each.getMessage() for each in caplog.records if each.levelno == logging.WARNING and words in each.getMessage()
    ]


def test_tasks_that_nobody_gets_are_named_once_for_each_set(caplog: pytest.LogCaptureFixture) -> None:
    async def program(world: World) -> None:
        assignor = Switched()
        assignor.now = only_first
        async with led(world, assignor) as first, led(world, assignor) as second:
            await first.join()
            half = {task for task in ALL if task.partition == 0}
            await until(lambda: owned(first) == [half], first)
            await second.join()
            await until(lambda: len(assignor.asked_ms) >= 2, first, second)
            assert len(warnings(caplog, "to no process")) == 1
            assignor.now = lambda state: TaskAssignment(  # nothing at all
                map(KafkaStreamsAssignment.of, state.kafka_streams_states(compute_task_lags=False))
            )
            await second.close()
            await until(lambda: owned(first) == [set()], first)
        told = warnings(caplog, "to no process")
        assert ["2 tasks" in each for each in told] == [True, False]
        assert "nobody runs them: 0_1, 1_1." in told[0]

    simulate(program)


# -------------------------------------------------------------------------------------------------- follow-ups


class Asking(TaskAssignor):
    """Gives the first process everything, and asks for another round once."""

    def __init__(self, later_s: float, times: int = 1) -> None:
        self.later_s = later_s
        self.times = times
        self.asked_ms: list[int] = []

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        self.asked_ms.append(round(application_state.now.timestamp() * 1000))
        assignments = HighAvailabilityTaskAssignor().assign(application_state).assignment
        if len(self.asked_ms) > self.times:
            return TaskAssignment(assignments)
        deadline = application_state.now + timedelta(seconds=self.later_s)
        return TaskAssignment([assignments[0].with_followup_rebalance(deadline), *assignments[1:]])


@pytest.mark.parametrize("version", [6, 11])
def test_the_group_rebalances_when_the_assignor_asks_for_it_and_not_before(
    version: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    older(monkeypatch, version)

    async def program(world: World) -> None:
        assignor = Asking(40)
        async with led(world, assignor) as first:
            await first.join()
            for _ in range(1_000):
                await poll(first)
        assert len(assignor.asked_ms) == 2
        assert 40_000 <= assignor.asked_ms[1] - assignor.asked_ms[0] < 41_000

    simulate(program)
    assert len(warnings(caplog, "joins again itself")) == (version < 7)


@pytest.mark.parametrize("version", [6, 11])
def test_a_deadline_in_the_past_is_at_once_but_at_most_once_a_second(
    version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    older(monkeypatch, version)

    async def program(world: World) -> None:
        assignor = Asking(-100, times=10**6)
        async with led(world, assignor) as first:
            await first.join()
            for _ in range(200):
                await poll(first)
        waited = [later - earlier for earlier, later in zip(assignor.asked_ms, assignor.asked_ms[1:], strict=False)]
        assert len(waited) > 10
        assert all(1_000 <= each < 1_300 for each in waited)

    simulate(program)


def older(monkeypatch: pytest.MonkeyPatch, version: int) -> None:
    """Let members be of an older version of Kafka Streams."""
    made = UserDataVersion.__init__

    def init(self: UserDataVersion) -> None:
        made(self)
        self.used = version

    monkeypatch.setattr(UserDataVersion, "__init__", init)
    monkeypatch.setattr(
        member_subscription, "SubscriptionInfo", partial(SubscriptionInfo, latest_supported_version=version)
    )


def test_the_time_of_a_process_that_waits_for_tasks_is_nobodys() -> None:
    """The second process waits for its tasks, and joins again when the first one has given them up."""

    def assign(state: ApplicationState) -> TaskAssignment:
        found = HighAvailabilityTaskAssignor().assign(state).assignment
        later = state.now + timedelta(seconds=40)
        return TaskAssignment([each.with_followup_rebalance(later) for each in found])

    async def program(world: World) -> None:
        assignor = Switched()
        async with led(world, assignor) as first, led(world, assignor) as second:
            await first.join()
            await until(lambda: shared(first), first)
            assignor.now = assign
            await second.join()
            await until(lambda: shared(first, second), first, second)
            assignor.now = assignor.usual
            rounds = len(assignor.asked_ms)
            await until(lambda: len(assignor.asked_ms) > rounds, first, second)
            assert assignor.waited_s[-1] == 40

    simulate(program)


# ------------------------------------------------------------------------------------------------- who decides


def test_each_new_leader_logs_its_assignor_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kafka_groups.group")

    async def program(world: World) -> None:
        async with member(world) as first:
            await first.join()
            await until(lambda: shared(first), first)
            second = led(world, Switched())
            await second.join()
            await until(lambda: shared(first, second), first, second)
            assert first.epoch > 2  # it has led several generations
            told = [f"Member {first.member_id} leads group app from generation 1 on, and assigns its tasks with High"]
            assert [each[: len(told[0])] for each in leads(caplog)] == told
            await first.close()
        await until(lambda: shared(second), second)
        [told_later] = leads(caplog)[1:]
        assert told_later.startswith(f"Member {second.member_id} leads group app from generation {second.epoch} on, ")
        assert told_later.endswith(" assigns its tasks with own.")
        await second.close()

    simulate(program)


def leads(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if " leads group " in each.getMessage()]


def test_a_static_leader_that_is_restarted_logs_it_too(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kafka_groups.group")

    async def program(world: World) -> None:
        config = {"group_instance_id": "w", "process_id": "p"}
        for lives in range(1, 3):
            async with member(world, **config) as each:
                await each.join()
                await until(lambda: shared(each), each)
            assert len(leads(caplog)) == lives

    simulate(program)


class WarmingUp(TaskAssignor):
    """Leaves all tasks with the process that has them until a deadline, while another one copies their state."""

    def __init__(self, wait_s: float) -> None:
        self._wait_s = wait_s
        self.moves_at: datetime | None = None

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        states = application_state.kafka_streams_states(compute_task_lags=False)
        if len(states) == 1:
            [self._owner] = states
            return self._given(application_state, self._owner, None)
        [copier] = states.keys() - {self._owner}
        if self.moves_at is None:
            self.moves_at = application_state.now + timedelta(seconds=self._wait_s)
        if application_state.now < self.moves_at:
            return self._given(application_state, self._owner, copier)
        every = KafkaStreamsAssignment.of(copier, self._active(application_state))
        return TaskAssignment([every, KafkaStreamsAssignment.of(self._owner)])

    def _active(self, state: ApplicationState) -> list[AssignedTask]:
        return [AssignedTask.active(task) for task in state.all_tasks]

    def _given(self, state: ApplicationState, owner: ProcessId, copier: ProcessId | None) -> TaskAssignment:
        given = [KafkaStreamsAssignment.of(owner, self._active(state))]
        if copier is not None and self.moves_at is not None:
            copies = [AssignedTask.standby(task) for task, info in state.all_tasks.items() if info.is_stateful]
            given.append(KafkaStreamsAssignment.of(copier, copies).with_followup_rebalance(self.moves_at))
        return TaskAssignment(given)


@pytest.mark.slow
@pytest.mark.parametrize("version", [6, 11])
def test_warm_ups_move_once_at_the_deadline_of_the_assignor_and_not_before(
    version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    older(monkeypatch, version)

    async def program(world: World) -> None:
        assignor = WarmingUp(90)
        async with led(world, assignor) as first, led(world, assignor) as second:
            await first.join()
            await until(lambda: owned(first) == [ALL], first)
            await second.join()
            await until(lambda: bool(second.tasks.standby), first, second)
            assert assignor.moves_at is not None
            rounds = first.epoch
            while owned(first) == [ALL]:
                assert not second.tasks.active
                assert first.epoch - rounds <= 1
                await poll(first, second)
            assert world.simulation.clock.wall_ms() >= assignor.moves_at.timestamp() * 1000
            await until(lambda: owned(first, second) == [set(), ALL], first, second)
            for _ in range(1_000):  # and the group is still from then on
                await poll(first, second)
            assert first.epoch - rounds <= 3

    simulate(program)
