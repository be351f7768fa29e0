"""An application whose assignor is a user's: tasks are pinned by client tag, while its workers are killed."""

from pathlib import Path

import pytest

from kafka_groups.admin import KafkaAdmin
from kafka_groups.assignment import ApplicationState, AssignedTask, KafkaStreamsAssignment, Registered, TaskAssignment
from kafka_groups.broker.cluster import EmbeddedCluster
from tests.integration.test_killed_streams_applications import PATIENCE_S, SHORT_SESSIONS, Broker, Struck
from tests.support.conditions import wait_until
from tests.support.members.counted_application import CountedApplication

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

ZONES = ("a", "b")
WORKERS = 2
SETTINGS = {**SHORT_SESSIONS, "group.streams.initial.rebalance.delay.ms": 0}


def pinned(state: ApplicationState) -> TaskAssignment:
    """Give tasks with even numbers to zone a and those with odd numbers to zone b, in turn to the processes there."""
    states = state.kafka_streams_states(compute_task_lags=False)
    plans = {process: KafkaStreamsAssignment.of(process) for process in states}
    for task in state.all_tasks:
        zone = ZONES[task.partition % len(ZONES)]
        there = [process for process, each in states.items() if each.client_tags.get("zone") == zone] or list(states)
        least = min(there, key=lambda process: len(plans[process].tasks))
        plans[least].assign_task(AssignedTask.active(task))
    return TaskAssignment(plans.values())


def tasks_by_zone(admin: KafkaAdmin, group_id: str) -> dict[str | None, set[int]]:
    """The numbers of the active tasks of the members of each zone, as they are assigned now."""
    group = admin.describe_streams_groups([group_id])[group_id]
    found: dict[str | None, set[int]] = {}
    for member in group.members:
        zone = member.client_tags.get("zone")
        mine = found.setdefault(zone, set())
        mine.update(number for numbers in member.assignment.active.values() for number in numbers)
    return found


def is_pinned(found: dict[str | None, set[int]]) -> bool:
    """Whether both zones have all tasks that are pinned to them."""
    remainders = {zone: {number % len(ZONES) for number in numbers} for zone, numbers in found.items()}
    return remainders == {zone: {number} for number, zone in enumerate(ZONES)}


def wait_until_pinned(admin: KafkaAdmin, group_id: str) -> None:
    """Wait until both zones have all tasks that are pinned to them."""
    wait_until(lambda: is_pinned(tasks_by_zone(admin, group_id)), PATIENCE_S, lambda: tasks_by_zone(admin, group_id))


def test_an_application_of_four_workers_with_an_assignor_of_its_own_loses_nothing(tmp_path: Path) -> None:
    assignors = [Registered(pinned, name="pinned"), "highly_available"]
    with (
        EmbeddedCluster(settings={**SETTINGS, "group.streams.assignors": assignors}) as cluster,
        KafkaAdmin(bootstrap_servers=cluster.bootstrap_servers) as admin,
    ):
        app = CountedApplication(cluster.bootstrap_servers, tmp_path)
        app.write(40)
        broker = Broker(cluster.bootstrap_servers, lambda: None)
        first, second = (Struck(app, broker, app.instance(WORKERS, zone).run) for zone in ZONES)
        try:
            with app.flow():
                for each in (first, second):
                    each.run_until_committed()
                wait_until_pinned(admin, app.application_id)
                first.kill_worker()
                second.run_until_committed()
                second.end()
                first.run_until_committed()
                second.run_until_committed()
                wait_until_pinned(admin, app.application_id)
                cluster.alter_group_configs(app.application_id, {"streams.assignor.name": "highly_available"})
                with app.instance().made():  # a worker joins: it has no zone
                    wait_until(lambda: tasks_by_zone(admin, app.application_id).get(None), PATIENCE_S)
                    first.run_until_committed()
        finally:
            first.end()
            second.end()
        with app.instance().made():
            wait_until(lambda: sum(map(len, app.committed_results().values())) >= app.totals().total(), 2 * PATIENCE_S)
            expected = {word: [*range(1, count + 1)] for word, count in app.totals().items()}
            assert app.committed_results() == expected
        assert app.logged() == app.totals()
        assert cluster.unexpected_errors == ()
