"""The metrics of the embedded broker have Kafka's names, and Kafka's values after the same actions."""

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping

import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.metrics import METRICS
from kafka_groups.config.cluster.streams_group import IN_MEMORY_DESCRIPTIONS
from kafka_groups.net.tcp import TcpNetwork
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.streams_group_describe import StreamsGroupDescribeRequest
from kafka_groups.protocol.messages.streams_group_topology_description_update import (
    StreamsGroupTopologyDescriptionUpdateRequest,
)
from kafka_groups.protocol.messages.topology_description import DescribedTopology
from kafka_groups.testing.kafka_process import KafkaProcess
from kafka_groups.types import AcknowledgeType
from tests.support.cluster_client import ClusterClient
from tests.support.conditions import wait_until
from tests.support.dead_letter_world import ENABLED, new_world
from tests.support.kafka.kafka_metrics import KafkaMetrics
from tests.support.kafka.kafka_tools import KafkaTools
from tests.support.kafka.tool_scenes import Stage, at_coordinator, consume, count, leave, produce, share
from tests.support.members.raw_member import acknowledge
from tests.support.requests.raw_client import RawClient
from tests.support.targets import EMBEDDED_PROPERTIES, CutFetches, Target

SETTINGS = {
    "group.share.heartbeat.interval.ms": "500",
    "group.share.assignment.interval.ms": "0",
    "group.streams.max.session.timeout.ms": "300000",
    "group.streams.session.timeout.ms": "300000",
    "group.streams.topology.description.plugin.class": IN_MEMORY_DESCRIPTIONS,
}
"""The member of the streams group sends no heartbeats while Kafka counts."""
TIMING = {
    "kafka.server:type=share-coordinator-metrics:write-total",
    "kafka.server:type=group-coordinator-metrics:share-group-rebalance-count",
}
"""How often something happens depends on when heartbeats and fetches arrive."""
STABLE = "kafka.server:type=group-coordinator-metrics,state=Stable:{}-group-count"
MINUTELY = frozenset(metric.name for metric in METRICS if metric.unit == "groups")
"""Kafka counts groups once a minute."""
Metrics = Mapping[str, int]

pytestmark = [pytest.mark.real_kafka, pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def kafka(real_kafka: KafkaProcess) -> Iterator[tuple[str, Callable[[], Metrics]]]:
    with (
        KafkaMetrics() as metrics,
        KafkaProcess(real_kafka.version, SETTINGS, java_options=metrics.java_options) as process,
    ):
        yield process.bootstrap_servers, lambda: known(metrics)


@pytest.fixture(scope="module")
def embedded() -> Iterator[tuple[str, Callable[[], Metrics]]]:
    with EmbeddedCluster(settings={**EMBEDDED_PROPERTIES, **SETTINGS}) as cluster:
        yield cluster.bootstrap_servers, cluster.metrics


def known(metrics: KafkaMetrics) -> Metrics:
    """Those of Kafka's metrics that the embedded broker has, too."""
    names = {metric.name for metric in METRICS}
    domains = {name.partition(":")[0] for name in names}
    found = {name: value for domain in domains for name, value in metrics.read(f"{domain}:*").items()}
    # Kafka has these for each group, from its first dead letter on.
    of_groups = Counter({name: 0 for name in names if "name=DeadLetterQueue" in name})
    for name, value in found.items():
        if "name=DeadLetterQueue" in name and name.endswith(":Count"):
            of_groups[re.sub(r",group=[^,:]*", "", name)] += int(float(value))
    return {name: int(float(found[name])) for name in names & found.keys()} | dict(of_groups)


@pytest.mark.long  # it waits for a whole minute
def test_the_same_actions_give_the_same_values(
    kafka: tuple[str, Callable[[], Metrics]], embedded: tuple[str, Callable[[], Metrics]], kafka_tools: KafkaTools
) -> None:
    seen = [list(played(*broker, kafka_tools)) for broker in (kafka, embedded)]
    for number, (on_kafka, on_embedded) in enumerate(zip(*seen, strict=True)):
        left_out = TIMING if number == 0 else TIMING | MINUTELY
        assert without(left_out, on_embedded) == without(left_out, on_kafka)


async def dead_letters(server: str, kind: str) -> None:
    """Have three records rejected with a queue that takes letters, and one with a queue that does not."""
    host, _, port = server.rpartition(":")
    target = Target(kind, host, int(port), TcpNetwork(), no_cuts, ClusterClient(TcpNetwork(), host, int(port)))
    for records, configs in ((3, ENABLED), (1, {**ENABLED, "cleanup.policy": "compact"})):
        world = await new_world(target, records, queue=configs)
        member = await world.member()
        await member.fetch_until_acquired()
        await member.settle(acknowledge(AcknowledgeType.REJECT, 0, records - 1))
        await world.until_writes(2)
        await member.close_session()
        await member.leave()
    await target.close()


def no_cuts(_every: int) -> CutFetches:
    raise AssertionError("no test here cuts fetches")


def test_dead_letters_are_counted(
    kafka: tuple[str, Callable[[], Metrics]], embedded: tuple[str, Callable[[], Metrics]]
) -> None:
    counts = []
    for server, metrics in (kafka, embedded):
        asyncio.run(dead_letters(server, "any"))
        counts.append({name: value for name, value in metrics().items() if "name=DeadLetterQueue" in name})
    assert counts[0] == counts[1]
    assert sorted(counts[0].values()) == [1, 2, 3]


def without(names: Collection[str], metrics: Metrics) -> Metrics:
    return {name: value for name, value in metrics.items() if name not in names}


def played(server: str, metrics: Callable[[], Metrics], tools: KafkaTools) -> Iterator[Metrics]:
    """Metrics while groups of each type have members, after they left, and when they are deleted."""
    stage = Stage(server)
    to = ("--bootstrap-server", server)
    from_start = ("--add-config", "share.auto.offset.reset=earliest")
    with stage.clients:
        tools.run("kafka-topics", *to, "--create", "--topic", "counted", "--partitions", "2")
        produce("counted")(stage)
        tools.run("kafka-configs", *to, "--alter", "--entity-type", "groups", "--entity-name", "sharing", *from_start)
        consume("counted", "billing")(stage)
        share("counted", "sharing")(stage)
        count("counted", "counting")(stage)
        describe_topology(server, "counting")
        wait_until(lambda: all(metrics()[STABLE.format(kind)] == 1 for kind in ("share", "streams")), timeout_s=90)
        yield metrics()
        leave(stage)
    wait_until(lambda: metrics()["kafka.server:type=ShareSessionCache,name=ShareSessionsCount:Value"] == 0)
    yield metrics()
    tools.run("kafka-consumer-groups", *to, "--delete-offsets", "--group", "billing", "--topic", "counted:0")
    yield metrics()
    tools.run("kafka-consumer-groups", *to, "--delete", "--group", "billing")
    tools.run("kafka-share-groups", *to, "--delete", "--group", "sharing")
    tools.run("kafka-streams-groups", *to, "--delete", "--group", "counting")
    yield metrics()


def describe_topology(server: str, group_id: str) -> None:
    """Store a description of the group's topology, and ask for it once with and once without the description."""
    update = StreamsGroupTopologyDescriptionUpdateRequest(
        group_id=group_id, member_id="member-1", topology_epoch=0, topology_description=DescribedTopology()
    )

    async def work(client: RawClient) -> None:
        assert (await client.ask(update)).error_code is ErrorCode.NONE
        for wanted in (True, False):
            asked = StreamsGroupDescribeRequest(group_ids=(group_id,), include_topology_description=wanted)
            [shown] = (await client.ask(asked)).groups
            assert (shown.topology_description is not None) is wanted

    asyncio.run(at_coordinator(server, group_id, work))


def test_every_name_is_kafkas(kafka: tuple[str, Callable[[], Metrics]]) -> None:
    assert kafka[1]().keys() == {metric.name for metric in METRICS}
