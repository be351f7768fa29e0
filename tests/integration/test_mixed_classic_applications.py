"""Instances in Java (Kafka Streams 4.3.1) and in Python in one classic group, with either as leader."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from kafka_groups.protocol.streams_user_data.offset_sums import RUNNING_TASK
from tests.support.conditions import wait_until
from tests.support.kafka.mixed_application import AT_LEAST_ONCE, EXACTLY_ONCE, Guarantee, MixedApplication
from tests.support.kafka.mixed_topologies import expected
from tests.support.kafka.started_broker import started_broker
from tests.support.members.confluent_reader import PATIENCE_S
from tests.support.members.described_classic_group import described_members

pytestmark = [pytest.mark.real_kafka, pytest.mark.slow]

SETTINGS = {"group.initial.rebalance.delay.ms": 100, "group.min.session.timeout.ms": 1_000}
Make = Callable[..., MixedApplication]


@pytest.fixture(scope="module", params=["embedded", "4.4.0", "3.9.1"])
def servers(request: pytest.FixtureRequest) -> Iterator[str]:
    """A broker that allows short sessions."""
    with started_broker(request.param, SETTINGS) as address:
        yield address


@pytest.fixture
def make(servers: str, tmp_path: Path) -> Iterator[Make]:
    """Make an application."""
    with ExitStack() as stack:

        def made(kind: str, guarantee: Guarantee = AT_LEAST_ONCE) -> MixedApplication:
            app = MixedApplication(kind, servers, tmp_path, guarantee, protocol="classic")
            stack.callback(app.end)
            return app

        yield made


@pytest.mark.timeout(300)
@pytest.mark.parametrize("guarantee", [pytest.param(AT_LEAST_ONCE, marks=pytest.mark.long), EXACTLY_ONCE])
def test_each_leads_the_other_and_continues_its_work(make: Make, guarantee: Guarantee) -> None:
    app = make("words", guarantee)
    app.write(40)
    app.start_python()
    app.wait_until_shared()
    for start, close, check in (
        (app.start_java, app.close_python, app.wait_for_java_store),
        (app.start_python, app.close_java, app.wait_for_python_store),
    ):
        with app.flow():
            start()
            app.wait_until_shared()
            close()
            app.wait_until_shared()
        check()
    app.wait_for_output()
    app.close_python()
    app.check_committed()
    assert app.changelog() == expected("words", app.lines)


@pytest.mark.long
@pytest.mark.timeout(300)
def test_running_tasks_with_empty_changelogs_are_told_alike(make: Make) -> None:
    app = make("words")
    app.start_python()
    app.wait_until_shared()
    app.start_java()
    app.wait_until_shared()
    wait_until(lambda: tells_what_runs(app, is_java=False), PATIENCE_S, lambda: described_members(*app.group))
    app.close_python()
    app.wait_until_shared()
    app.start_python()
    app.wait_until_shared()
    wait_until(lambda: tells_what_runs(app, is_java=True), PATIENCE_S, lambda: described_members(*app.group))


def tells_what_runs(app: MixedApplication, *, is_java: bool) -> bool:
    """Whether the older instance, which has had all tasks, told of the stateful task that it still has and no other."""
    found = [each for each in described_members(*app.group) if ("StreamThread" in each.member_id) is is_java]
    running = [task for each in found for task in each.active if task.subtopology_id == "1"]
    return len(running) == 1 and found[0].sums == {running[0]: RUNNING_TASK}
