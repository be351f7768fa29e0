"""What a task assignor that fails does to an application in a classic group, row by row of the table of errors."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.assignment import (
    ApplicationState,
    GroupAssignment,
    GroupSubscription,
    HighAvailabilityTaskAssignor,
    KafkaStreamsAssignment,
    TaskAssignment,
    TaskAssignmentError,
    TaskAssignor,
)
from kafka_groups.assignment.application.task_assignor import AssignmentError
from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.librdkafka.topics import create_topics
from kafka_groups.net.clock import SystemClock
from kafka_groups.streams import KafkaStreams, StreamsError, StreamsState
from kafka_groups.testing.kafka_process import KafkaProcess
from kafka_groups.types import TaskId
from tests.integration.test_exactly_once_applications import sums, where_wrong
from tests.integration.test_streams_applications import word_count
from tests.support.conditions import wait_until
from tests.support.kafka.real_kafka import unique
from tests.support.members.counted_application import CountedApplication, counted
from tests.support.members.described_classic_group import DescribedMember, described_members

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

LONG_SESSION_MS = 100_000
QUICK = {"group.initial.rebalance.delay.ms": 0, "group.min.session.timeout.ms": 1_000}
PATIENCE_S = 60.0
"""Less than a session: whoever waits for one fails."""
TASKS = frozenset(TaskId(subtopology, number) for subtopology in "01" for number in range(2))

Assign = Callable[[ApplicationState], TaskAssignment]


@pytest.fixture(
    params=["embedded", pytest.param("real", marks=[pytest.mark.real_kafka, pytest.mark.long])], scope="module"
)
def servers(request: pytest.FixtureRequest) -> Iterator[str]:
    with ExitStack() as stack:
        if request.param == "real":
            kafka: KafkaProcess = request.getfixturevalue("real_kafka")
            yield kafka.bootstrap_servers
        else:
            cluster = stack.enter_context(EmbeddedCluster(settings=QUICK))
            yield cluster.bootstrap_servers
            assert cluster.unexpected_errors == ()


@pytest.fixture
def session_ms(request: pytest.FixtureRequest) -> int:
    """A session as short as the brokers allow."""
    return 2_000 if request.node.callspec.params["servers"] == "embedded" else 6_000


@pytest.fixture
def posts(servers: str) -> str:
    name = unique("posts")
    create_topics({"bootstrap.servers": servers}, {name: 2})
    return name


class Switched(TaskAssignor):
    """Assigns like the default, until a test sets something else."""

    def __init__(self) -> None:
        self.now: Assign = HighAvailabilityTaskAssignor().assign
        self.asked = 0
        self.told: list[tuple[GroupAssignment, GroupSubscription, AssignmentError]] = []

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        self.asked += 1
        return self.now(application_state)

    def on_assignment_computed(
        self, assignment: GroupAssignment, subscription: GroupSubscription, error: AssignmentError
    ) -> None:
        self.told.append((assignment, subscription, error))


def application(servers: str, posts: str, directory: Path, assignor: object, **keys: object) -> KafkaStreams:
    given: dict[str, object] = {
        "application.id": f"{posts}-app", "bootstrap.servers": servers, "group.protocol": "classic",
        "state.dir": str(directory / unique("state")), "session.timeout.ms": LONG_SESSION_MS,
        "heartbeat.interval.ms": 200, "task.assignor.class": assignor,
    }  # fmt: skip
    return KafkaStreams(word_count(posts), {**given, **{key.replace("_", "."): value for key, value in keys.items()}})


def members(servers: str, posts: str) -> tuple[DescribedMember, ...]:
    return described_members(servers, f"{posts}-app")


def has_all(servers: str, posts: str, count: int = 1) -> bool:
    """Whether so many members have all tasks together."""
    found = members(servers, posts)
    return len(found) == count and frozenset().union(*(each.active for each in found)) == TASKS


def error_of(app: KafkaStreams) -> BaseException:
    wait_until(lambda: app.state is StreamsState.ERROR, PATIENCE_S, lambda: app.state)
    assert app.error is not None
    return app.error


def warnings(caplog: pytest.LogCaptureFixture, words: str) -> list[str]:
    texts = (each.getMessage() for each in caplog.records if each.levelno == logging.WARNING)
    return [text for text in texts if words in text]


# ------------------------------------------------------------------------------------ it cannot tell the assignment


def cannot_tell(_state: ApplicationState) -> TaskAssignment:
    raise TaskAssignmentError("the inventory is away")


def test_tasks_go_on_while_the_assignor_cannot_tell_and_after_ten_rounds_all_members_end(
    servers: str, tmp_path: Path
) -> None:
    app = CountedApplication(servers, tmp_path, protocol="classic")
    app.write(20)
    assignor = Switched()
    keys = {
        "group.protocol": "classic", "heartbeat.interval.ms": 200, "commit.interval.ms": 100,
        "retry.backoff.ms": 5, "retry.backoff.max.ms": 5, "task.assignor.class": assignor,
    }  # fmt: skip
    started = partial(
        KafkaStreams, partial(counted, app.source, app.sink), keys, application_id=app.application_id,
        bootstrap_servers=servers, processing_guarantee=app.guarantee,
    )  # fmt: skip
    with started() as first, ExitStack() as stack:
        wait_until(lambda: sums(app) >= app.totals().total(), PATIENCE_S, lambda: (first.state, first.error))
        assignor.now, asked = cannot_tell, assignor.asked
        second = stack.enter_context(started())
        with app.flow():
            wait_until(lambda: assignor.asked >= asked + 10, PATIENCE_S, lambda: assignor.asked)
        wait_until(lambda: sums(app) >= app.totals().total(), PATIENCE_S, lambda: (first.state, first.error))
        for each in (first, second):
            assert isinstance(error_of(each), TaskAssignmentError)
    assert assignor.asked == asked + 11
    assert not (wrong := where_wrong(app)), wrong
    assert app.logged() == app.totals()


# ------------------------------------------------------------------------------------------------- it fails otherwise


def fails(_state: ApplicationState) -> TaskAssignment:
    raise ValueError("no such zone")


def returns_nothing(_state: ApplicationState) -> TaskAssignment:
    return None  # type: ignore[return-value]


def changes_its_input(state: ApplicationState) -> TaskAssignment:
    state.all_tasks.clear()  # type: ignore[attr-defined]
    return TaskAssignment([])


def forgets_a_process(state: ApplicationState) -> TaskAssignment:
    found = HighAvailabilityTaskAssignor().assign(state).assignment
    return TaskAssignment(found[:-1])


def twice(state: ApplicationState) -> TaskAssignment:
    found = HighAvailabilityTaskAssignor().assign(state).assignment
    for each in found:
        for other in found:
            for task in [task for task in other.tasks.values() if task.is_active]:
                each.assign_task(task)
    return TaskAssignment(found)


@pytest.mark.parametrize(
    ("assign", "text", "cause"),
    [
        (fails, "has failed: ValueError: no such zone.", ValueError),
        (returns_nothing, "returned None. It must return a TaskAssignment.", None),
        (
            changes_its_input,
            "has failed: TypeError: ApplicationState.all_tasks is read-only. Change a copy of it: dict(…).",
            TypeError,
        ),
        (forgets_a_process, "has no assignment. Return an empty one for a process that gets no tasks.", None),
        (twice, "ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES. Task 0_0 is active in process", None),
    ],
)
def test_another_member_leads_at_once_when_the_assignor_fails(
    servers: str, posts: str, tmp_path: Path, assign: Assign, text: str, cause: type[Exception] | None
) -> None:
    broken = Switched()
    with application(servers, posts, tmp_path, broken) as first:
        wait_until(lambda: has_all(servers, posts), PATIENCE_S, lambda: first.state)
        broken.now = assign
        with application(servers, posts, tmp_path, Switched()):
            error = error_of(first)
            assert isinstance(error, StreamsError)
            assert text in str(error)
            assert cause is None or isinstance(error.__cause__, cause)
            wait_until(lambda: has_all(servers, posts), PATIENCE_S, lambda: members(servers, posts))
            told = {each for _, _, each in broken.told} - {AssignmentError.NONE}
            assert bool(told) is (assign in (forgets_a_process, twice))


def test_a_static_leader_whose_assignor_fails_leaves_at_once(servers: str, posts: str, tmp_path: Path) -> None:
    broken = Switched()
    with application(servers, posts, tmp_path, broken, group_instance_id="one") as first:
        wait_until(lambda: has_all(servers, posts), PATIENCE_S, lambda: first.state)
        broken.now = fails
        with application(servers, posts, tmp_path, Switched(), group_instance_id="two"):
            error_of(first)
            wait_until(lambda: has_all(servers, posts), PATIENCE_S, lambda: members(servers, posts))
            assert [each.instance_id for each in members(servers, posts)] == ["two-1"]


@pytest.mark.long
def test_members_with_the_same_faulty_assignor_end_one_by_one(servers: str, posts: str, tmp_path: Path) -> None:
    broken = Switched()
    with ExitStack() as stack:
        apps = [stack.enter_context(application(servers, posts, tmp_path, broken)) for _ in range(2)]
        wait_until(lambda: has_all(servers, posts, 2), PATIENCE_S)
        broken.now = fails
        apps.append(stack.enter_context(application(servers, posts, tmp_path, broken)))
        for app in apps:
            assert "no such zone" in str(error_of(app))
        assert broken.asked >= 3 + 1


# ------------------------------------------------------------------------------------------------ slow assignors


class Blocked:
    """Does not return before a test lets it."""

    def __init__(self) -> None:
        self.begun, self.may_return = threading.Event(), threading.Event()
        self.most = self._now = 0

    def __call__(self, state: ApplicationState) -> TaskAssignment:
        self._now += 1
        self.most = max(self.most, self._now)
        self.begun.set()
        assert self.may_return.wait(200)
        self._now -= 1
        return HighAvailabilityTaskAssignor().assign(state)


def test_a_slow_assignor_costs_no_membership_and_is_a_warning(
    servers: str, posts: str, tmp_path: Path, session_ms: int, caplog: pytest.LogCaptureFixture
) -> None:
    blocked, assignor = Blocked(), Switched()
    with application(servers, posts, tmp_path, assignor, session_timeout_ms=session_ms) as first:
        wait_until(lambda: has_all(servers, posts), PATIENCE_S, lambda: first.state)
        [before] = members(servers, posts)
        assignor.now = blocked
        with application(servers, posts, tmp_path, assignor, session_timeout_ms=session_ms):
            assert blocked.begun.wait(PATIENCE_S)
            wait_until(lambda: warnings(caplog, "has not returned for"), PATIENCE_S)
            begun_ms = SystemClock().now_ms()
            wait_until(
                lambda: SystemClock().now_ms() - begun_ms > 1.5 * session_ms, PATIENCE_S
            )  # for longer than a session
            blocked.may_return.set()
            wait_until(lambda: has_all(servers, posts, 2), PATIENCE_S, lambda: members(servers, posts))
            assert before.member_id in {each.member_id for each in members(servers, posts)}
    assert blocked.most == 1
    assert len(warnings(caplog, "took")) == 1


def test_an_assignor_that_never_returns_is_given_up_and_the_program_can_end(
    servers: str, posts: str, tmp_path: Path
) -> None:
    blocked, assignor = Blocked(), Switched()
    with application(servers, posts, tmp_path, assignor, max_poll_interval_ms=4_000) as first:
        wait_until(lambda: has_all(servers, posts), PATIENCE_S, lambda: first.state)
        assignor.now = blocked
        with application(servers, posts, tmp_path, Switched(), max_poll_interval_ms=4_000):
            assert "has not returned within 2000 ms, which is half of max.poll.interval.ms." in str(error_of(first))
            wait_until(lambda: has_all(servers, posts), PATIENCE_S, lambda: members(servers, posts))
    assert blocked.most == 1
    blocked.may_return.set()


@pytest.mark.long
def test_a_process_leads_no_other_round_while_its_assignor_still_runs(
    servers: str, posts: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    blocked, assignor = Blocked(), Switched()
    keys = {"max_poll_interval_ms": 4_000}
    with application(servers, posts, tmp_path, assignor, **keys) as first:
        wait_until(lambda: has_all(servers, posts), PATIENCE_S, lambda: first.state)
        assignor.now = blocked
        with application(servers, posts, tmp_path, assignor, **keys):
            error_of(first)
            wait_until(lambda: len(warnings(caplog, "has been running in this process for")) > 1, PATIENCE_S)
            assert blocked.most == assignor.asked - 1 == 1
            blocked.may_return.set()
            wait_until(lambda: has_all(servers, posts), PATIENCE_S, lambda: members(servers, posts))


# ------------------------------------------------------------------------------------------ what is only a warning


def gives_nothing(state: ApplicationState) -> TaskAssignment:
    return TaskAssignment(map(KafkaStreamsAssignment.of, state.kafka_streams_states(compute_task_lags=False)))


def test_tasks_that_nobody_gets_are_named_once(
    servers: str, posts: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assignor = Switched()
    assignor.now = gives_nothing
    with application(servers, posts, tmp_path, assignor):
        wait_until(lambda: warnings(caplog, "to no process"), PATIENCE_S)
        with application(servers, posts, tmp_path, assignor):
            wait_until(lambda: len(members(servers, posts)) == 2, PATIENCE_S)
    [warning] = warnings(caplog, "to no process")
    assert "has given 4 tasks to no process, and nobody runs them: 0_0, 0_1, 1_0, 1_1." in warning


class Deaf(HighAvailabilityTaskAssignor):
    """Its callback fails."""

    def on_assignment_computed(self, *_: Any) -> None:
        raise OSError("the metrics are away")


def test_a_callback_that_fails_changes_nothing(
    servers: str, posts: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with application(servers, posts, tmp_path, Deaf):
        wait_until(lambda: has_all(servers, posts), PATIENCE_S)
    [warning] = warnings(caplog, "The callback of the task assignor")
    assert "has failed: OSError: the metrics are away. File " in warning
    assert "in on_assignment_computed." in warning
