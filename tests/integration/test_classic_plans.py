"""Plans of classic groups that Python leads, on an embedded broker: what they predict is what the group does."""

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from confluent_kafka.admin import AdminClient

from kafka_groups.admin import KafkaAdmin, PlannedProcess
from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.cli.main import main
from kafka_groups.share import KafkaShareConsumer
from kafka_groups.streams import KafkaStreams, StreamsBuilder, Topology, serdes
from kafka_groups.testing.kafka_process import KafkaProcess
from tests.support.conditions import wait_until
from tests.support.members.planned_application import PATIENCE_S, PlannedApplication, tasks_after

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SETTINGS = {"group.initial.rebalance.delay.ms": 0, "group.min.session.timeout.ms": 1_000}


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings=SETTINGS) as cluster:
        yield cluster
        assert cluster.unexpected_errors == ()


@pytest.fixture
def app(cluster: EmbeddedCluster, tmp_path: Path) -> Iterator[PlannedApplication]:
    made = PlannedApplication(cluster.bootstrap_servers, tmp_path)
    yield made
    made.end()


Instance = tuple[str, int]
"""The language of an instance, and the number of its threads."""
IN_PYTHON: tuple[Instance, ...] = (("python", 1),)
IN_BOTH: tuple[Instance, ...] = (("python", 1), ("java", 1), ("java", 2))


def start(app: PlannedApplication, instance: Instance, copies: int) -> str:
    language, threads = instance
    if language == "python":
        return app.start(num_standby_replicas=copies)
    return app.start_java(num_standby_replicas=copies, num_stream_threads=threads)


def carry_out(app: PlannedApplication, rng: random.Random, copies: int, kinds: tuple[Instance, ...]) -> int:
    """Plan a random change, make it, and wait until the group has done what the plan says. Return the new copies."""
    leaving = rng.sample(app.processes, rng.randint(0, len(app.processes) - 1))
    joining = rng.choices(kinds, k=rng.randint(0 if leaving else 1, 2))
    # The leader's number counts, so a change of it is one of all instances.
    if rng.random() < 0.4:
        leaving, joining, copies = app.processes, rng.choices(kinds, k=rng.randint(1, 3)), 1 - copies
    before, staying = app.tasks(), set(app.processes).difference(leaving)
    processes = [PlannedProcess(threads=threads) for _, threads in joining]
    plan = app.plan_of(leaving, processes, {"num.standby.replicas": copies})
    assert plan.error is None
    names = {f"new-{number}": start(app, each, copies) for number, each in enumerate(joining, 1)}
    for process_id in leaving:
        app.stop(process_id)
    predicted = tasks_after(before, plan, names)
    wait_until(lambda: app.tasks() == predicted, PATIENCE_S, lambda: (plan.moves, predicted, app.tasks()))
    assert {each.process_id for each in plan.processes if each.after} == staying.union(names)
    return copies


def change_and_change(app: PlannedApplication, changes: int, first: Instance, kinds: tuple[Instance, ...]) -> None:
    """Start two instances, of which one leads, and make random changes. Without one, a plan is empty."""
    rng, copies = random.Random(changes), 0
    for _ in range(2):
        start(app, first, copies)
    for _ in range(changes):
        plan = app.plan_of((), (), {"num.standby.replicas": copies})
        assert (plan.moves, plan.followups, plan.warnings) == ((), {}, ())
        copies = carry_out(app, rng, copies, kinds)


@pytest.mark.parametrize("changes", [3, pytest.param(10, marks=pytest.mark.long)])
def test_a_group_does_what_a_plan_predicts(app: PlannedApplication, changes: int) -> None:
    change_and_change(app, changes, IN_PYTHON[0], IN_PYTHON)


@pytest.mark.long
@pytest.mark.real_kafka
@pytest.mark.timeout(600)
@pytest.mark.parametrize("release", ["4.4.0", "3.9.1"])
def test_a_group_that_java_leads_does_what_a_plan_predicts(release: str, tmp_path: Path) -> None:
    with KafkaProcess(release, {name: str(value) for name, value in SETTINGS.items()}) as kafka:
        app = PlannedApplication(kafka.bootstrap_servers, tmp_path)
        try:
            change_and_change(app, 10, ("java", 2), IN_BOTH)
        finally:
            app.end()


def test_a_plan_changes_nothing(cluster: EmbeddedCluster, app: PlannedApplication) -> None:
    app.start()
    described = app.described()
    cluster.delete_topic(app.changelog)
    topics = topics_of(cluster)
    made = app.plan(standby_replicas=1, joining=[PlannedProcess(threads=2)])
    assert made.moves
    assert made.missing_topics == (app.changelog,)
    assert app.described() == described
    assert topics_of(cluster) == topics


def topics_of(cluster: EmbeddedCluster) -> set[str]:
    return set(AdminClient({"bootstrap.servers": cluster.bootstrap_servers}).list_topics().topics)


def test_patterns_read_what_the_group_has_found(cluster: EmbeddedCluster) -> None:
    for name in ("lines-1", "lines-2"):
        cluster.create_topic(name, 2)
    builder = StreamsBuilder()
    builder.stream(re.compile("lines-.*"), key=serdes.string, value=serdes.string).to("all-lines")
    topology, servers = builder.build(), cluster.bootstrap_servers
    keys = {"application.id": "app", "bootstrap.servers": servers, "group.protocol": "classic"}
    with KafkaStreams(topology, keys) as app, KafkaAdmin(bootstrap_servers=servers) as admin:
        app.wait_until_running(PATIENCE_S)
        assert admin.plan_streams_group("app", topology=topology).moves == ()
        made = admin.plan_streams_group("app", topology=topology, joining=[PlannedProcess()])
        assert [each.process_id for each in made.processes if each.after and each.after.active == 1] == [
            each.process_id for each in made.processes
        ]


# ---------------------------------------------------------------------------------------------- the command


def command(cluster: EmbeddedCluster, *arguments: str) -> Result:
    given = ["streams", "plan", *arguments, "--bootstrap-servers", cluster.bootstrap_servers]
    return CliRunner().invoke(main, given)


def test_the_command_plans_a_classic_group(
    cluster: EmbeddedCluster, app: PlannedApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    process_id = app.start()
    [member] = app.described().members
    monkeypatch.setattr(f"{__name__}.built", app.topology)
    topology = ("--topology", f"{__name__}:build")
    stays = command(cluster, app.application_id, *topology)
    assert (stays.exit_code, stays.stderr) == (0, "")
    head, *_, last = stays.stdout.splitlines()
    assert head == (
        f"{app.application_id} is Stable. This is what HighAvailabilityTaskAssignor would do; nothing was changed."
    )
    assert last == "No task moves."
    change = ("--without", member.member_id, "--with-process", "threads=2,rack=r", "--set", "max.warmup.replicas=1")
    done = command(cluster, app.application_id, *topology, *change, "--assignor", "StickyTaskAssignor", "--json")
    assert done.exit_code == 0
    assert done.stderr.startswith("Warning: A leader in Java may decide otherwise")
    document = json.loads(done.stdout)
    assert document["assignor"] == "StickyTaskAssignor"
    assert {move["from"]["process"] for move in document["moves"]} == {process_id}
    assert {move["to"]["process"] for move in document["moves"]} == {"new-1"}
    assert document["missing_topics"] == []


built: Topology | None = None


def build() -> Topology:
    assert built is not None
    return built


def other() -> Topology:
    builder = StreamsBuilder()
    builder.stream("another-topic", key=serdes.string, value=serdes.string).to("sink")
    return builder.build()


def test_mistakes_are_named(cluster: EmbeddedCluster, app: PlannedApplication) -> None:
    app.start()
    app.described()
    without = command(cluster, app.application_id, "--assignor", "sticky")
    assert without.exit_code == 1
    assert without.stderr == (
        f"Error: The group {app.application_id} is a classic group. Brokers do not keep the topology of a classic "
        "group: give that of its application, with topology=, or --topology MODULE:FUNCTION.\n"
    )
    wrong = command(cluster, app.application_id, "--topology", f"{__name__}:other")
    assert wrong.exit_code == 1
    assert "Source topics of the topology do not exist: another-topic." in wrong.stderr
    cluster.create_topic("another-topic", 1)
    wrong = command(cluster, app.application_id, "--topology", f"{__name__}:other")
    assert wrong.exit_code == 1
    assert "The topology is not that of the group" in wrong.stderr
    assert "the group has the tasks 0_1, " in wrong.stderr
    absent = command(cluster, "absent", "--topology", f"{__name__}:other")
    assert absent.exit_code == 1
    assert "A plan with a topology is one of a classic group" in absent.stderr


def test_a_group_that_is_no_classic_group_is_named(cluster: EmbeddedCluster) -> None:
    cluster.create_topic("another-topic", 1)
    keys = {"application.id": "app", "bootstrap.servers": cluster.bootstrap_servers, "group.protocol": "streams"}
    with KafkaStreams(other(), keys) as app:
        app.wait_until_running(PATIENCE_S)
        done = command(cluster, "app", "--topology", f"{__name__}:other")
        assert done.exit_code == 1
        assert done.stderr == (
            "Error: The group app is a streams group and not a classic group. A plan with a topology is one of a "
            "classic group of a streams application: a streams group has its own.\n"
        )
    with KafkaShareConsumer(bootstrap_servers=cluster.bootstrap_servers, group_id="sharing") as consumer:
        consumer.subscribe(["another-topic"])
        consumer.poll(0.5)
        done = command(cluster, "sharing", "--topology", f"{__name__}:other")
        assert "The group sharing is a share group and not a classic group." in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Missing option '--assignor'. Only a plan of a classic group has a default, and needs --topology."),
        (("--topology", "build"), "'build' is not of the form MODULE:FUNCTION"),
        (("--topology", f"{__name__}:other", "--assignor", "sticky"), "it assigns tasks to members (KIP-1357)"),
        (("--topology", f"{__name__}:other", "--set", "num.standby.replica=1"), "Did you mean 'num.standby.replicas'?"),
        (("--topology", f"{__name__}:other", "--set", "num.standby.replicas=x"), "num.standby.replicas"),
    ],
)
def test_wrong_options_are_named(cluster: EmbeddedCluster, arguments: tuple[str, ...], message: str) -> None:
    done = command(cluster, "g", *arguments)
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())
