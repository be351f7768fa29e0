"""Resets of streams groups: `kafka-groups streams` plans what Kafka's own tool of 4.3.1 plans."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.cli.main import main
from kafka_groups.config.readers import read_host_ports
from kafka_groups.net.tcp import TcpNetwork
from kafka_groups.protocol.record_builder import NewRecord
from kafka_groups.testing import FAST_SETTINGS
from tests.support.cluster_client import ClusterClient
from tests.support.kafka.kafka_tools import KafkaTools
from tests.support.kafka.tool_scenes import at_coordinator
from tests.support.members.streams_member import StreamsMember
from tests.support.members.streams_topologies import sent, subtopology
from tests.support.requests.raw_client import RawClient

GROUP, TOPIC = "counting", "lines"
HOUR_MS = 3_600_000
BEGIN_MS = 1_577_836_800_000
"""The beginning of 2020."""
COMMITTED = {0: 4, 1: 1}

pytestmark = [pytest.mark.real_kafka, pytest.mark.slow]


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    """A cluster with a group that has no members any more, and committed offsets in partitions of different lengths."""
    settings = {**FAST_SETTINGS, "group.streams.initial.rebalance.delay.ms": 0}
    with EmbeddedCluster(settings=settings) as cluster:
        asyncio.run(prepare(cluster.bootstrap_servers))
        yield cluster


async def prepare(server: str) -> None:
    ((host, port),) = read_host_ports(server)
    client = ClusterClient(TcpNetwork(), host, port)
    topic = await client.create_topic(2, name=TOPIC)
    for partition, length in ((0, 6), (1, 3)):
        records = [NewRecord(b"v", timestamp_ms=BEGIN_MS + number * HOUR_MS) for number in range(length)]
        await client.produce(topic, records, partition=partition)
    await client.close()
    await at_coordinator(server, GROUP, commit_and_leave)


async def commit_and_leave(client: RawClient) -> None:
    member = StreamsMember(client, GROUP, "member-1")
    beat = await member.join(sent(subtopology("0", sources=(TOPIC,))))
    await member.beat(owned=beat.active)
    for partition, offset in COMMITTED.items():
        assert await member.commit(TOPIC, partition, offset=offset) == "NONE"
    await member.leave()


ALL = ("--all-input-topics",)
RESETS = [
    (*ALL, "--to-earliest"),
    (*ALL, "--to-latest"),
    (*ALL, "--to-current"),
    (*ALL, "--to-offset", "2"),
    (*ALL, "--to-offset", "99"),
    (*ALL, "--shift-by", "1"),
    (*ALL, "--shift-by", "-2"),
    (*ALL, "--shift-by", "5"),
    (*ALL, "--to-datetime", "2020-01-01T01:30:00.000"),
    (*ALL, "--to-datetime", "2020-01-01T03:30:00.000+01:00"),
    (*ALL, "--to-datetime", "2020-01-01T04:00:00.000"),
    (*ALL, "--to-datetime", "2030-01-01T00:00:00.000"),
    (*ALL, "--by-duration", "P1DT1H"),
    (*ALL, "--by-duration", "P10000D"),
    ("--input-topic", TOPIC, "--to-latest"),
    ("--input-topic", f"{TOPIC}:1", "--to-latest"),
    ("--input-topic", f"{TOPIC}:0,1", "--to-earliest"),
]


@pytest.mark.parametrize("options", RESETS, ids=" ".join)
def test_a_reset_is_planned_as_by_kafkas_tool(
    options: tuple[str, ...], cluster: EmbeddedCluster, kafka_tools: KafkaTools
) -> None:
    assert ours(cluster, *options) == theirs(cluster, kafka_tools, *options) != []


def test_offsets_in_a_file_are_planned_as_by_kafkas_tool(
    cluster: EmbeddedCluster, kafka_tools: KafkaTools, tmp_path: Path
) -> None:
    file = tmp_path / "offsets.csv"
    file.write_text(f"{TOPIC},0,2\n{TOPIC},1,99\n")
    planned = ours(cluster, "--from-file", str(file))
    assert planned == theirs(cluster, kafka_tools, "--from-file", str(file)) == [f"{TOPIC},0,2", f"{TOPIC},1,3"]


def ours(cluster: EmbeddedCluster, *options: str) -> list[str]:
    command = ["streams", "offsets", "reset", GROUP, *options, "--dry-run", "--export"]
    done = CliRunner().invoke(main, [*command, "--bootstrap-servers", cluster.bootstrap_servers])
    assert done.exit_code == 0, done.output
    return sorted(done.stdout.splitlines())


def theirs(cluster: EmbeddedCluster, tools: KafkaTools, *options: str) -> list[str]:
    command = ["--reset-offsets", "--group", GROUP, *options, "--dry-run", "--export"]
    done = tools.run("kafka-streams-groups", "--bootstrap-server", cluster.bootstrap_servers, *command)
    assert done.status == 0, done.out + done.err
    return sorted(line for line in done.out.splitlines() if line.startswith(f"{TOPIC},"))
