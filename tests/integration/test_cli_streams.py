"""`kafka-groups streams` on an embedded cluster."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kafka_groups.broker.faults import answer
from kafka_groups.cli.main import main
from kafka_groups.config.readers import read_host_ports
from kafka_groups.net.tcp import TcpNetwork
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.list_groups import ListGroupsResponse
from kafka_groups.protocol.messages.streams_group_parts import KeyValue, TaskOffset, UserEndpoint
from kafka_groups.testing import FAST_SETTINGS, EmbeddedCluster
from tests.support.cluster_client import ClusterClient
from tests.support.commands import rows
from tests.support.conditions import until
from tests.support.members.streams_member import StreamsMember
from tests.support.members.streams_topologies import internal, sent, subtopology
from tests.support.requests.raw_client import RawClient

RECORDS = 6
WORDS, COUNTS = "app-words-repartition", "app-counts-changelog"
COUNTING = sent(
    subtopology("0", sources=("orders",), sinks=(WORDS,)),
    subtopology("1", repartitions=(internal(WORDS),), changelogs=(internal(COUNTS),)),
)
Run = Callable[..., Awaitable[Result]]


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    settings = {
        **FAST_SETTINGS,
        "group.streams.initial.rebalance.delay.ms": 0,
        "group.streams.assignment.interval.ms": 0,
    }
    with EmbeddedCluster(settings=settings) as cluster:
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
async def member(cluster: EmbeddedCluster) -> AsyncIterator[StreamsMember]:
    """A member that has joined with a topology with internal topics, which are there."""
    ((host, port),) = read_host_ports(cluster.bootstrap_servers)
    asking, client = ClusterClient(TcpNetwork(), host, port), RawClient(TcpNetwork(), host, port)
    await asking.coordinator_of("app")
    joined = StreamsMember(client, "app", "member-1", "i")
    await joined.join(
        COUNTING,
        rack_id="r",
        process_id="p",
        user_endpoint=UserEndpoint(host="h", port=7),
        client_tags=(KeyValue(key="zone", value="a"),),
    )
    beat = await until(joined.beat, lambda it: bool(it.active))
    await joined.beat(owned=beat.active)
    yield joined
    await client.disconnect()
    await asking.close()


def positions(*offsets: int) -> tuple[TaskOffset, ...]:
    return tuple(TaskOffset(subtopology_id="1", partition=at, offset=offset) for at, offset in enumerate(offsets))


async def test_a_group_with_a_member(run: Run, member: StreamsMember) -> None:
    listed = "GROUP  TYPE     STATE\napp    streams  Stable\n"
    assert (await run("list")).stdout == listed
    assert (await run("list", "--state", "NotReady")).stdout == ""
    assert (await run("list", "--state", "stable")).stdout == listed
    assert (await run("list", "--quiet")).stdout == "app\n"
    described = await run("describe", "app", "absent")
    assert described.exit_code == 1
    assert described.stderr.startswith("absent: ")
    head, *lines = described.stdout.splitlines()
    assert head == f"app Stable lag={RECORDS} members=1 epoch=3 assignment-epoch=3 assignor=sticky"
    assert lines == [
        "  sub-topology 0",
        "    sources: orders",
        f"    repartition sinks: {WORDS}",
        "  sub-topology 1",
        f"    repartition sources: {WORDS} (2)",
        f"    changelogs: {COUNTS} (2)",
        "  member-1 conformance /127.0.0.1 epoch=3 process=p instance=i rack=r endpoint=h:7 tags=zone=a",
        "    active 0_0 0_1 1_0 1_1",
    ]
    other = StreamsMember(member.client, "app", "member-2")
    await other.join(COUNTING)
    second = (await run("describe", "app")).stdout.splitlines()[-4:]
    assert second[1:] == ["  member-2 conformance /127.0.0.1 epoch=4 process=member-2", *second[2:]]
    assert second[2] == "    no tasks"
    assert second[3].startswith("    target: active ")
    await member.beat(task_offsets=positions(3, 9), task_end_offsets=positions(7, 8))
    assert "    changelog lag: 1_0=4 1_1=0" in (await run("describe", "app")).stdout.splitlines()
    for refused in (
        ["offsets", "reset", "app", "--to-earliest", "--all-input-topics", "--dry-run"],
        ["offsets", "alter", "app", "orders:0=1"],
    ):
        done = await run(*refused)
        assert (done.exit_code, done.stdout) == (1, "")
        assert "app has members" in done.stderr
    deleted = await run("delete", "app", "--delete-all-internal-topics")
    assert (deleted.exit_code, deleted.stdout) == (1, "")
    assert deleted.stderr.startswith("app: The streams group app has members")
    kept = await run("offsets", "delete", "app", "--all-input-topics")
    assert (kept.exit_code, kept.stdout) == (1, "")
    assert kept.stderr.startswith("app orders:0: ")
    assert "GROUP_SUBSCRIBED_TO_TOPIC" in kept.stderr


async def test_offsets_from_the_first_to_the_last_command(run: Run, member: StreamsMember, tmp_path: Path) -> None:
    await member.leave()
    reset = ("offsets", "reset", "app", "--all-input-topics")
    assert rows((await run("offsets", "alter", "app", "orders:0=2", "--dry-run")).stdout) == ["app orders 0 2"]
    assert rows((await run("offsets", "alter", "app", "orders:0=2")).stdout) == ["app orders 0 2"]
    assert rows((await run("offsets", "list", "app")).stdout) == [
        f"app {WORDS} 0 - 0 0",
        f"app {WORDS} 1 - 0 0",
        f"app orders 0 2 {RECORDS} {RECORDS - 2}",
        "app orders 1 - 0 0",
    ]
    ends = await run(*reset, "--to-latest", "--dry-run", "--export")
    assert ends.stdout == f"orders,0,{RECORDS}\norders,1,0\n"
    assert rows((await run(*reset, "--shift-by", "1", "--execute")).stdout) == ["app orders 0 3"]
    assert rows((await run(*reset, "--to-current", "--execute")).stdout) == ["app orders 0 3"]
    assert rows((await run(*reset, "--by-duration", "P1D", "--execute")).stdout) == ["app orders 0 0", "app orders 1 0"]
    some = await run("offsets", "reset", "app", "--input-topic", "orders:0", "--to-offset", "4", "--execute")
    assert rows(some.stdout) == ["app orders 0 4"]
    later = await run(*reset, "--to-datetime", "2100-01-01T00:00:00.000", "--execute")
    assert rows(later.stdout) == [f"app orders 0 {RECORDS}", "app orders 1 0"]
    file = tmp_path / "offsets.csv"
    file.write_text("orders,0,1\norders,1,9\n")
    from_file = await run("offsets", "reset", "app", "--from-file", str(file), "--execute")
    assert rows(from_file.stdout) == ["app orders 0 1", "app orders 1 0"]
    planned = await run("offsets", "delete", "app", "--input-topic", "orders:0,9", "--dry-run")
    assert (planned.exit_code, rows(planned.stdout)) == (0, ["app orders 0"])
    assert rows((await run("offsets", "delete", "app", "--all-topics", "--dry-run")).stdout) == [
        "app orders 0",
        "app orders 1",
    ]
    deleted = await run("offsets", "delete", "app", "--input-topic", "orders:0,9")
    assert (deleted.exit_code, rows(deleted.stdout)) == (1, ["app orders 0"])
    assert deleted.stderr.startswith("app orders:9: ")
    assert "UNKNOWN_TOPIC_OR_PARTITION" in deleted.stderr
    every = await run("offsets", "delete", "app", "--all-input-topics")
    assert rows(every.stdout) == ["app orders 0", "app orders 1"]
    nothing = await run("offsets", "delete", "app", "--all-topics", "--dry-run")
    assert (nothing.exit_code, nothing.stdout) == (1, "")
    assert nothing.stderr.endswith("app: It has no committed offsets of these topics.\n")


async def test_a_reset_deletes_internal_topics(cluster: EmbeddedCluster, run: Run, member: StreamsMember) -> None:
    await member.leave()
    reset = ("offsets", "reset", "app", "--all-input-topics", "--to-earliest", "--execute")
    wrong = await run(*reset, "--delete-internal-topic", "orders")
    assert (wrong.exit_code, wrong.stdout) == (1, "")
    assert wrong.stderr == f"app: orders is not an internal topic of app. Those are {COUNTS}, {WORDS}.\n"
    moved = ["app orders 0 0", "app orders 1 0"]
    assert rows((await run(*reset, "--delete-internal-topic", COUNTS)).stdout) == [*moved, f"app {COUNTS} - deleted"]
    every = await run(*reset, "--delete-all-internal-topics")
    assert (every.exit_code, rows(every.stdout)) == (1, [*moved, f"app {WORDS} - deleted"])
    assert every.stderr.startswith(f"{COUNTS}: ")
    assert cluster.metadata.topic(WORDS) is cluster.metadata.topic(COUNTS) is None
    failed = await run(
        "offsets",
        "reset",
        "app",
        "--input-topic",
        "orders:9",
        "--to-latest",
        "--execute",
        "--delete-all-internal-topics",
    )
    assert (failed.exit_code, failed.stdout, failed.stderr.count("\n")) == (1, "", 1)


async def test_groups_are_deleted_with_their_internal_topics(
    cluster: EmbeddedCluster, run: Run, member: StreamsMember
) -> None:
    await member.leave()
    deleted = await run("delete", "app", "absent", "--delete-all-internal-topics")
    assert (deleted.exit_code, rows(deleted.stdout)) == (1, [f"topic {COUNTS}", f"topic {WORDS}", "group app"])
    assert deleted.stderr.startswith("absent: ")
    assert cluster.metadata.topic(WORDS) is None
    assert (await run("list")).stdout == ""
    missing = await run("offsets", "delete", "app", "--all-input-topics")
    assert (missing.exit_code, missing.stdout) == (1, "")


async def test_configurations(run: Run) -> None:
    async def shown() -> list[list[str]]:
        return [line.split() for line in (await run("configs", "app")).stdout.splitlines()]

    assert ["streams.num.standby.replicas", "0", "DEFAULT_CONFIG"] in await shown()
    assert all(line[0].startswith(("KEY", "streams.")) for line in await shown())
    changed = await run("configs", "app", "--set", "streams.num.standby.replicas=1")
    assert changed.stdout.split() == ["KEY", "VALUE", "streams.num.standby.replicas", "1"]
    assert ["streams.num.standby.replicas", "1", "DYNAMIC_GROUP_CONFIG"] in await shown()
    invalid = await run("configs", "app", "--set", "streams.num.standby.replicas=9")
    assert (invalid.exit_code, invalid.stdout) == (1, "")
    assert invalid.stderr.startswith("group app: ")
    assert (await run("configs", "app", "--unset", "streams.num.standby.replicas")).stdout.split()[-1] == "(reset)"
    assert ["streams.num.standby.replicas", "0", "DEFAULT_CONFIG"] in await shown()


async def test_a_broker_that_fails_to_list_is_named(cluster: EmbeddedCluster, run: Run) -> None:
    refusal = ListGroupsResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    cluster.faults.on(ApiKey.LIST_GROUPS, answer(refusal))
    listed = await run("list")
    assert (listed.exit_code, listed.stdout) == (1, "")
    assert listed.stderr.startswith("broker 1: ")
    assert "CLUSTER_AUTHORIZATION_FAILED" in listed.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["offsets", "reset", "g", "--to-latest", "--all-input-topics"], "either --dry-run or --execute"),
        (["offsets", "alter", "g", "orders=1"], "'orders=1' is not of the form TOPIC:PARTITION=OFFSET"),
        (["offsets", "alter", "g", "orders:0,1=1"], "'orders:0,1=1' is not of the form"),
        (["offsets", "alter", "g", "orders:0=x"], "'orders:0=x' is not of the form"),
        (["offsets", "delete", "g"], "either --topic"),
        (["configs", "g", "--set", "streams.num.standby.replicas"], "is not of the form KEY=VALUE"),
        (["configs", "g", "--unset", "share.auto.offset.reset"], "does not configure streams groups"),
        (["delete"], "Missing argument 'GROUP...'"),
    ],
)
async def test_wrong_options_are_named(run: Run, arguments: list[str], message: str) -> None:
    done = await run(*arguments)
    assert done.exit_code == 2
    assert message in done.stderr
