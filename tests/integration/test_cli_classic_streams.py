"""`kafka-groups streams` with a classic group on an embedded cluster: it is described, reset and deleted."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import pytest
from click.testing import CliRunner, Result

from kafka_groups import serdes
from kafka_groups.broker.faults import answer
from kafka_groups.cli.main import main
from kafka_groups.config.readers import read_host_ports
from kafka_groups.net.tcp import TcpNetwork
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from kafka_groups.protocol.streams_user_data.assignment_info import AssignmentInfo
from kafka_groups.protocol.streams_user_data.subscription_info import SubscriptionInfo
from kafka_groups.streams import StreamsBuilder, Topology
from kafka_groups.testing import FAST_SETTINGS, EmbeddedCluster
from kafka_groups.types import TaskId
from tests.support.cluster_client import ClusterClient, Topic
from tests.support.commands import rows
from tests.support.members.classic_member import ClassicMember
from tests.support.members.shown_classic_groups import PROCESS, assigned, joined_with
from tests.support.requests.raw_client import RawClient

RECORDS = 6
COUNTS, WORDS = "app-counts-changelog", "app-counts-repartition"
Run = Callable[..., Awaitable[Result]]
A, B = TaskId("0", 0), TaskId("0", 1)


def build() -> Topology:
    """Counts orders by their text."""
    builder = StreamsBuilder()
    orders = builder.stream("orders", key=serdes.string, value=serdes.string)
    orders.group_by(lambda _key, text: text, key=serdes.string, value=serdes.string).count(store="counts")
    return builder.build()


def invoices() -> Topology:
    """Reads another topic."""
    builder = StreamsBuilder()
    builder.stream("invoices", key=serdes.string, value=serdes.string).to("copies")
    return builder.build()


def patterns() -> Topology:
    """Counts the texts of all topics whose names begin with "ord"."""
    builder = StreamsBuilder()
    orders = builder.stream(re.compile(r"ord.+"), key=serdes.string, value=serdes.string)
    orders.group_by(lambda _key, text: text, key=serdes.string, value=serdes.string).count(store="counts")
    return builder.build()


TOPOLOGY = ("--topology", f"{__name__}:build")


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={**FAST_SETTINGS, "group.initial.rebalance.delay.ms": 0}) as cluster:
        cluster.create_topic("orders", 2)
        cluster.produce("orders", map(str, range(RECORDS)), partition=0)
        yield cluster


@pytest.fixture
def run(cluster: EmbeddedCluster) -> Run:
    """Runs `kafka-groups streams` in this process, on another thread."""

    async def command(*arguments: str) -> Result:
        given = ["streams", *arguments, "--bootstrap-servers", cluster.bootstrap_servers]
        return await asyncio.to_thread(CliRunner().invoke, main, given)

    return command


@pytest.fixture
async def member(cluster: EmbeddedCluster) -> AsyncIterator[ClassicMember]:
    """A member that leads, has a task, and has committed an offset."""
    for name in (COUNTS, WORDS):
        cluster.create_topic(name, 2)
    ((host, port),) = read_host_ports(cluster.bootstrap_servers)
    asking, client = ClusterClient(TcpNetwork(), host, port), RawClient(TcpNetwork(), host, port)
    await asking.coordinator_of("app")
    info = SubscriptionInfo(process_id=PROCESS, user_endpoint="h:7", client_tags=(("zone", "a"),))
    subscription = joined_with(info, owned_partitions={"orders": (0, 1)}, generation_id=3, rack_id="r")
    joined = ClassicMember(client, "app", "i", protocols=[("stream", subscription)])
    await joined.join()
    given = AssignmentInfo(active_tasks=(A,), next_rebalance_ms=1_750_000_000_000)
    await joined.sync({joined.member_id: assigned(given, orders=(0,))})
    topic = cluster.metadata.topic("orders")
    assert topic is not None
    assert await joined.commit(Topic("orders", topic.topic_id), 2) == "NONE"
    yield joined
    await joined.leave()
    await client.disconnect()
    await asking.close()
    for name in {COUNTS, WORDS}:
        if cluster.metadata.topic(name) is not None:
            cluster.delete_topic(name)


async def test_a_classic_group_is_described(cluster: EmbeddedCluster, run: Run, member: ClassicMember) -> None:
    described = await run("describe", "app", "absent")
    assert (described.exit_code, described.stderr) == (1, "absent: Group absent not found (GROUP_ID_NOT_FOUND)\n")
    assert described.stdout.splitlines() == [
        f"app Stable lag={RECORDS - 2} members=1 protocol=classic",
        f"  process {PROCESS}",
        f"    {member.member_id} conformance /127.0.0.1 version=11 instance=i rack=r endpoint=h:7 tags=zone=a",
        "      active 0_0",
        "      owned before: 0_0 0_1",
        "      joins again at 2025-06-15T15:06:40+00:00",
    ]
    documents = await run("describe", "app", "absent", "--json")
    found = json.loads(documents.stdout)
    assert documents.exit_code == 1
    assert [(each["group"], each["protocol"], len(each["members"])) for each in found["items"]] == [
        ("app", "classic", 1)
    ]
    assert [each["resource"] for each in found["errors"]] == ["absent"]
    await member.leave()
    assert (await run("describe", "app")).stdout == f"app Empty lag={RECORDS - 2} members=0 protocol=classic\n"


async def test_brokers_without_streams_groups(cluster: EmbeddedCluster, run: Run, member: ClassicMember) -> None:
    highest = {ApiKey.API_VERSIONS: 4, ApiKey.METADATA: 12, ApiKey.FIND_COORDINATOR: 4, ApiKey.LIST_GROUPS: 4}
    highest |= {ApiKey.DESCRIBE_GROUPS: 5, ApiKey.OFFSET_FETCH: 8, ApiKey.LIST_OFFSETS: 8}
    listed = tuple(ApiVersion(api_key=int(key), min_version=0, max_version=high) for key, high in highest.items())
    rule = cluster.faults.on(ApiKey.API_VERSIONS, answer(lambda _request: ApiVersionsResponse(api_keys=listed)))
    described = await run("describe", "app", "absent")
    cluster.faults.remove(rule)
    assert described.stdout.startswith(f"app Stable lag={RECORDS - 2} members=1 protocol=classic\n")
    assert described.stderr == "absent: There is no classic group absent (GROUP_ID_NOT_FOUND)\n"


async def test_other_groups_are_named_by_their_type(cluster: EmbeddedCluster, run: Run, member: ClassicMember) -> None:
    await member.leave()
    member.known_as("").protocols = (("range", joined_with()),)
    await member.join()
    await member.sync({member.member_id: assigned()})
    described = await run("describe", "app")
    assert (described.exit_code, described.stdout) == (1, "")
    assert described.stderr.startswith(
        "app: The group app is a classic group with the protocol type 'consumer' and the"
    )


async def test_an_application_is_reset_without_java(cluster: EmbeddedCluster, run: Run, member: ClassicMember) -> None:
    reset = ("offsets", "reset", "app", "--all-input-topics", "--to-earliest")
    running = await run(*reset, "--execute", *TOPOLOGY)
    assert (running.exit_code, running.stdout) == (1, "")
    assert (
        "The classic group app has members (it is Stable). Stop its application first (NON_EMPTY_GROUP)"
        in running.stderr
    )
    await member.leave()
    listed = rows((await run("offsets", "list", "app", *TOPOLOGY)).stdout)
    assert listed == [
        f"app {WORDS} 0 - 0 0",
        f"app {WORDS} 1 - 0 0",
        f"app orders 0 2 {RECORDS} {RECORDS - 2}",
        "app orders 1 - 0 0",
    ]
    wrong = await run(*reset, "--execute", "--delete-internal-topic", "orders", *TOPOLOGY)
    assert wrong.stderr == f"app: orders is not an internal topic of app. Those are {COUNTS}, {WORDS}.\n"
    moved = ["app orders 0 0", "app orders 1 0"]
    assert rows((await run(*reset, "--dry-run", *TOPOLOGY)).stdout) == moved
    assert rows((await run("offsets", "list", "app", *TOPOLOGY)).stdout) == listed
    some = await run(*reset, "--execute", "--delete-internal-topic", WORDS, *TOPOLOGY)
    assert rows(some.stdout) == [*moved, f"app {WORDS} - deleted"]
    rest = await run(*reset, "--execute", "--delete-all-internal-topics", *TOPOLOGY)
    assert (rest.exit_code, rows(rest.stdout)) == (0, [*moved, f"app {COUNTS} - deleted"])
    again = await run(*reset, "--execute", "--delete-all-internal-topics", *TOPOLOGY)
    assert (again.exit_code, rows(again.stdout)) == (0, moved)
    assert rows((await run("offsets", "alter", "app", "orders:0=4", *TOPOLOGY)).stdout) == ["app orders 0 4"]
    forgotten = await run("offsets", "delete", "app", "--all-input-topics", *TOPOLOGY)
    assert rows(forgotten.stdout) == ["app orders 0", "app orders 1"]


async def test_patterns_mean_the_topics_that_exist(run: Run, member: ClassicMember) -> None:
    await member.leave()
    given = ("--topology", f"{__name__}:patterns")
    reset = ("offsets", "reset", "app", "--all-input-topics", "--to-latest", "--execute", *given)
    moved = [f"app orders 0 {RECORDS}", "app orders 1 0"]
    assert rows((await run(*reset, "--delete-internal-topic", COUNTS)).stdout) == [*moved, f"app {COUNTS} - deleted"]
    assert rows((await run(*reset, "--delete-all-internal-topics")).stdout) == [*moved, f"app {WORDS} - deleted"]
    assert (await run("offsets", "delete", "app", "--all-input-topics", *given)).exit_code == 0


async def test_a_group_is_deleted_with_its_topics(cluster: EmbeddedCluster, run: Run, member: ClassicMember) -> None:
    busy = await run("delete", "app", *TOPOLOGY)
    assert (busy.exit_code, busy.stdout) == (1, "")
    await member.leave()
    strange = await run("delete", "app", "--topology", f"{__name__}:invoices")
    assert (strange.exit_code, strange.stdout) == (1, "")
    assert strange.stderr.startswith("app: topology: the classic group app has committed offsets of orders, and the")
    deleted = await run("delete", "app", "--delete-all-internal-topics", *TOPOLOGY)
    assert (deleted.exit_code, rows(deleted.stdout)) == (0, [f"topic {COUNTS}", f"topic {WORDS}", "group app"])
    gone = await run("delete", "app", "--delete-all-internal-topics", *TOPOLOGY)
    assert (gone.exit_code, gone.stdout, gone.stderr) == (1, "", "app: Group app not found (GROUP_ID_NOT_FOUND)\n")


COMMANDS = [
    ["offsets", "list", "app"],
    ["offsets", "alter", "app", "orders:0=1"],
    ["offsets", "reset", "app", "--all-input-topics", "--to-earliest", "--execute"],
    ["offsets", "reset", "app", "--all-input-topics", "--to-earliest", "--execute", "--delete-internal-topic", COUNTS],
    ["offsets", "delete", "app", "--all-input-topics"],
    ["offsets", "delete", "app", "--input-topic", "orders"],
    ["delete", "app"],
    ["delete", "app", "--delete-all-internal-topics"],
]


async def test_without_the_topology_commands_ask_for_it(run: Run, member: ClassicMember) -> None:
    await member.leave()
    for command in COMMANDS:
        done = await run(*command)
        assert (done.exit_code, done.stdout) == (1, "")
        assert "app is a classic group (Empty). Brokers do not keep the topology of a classic group: " in done.stderr
        assert "--topology MODULE:FUNCTION" in done.stderr


async def test_a_topology_that_cannot_be_built_is_told(run: Run) -> None:
    done = await run("offsets", "list", "app", "--topology", f"{__name__}:nothing")
    assert (done.exit_code, done.stdout) == (1, "")
    assert f"Module {__name__!r} has no function 'nothing'." in done.stderr
    done = await run("offsets", "list", "app", "--topology", "nothing")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "'nothing' is not of the form MODULE:FUNCTION" in done.stderr
