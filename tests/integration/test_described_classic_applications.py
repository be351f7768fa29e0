"""Applications in classic groups are described while they run, and reset and deleted when they have stopped."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from kafka_groups.admin import ClassicStreamsGroupDescription, KafkaAdmin
from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.errors import GroupIdNotFoundError, IllegalStateError, NonEmptyGroupError
from kafka_groups.streams import KafkaStreams, Topology
from kafka_groups.testing.kafka_process import KafkaProcess
from kafka_groups.types import TaskId, TopicPartition
from tests.integration.test_exactly_once_applications import stored
from tests.support.conditions import wait_until
from tests.support.kafka.mixed_application import AT_LEAST_ONCE, MixedApplication, keys_of
from tests.support.kafka.mixed_topologies import mixed_topology
from tests.support.members.counted_application import CountedApplication, counted

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

PATIENCE_S = 120.0
SETTINGS = {"group.initial.rebalance.delay.ms": 100, "group.min.session.timeout.ms": 1_000}
LINES = 40
TASKS = {TaskId(subtopology, number) for subtopology in "01" for number in range(2)}
WITH_STATE = {task for task in TASKS if task.subtopology_id == "1"}
IS_LONG = [pytest.mark.real_kafka, pytest.mark.long]
Start = Callable[..., KafkaStreams]


@pytest.fixture(
    scope="module",
    params=[
        "embedded",
        pytest.param("4.4.0", marks=pytest.mark.real_kafka),
        pytest.param("3.9.1", marks=IS_LONG),
    ],
)
def servers(request: pytest.FixtureRequest) -> Iterator[str]:
    """A broker that allows short sessions."""
    if request.param == "embedded":
        with EmbeddedCluster(settings=SETTINGS) as cluster:
            yield cluster.bootstrap_servers
            assert cluster.unexpected_errors == ()
    elif request.param == "4.4.0":
        yield request.getfixturevalue("real_kafka").bootstrap_servers
    else:
        with KafkaProcess(request.param, {name: str(value) for name, value in SETTINGS.items()}) as kafka:
            yield kafka.bootstrap_servers


@pytest.fixture
def admin(servers: str) -> Iterator[KafkaAdmin]:
    with KafkaAdmin(bootstrap_servers=servers) as admin:
        yield admin


def described(admin: KafkaAdmin, group_id: str) -> ClassicStreamsGroupDescription | None:
    """The group; None before it is there, and while it rebalances."""
    found = admin.describe_classic_streams_groups([group_id])
    assert not found.errors or type(found.errors[group_id]) in (GroupIdNotFoundError, IllegalStateError)
    return found.values.get(group_id)


def wait_for_group(
    admin: KafkaAdmin, group_id: str, condition: Callable[[ClassicStreamsGroupDescription], bool]
) -> ClassicStreamsGroupDescription:
    """Wait until a group is as it should be."""
    seen: list[ClassicStreamsGroupDescription | None] = []

    def holds() -> bool:
        seen.append(described(admin, group_id))
        return seen[-1] is not None and condition(seen[-1])

    wait_until(holds, PATIENCE_S, lambda: seen[-1:])
    assert seen[-1] is not None
    return seen[-1]


def shares_all(group: ClassicStreamsGroupDescription) -> bool:
    """All tasks have owners, two processes share them, and nobody waits."""
    active = [task for each in group.members for task in each.active_tasks]
    return (
        len(group.processes) == 2
        and {*active} == TASKS
        and all(each.active_tasks and not each.rejoins_at_once for each in group.members)
    )


def check_shared(group: ClassicStreamsGroupDescription) -> None:
    """Check what holds of every group whose tasks are shared."""
    owners = Counter(task for each in group.members for task in each.active_tasks)
    assert set(owners.values()) == {1}
    for member in group.members:
        assert not member.standby_tasks & member.active_tasks
        assert member.owned_tasks <= member.active_tasks
        assert member.running_tasks <= WITH_STATE
        assert (member.version, member.latest_version, member.assigned_version, member.error_code) == (11, 11, 11, 0)
        assert member.generation is None or member.generation > 0
    assert group.state == "Stable"
    assert group.lag_error is None


def check_reset(admin: KafkaAdmin, app: MixedApplication, topology: Topology, internal: set[str]) -> None:
    """Move an application that has stopped to the beginning, without its internal topics."""
    group_id = app.application_id
    empty = wait_for_group(admin, group_id, lambda group: group.state == "Empty")
    assert (empty.members, empty.total_lag) == ((), 0)
    without = admin.delete_streams_groups([group_id]).errors[group_id]
    assert "is a classic group (Empty). Brokers do not keep the topology of a classic group" in str(without)
    places = [TopicPartition(app.source, number) for number in range(2)]
    moved = admin.reset_streams_group_offsets(group_id, "earliest", topology=topology).checked()
    assert moved.values == dict.fromkeys(places, 0)
    deleted = admin.delete_streams_group_internal_topics(group_id, topology=topology).checked()
    assert {*deleted.values} == internal
    offsets = admin.describe_streams_group_offsets([group_id], topology=topology)[group_id]
    assert sum(offsets[place].lag for place in places) == len(app.lines)


# -------------------------------------------------------------------------------------------- members in Python


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts instances of an application in this process."""
    with ExitStack() as stack:

        def started(app: CountedApplication, directory: Path, zone: str, instance: str | None = None) -> KafkaStreams:
            running = KafkaStreams(
                partial(counted, app.source, app.sink),
                {**keys_of("classic"), "num.standby.replicas": "1"},
                application_id=app.application_id,
                bootstrap_servers=app.servers,
                commit_interval_ms=100,
                state_dir=directory / zone,
                default_dsl_store="lmdb",
                client_tags={"zone": zone},
                client_rack=f"rack-{zone}",
                application_server=f"host-{zone}:8080",
                group_instance_id=instance,
            )
            stack.callback(running.close, PATIENCE_S)
            running.start()
            return running

        yield started


def test_an_application_in_python_is_described_reset_and_deleted(
    servers: str, admin: KafkaAdmin, start: Start, tmp_path: Path
) -> None:
    app = CountedApplication(servers, tmp_path, AT_LEAST_ONCE, protocol="classic")
    topology = counted(app.source, app.sink)
    group_id, counting = app.application_id, f"{app.application_id}-counts"
    app.write(LINES)
    first, second = start(app, tmp_path, "a", "static"), start(app, tmp_path, "b")
    group = wait_for_group(
        admin,
        group_id,
        lambda it: shares_all(it) and {task for each in it.members for task in each.standby_tasks} == WITH_STATE,
    )
    check_shared(group)
    by_zone = {each.client_tags["zone"]: each for each in group.members}
    assert {zone: each.rack for zone, each in by_zone.items()} == {"a": "rack-a", "b": "rack-b"}
    assert {zone: each.user_endpoint for zone, each in by_zone.items()} == {
        "a": ("host-a", 8080),
        "b": ("host-b", 8080),
    }
    assert {zone: each.instance_id for zone, each in by_zone.items()} == {"a": "static-1", "b": None}
    assert group.read_topics == tuple(sorted([app.source, f"{counting}-repartition"]))
    wait_until(lambda: app.committed() == LINES, PATIENCE_S, app.committed)
    wait_for_group(admin, group_id, lambda it: it.total_lag == 0)
    with pytest.raises(NonEmptyGroupError, match="has members"):
        admin.reset_streams_group_offsets(group_id, "earliest", topology=topology)
    for running in (first, second):
        assert running.close(PATIENCE_S)
    check_reset(admin, app, topology, {f"{counting}-repartition", f"{counting}-changelog"})
    again = start(app, tmp_path / "again", "c")
    wait_until(lambda: Counter(stored(again)) == app.totals(), PATIENCE_S, lambda: (again.error, stored(again)))
    assert again.close(PATIENCE_S)
    wait_for_group(admin, group_id, lambda it: it.state == "Empty")
    assert admin.delete_streams_groups([group_id], topology=topology).checked().values == {group_id: None}
    gone = admin.describe_classic_streams_groups([group_id]).errors[group_id]
    assert isinstance(gone, GroupIdNotFoundError)


# ---------------------------------------------------------------------------------------------- members in Java


@pytest.mark.long
@pytest.mark.real_kafka
@pytest.mark.parametrize("leader", ["java", "python"])
def test_an_application_in_both_languages_is_described_and_reset(
    servers: str, admin: KafkaAdmin, tmp_path: Path, leader: str
) -> None:
    app = MixedApplication("words", servers, tmp_path, AT_LEAST_ONCE, protocol="classic")
    topology = mixed_topology("words", app.source, app.sink)
    words = f"{app.application_id}-words-repartition"
    starts = [app.start_java, app.start_python]
    try:
        app.write(LINES)
        for begin in starts if leader == "java" else starts[::-1]:
            begin()
            app.wait_until_shared()
        assert app.python_leads() == (leader == "python")
        group = wait_for_group(admin, app.application_id, shares_all)
        check_shared(group)
        (java,) = [each for each in group.members if "-StreamThread-1-consumer" in each.client_id]
        assert java.client_id.startswith(f"{app.application_id}-{java.process_id}")
        assert group.read_topics == tuple(sorted([app.source, words]))
        wait_until(lambda: app.committed() == LINES, PATIENCE_S, app.committed)
        wait_for_group(admin, app.application_id, lambda it: it.total_lag == 0)
        app.close_java()
        app.wait_until_shared()
        app.start_java()
        app.wait_until_shared()
        # Whoever led before: as soon as no other member is there, this one leads, and continues to.
        assert app.python_leads()
        app.close_java()
        app.close_python()
        check_reset(admin, app, topology, {words, f"{app.application_id}-lines-changelog"})
        app.start_java()
        app.wait_until_shared()
        alone = wait_for_group(
            admin, app.application_id, lambda it: it.total_lag == 0 and {*it.members[0].active_tasks} == TASKS
        )
        assert len(alone.members) == 1
        app.wait_for_java_store()
    finally:
        app.end()
