"""`kafka-groups streams plan` on an embedded cluster over TCP."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kafka_groups.admin import KafkaAdmin
from kafka_groups.assignment import (
    ApplicationState,
    AssignedTask,
    KafkaStreamsAssignment,
    MemberAssignment,
    MemberAssignments,
    StreamsGroupSpec,
    TaskAssignment,
    TaskAssignmentError,
    TaskAssignor,
    TopologyDescriber,
)
from kafka_groups.cli.main import main
from kafka_groups.config.readers import read_host_ports
from kafka_groups.net.tcp import TcpNetwork
from kafka_groups.protocol.messages.streams_group_parts import KeyValue, TaskOffset
from kafka_groups.testing import FAST_SETTINGS, EmbeddedCluster
from tests.support.cluster_client import ClusterClient
from tests.support.conditions import until
from tests.support.members.streams_member import StreamsMember
from tests.support.members.streams_topologies import internal, sent, subtopology
from tests.support.requests.raw_client import RawClient

RECORDS = 5
CHANGELOG = "app-counts-changelog"
COUNTING = sent(subtopology("0", sources=("orders",), changelogs=(internal(CHANGELOG),)))
Run = Callable[..., Awaitable[Result]]


class TagPinned(TaskAssignor):
    """Gives all tasks to the first process with a client tag that its configuration names."""

    def __init__(self) -> None:
        self.zone: object = None

    def configure(self, configs: Any) -> None:
        self.zone = configs.get("zone")

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        states = application_state.kafka_streams_states(compute_task_lags=False)
        chosen = next((id_ for id_, each in states.items() if each.client_tags.get("zone") == self.zone), None)
        if chosen is None:
            raise TaskAssignmentError(f"no process in zone {self.zone}")
        mine = [AssignedTask.active(task) for task in application_state.all_tasks]
        return TaskAssignment(KafkaStreamsAssignment.of(id_, mine if id_ == chosen else ()) for id_ in states)


class ByMember:
    """Gives all tasks to the last member (KIP-1357)."""

    name = "last-member"

    def assign(self, group: StreamsGroupSpec, topology: TopologyDescriber) -> MemberAssignments:
        tasks = {id_: frozenset(range(each.max_num_input_partitions)) for id_, each in topology.subtopologies.items()}
        return MemberAssignments({max(group.members): MemberAssignment(active_tasks=tasks)})


def broken(_state: ApplicationState) -> TaskAssignment:
    raise KeyError("zone")


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    settings = {
        **FAST_SETTINGS,
        "group.streams.initial.rebalance.delay.ms": 0,
        "group.streams.assignment.interval.ms": 0,
    }
    with EmbeddedCluster(settings=settings) as cluster:
        cluster.create_topic("orders", 2)
        yield cluster


@pytest.fixture
def run(cluster: EmbeddedCluster) -> Run:
    """Runs `kafka-groups streams plan` in this process, on another thread."""

    async def command(*arguments: str) -> Result:
        given = ["streams", "plan", *arguments, "--bootstrap-servers", cluster.bootstrap_servers]
        return await asyncio.to_thread(CliRunner().invoke, main, given)

    return command


@pytest.fixture
async def member(cluster: EmbeddedCluster) -> AsyncIterator[StreamsMember]:
    """A member of zone a that has both tasks, and has reported how far they are."""
    ((host, port),) = read_host_ports(cluster.bootstrap_servers)
    asking, client = ClusterClient(TcpNetwork(), host, port), RawClient(TcpNetwork(), host, port)
    await asking.coordinator_of("app")
    joined = StreamsMember(client, "app", "member-1")
    await joined.join(COUNTING, process_id="p", client_tags=(KeyValue(key="zone", value="a"),))
    beat = await until(joined.beat, lambda it: bool(it.active))
    offsets = (TaskOffset(subtopology_id="0", partition=0, offset=RECORDS),)
    await joined.beat(owned=beat.active, task_offsets=offsets, task_end_offsets=offsets)
    cluster.produce(CHANGELOG, map(str, range(RECORDS)), partition=0)
    yield joined
    await client.disconnect()
    await asking.close()


async def test_a_plan_of_ones_own_assignor(run: Run, member: StreamsMember) -> None:
    place = f"{__name__}:TagPinned"
    stays = await run("app", "--assignor", place, "--set", "zone=a")
    assert (stays.exit_code, stays.stderr) == (0, "")
    assert stays.stdout.splitlines()[-1] == "No task moves."
    joins = ("--with-process", "threads=2,tag.zone=b", "--set", "zone=b")
    moves = await run("app", "--assignor", place, *joins)
    assert (moves.exit_code, moves.stderr) == (0, "")
    head, *lines = moves.stdout.splitlines()
    assert head == "app is Stable. This is what TagPinned would do; nothing was changed. The group uses sticky."
    assert [line.split()[1] for line in lines if "active" in line and "new-1" in line] == ["0_0", "0_1"]
    assert lines[-1] == f"Moves: 2. Records to copy: at most {RECORDS}."
    refused = await run("app", "--assignor", place, "--set", "zone=c")
    assert refused.exit_code == 1
    assert refused.stderr.splitlines() == [
        "Error: the group would not use this result and keep its tasks. TaskAssignmentError: no process in zone c"
    ]


async def test_a_plan_as_json_of_an_assignor_by_member(run: Run, member: StreamsMember) -> None:
    done = await run("app", "--assignor", f"{__name__}:ByMember", "--with-process", "rack=r", "--json")
    assert (done.exit_code, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    assert [(move["task"], move["to"], move["records"]) for move in document["moves"]] == [
        ("0_0", {"member": "new-1-1", "process": "new-1"}, RECORDS),
        ("0_1", {"member": "new-1-1", "process": "new-1"}, 0),
    ]
    assert (document["assignor"], document["state"], document["records"]) == ("last-member", "Stable", RECORDS)


async def test_built_in_assignors_copies_and_members_that_leave(run: Run, member: StreamsMember) -> None:
    done = await run("app", "--assignor", "sticky", "--without", "member-1", "--with-process", "", "--json")
    assert done.exit_code == 0
    assert done.stderr.startswith("Warning: Kafka's own brokers may decide otherwise")
    before, after = ([each[name] for each in json.loads(done.stdout)["processes"]] for name in ("before", "after"))
    assert (before, after) == ([None, {"active": 2, "standby": 0}], [{"active": 2, "standby": 0}, None])
    done = await run(
        "app", "--assignor", "highly_available", "--with-process", "", "--standbys", "1", "--set",
        "max.warmup.replicas=1", "--json",
    )  # fmt: skip
    assert done.exit_code == 0
    assert sum(each["after"]["standby"] for each in json.loads(done.stdout)["processes"]) == 2


async def test_nothing_is_changed(cluster: EmbeddedCluster, run: Run, member: StreamsMember) -> None:
    def described() -> object:
        with KafkaAdmin(bootstrap_servers=cluster.bootstrap_servers) as admin:
            return admin.describe_streams_groups(["app"])["app"], admin.describe_group_configs(["app"])["app"]

    before = await asyncio.to_thread(described)
    assert (await run("app", "--assignor", "sticky", "--standbys", "1", "--with-process", "")).exit_code == 0
    assert await asyncio.to_thread(described) == before


async def test_errors_name_what_to_do(run: Run, member: StreamsMember) -> None:
    failed = await run("app", "--assignor", f"{__name__}:broken")
    assert (failed.exit_code, failed.stdout) == (1, "")
    assert "in broken\n" in failed.stderr  # the traceback
    assert failed.stderr.splitlines()[-1] == "Error: The task assignor broken failed: KeyError: 'zone'"
    unknown = await run("app", "--assignor", "sticky", "--without", "nobody")
    assert unknown.exit_code == 1
    assert unknown.stderr == "Error: The group has no member nobody. Its members are member-1.\n"
    await member.leave()
    empty = await run("app", "--assignor", "sticky")
    assert (empty.exit_code, empty.stdout) == (1, "")
    assert empty.stderr.startswith("Error: The streams group app is Empty. It has no members")


async def test_a_module_in_the_working_directory_is_found(
    run: Run, member: StreamsMember, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "from kafka_groups.assignment import HighAvailabilityTaskAssignor\n\nMine = HighAvailabilityTaskAssignor\n"
    (tmp_path / "planned_assignors.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    done = await run("app", "--assignor", "planned_assignors:Mine")
    assert (done.exit_code, done.stdout.splitlines()[-1]) == (0, "No task moves.")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Missing option '--assignor'"),
        (("--assignor", "nobody"), "Unknown task assignor 'nobody'"),
        (("--assignor", "no_such_module:Class"), "Could not import the task assignor 'no_such_module:Class'"),
        (("--assignor", "sticky", "--with-process", "zone=b"), "Unknown key 'zone' of the process 'zone=b'"),
        (("--assignor", "sticky", "--set", "zone"), "'zone' is not of the form KEY=VALUE"),
        (("--assignor", "sticky", "--set", "zone=b"), "has no configuration: leave --set out"),
        (("--assignor", "highly_available", "--set", "max.warmup.replicas=0"), "max_warmup_replicas must be between"),
        (("--assignor", "sticky", "--standbys", "-1"), "-1 is not in the range"),
    ],
)
async def test_wrong_options_are_named(run: Run, arguments: tuple[str, ...], message: str) -> None:
    done = await run("g", *arguments)
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())
