"""The documentation's programs for Spark, one after the other in one session on an embedded broker."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer

from kafka_groups.net.tcp import TcpNetwork
from kafka_groups.testing import EmbeddedCluster
from tests.docs.blocks import Program, programs
from tests.support.cluster_client import ClusterClient, Topic
from tests.support.conditions import until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ORDERS = 40
GROUP = "invoices"
PROMPT = {"group.share.min.heartbeat.interval.ms": 500, "group.share.heartbeat.interval.ms": 500}

FOR_EVER = "query.awaitTermination()"
"""How programs end that run until they are stopped; here they end when the group has no record left.

Those that end by themselves are left alone.
"""

SPARK = [program for program in programs() if program.run and program.on_spark]


def _with_marks(program: Program) -> Any:
    # A Spark program takes seconds, and those of the how-tos vary these; CI runs them all.
    return pytest.param(program, marks=[pytest.mark.slow] if "how-to" in program.page.parts else [], id=str(program))


pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    """A broker with orders, and the group of the documentation starting at the first of them."""
    with EmbeddedCluster(settings=PROMPT) as cluster:
        cluster.create_topic("orders", partitions=2)
        cluster.alter_group_configs(GROUP, {"share.auto.offset.reset": "earliest"})
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
        for number in range(ORDERS):
            # To both: the group says nothing of a partition in which there is nothing to acknowledge.
            order = f'{{"customer": {number}, "cents": {100 * number}}}'
            producer.produce("orders", value=order, partition=number % 2)
        assert producer.flush(20) == 0
        yield cluster


def test_there_is_code_to_test() -> None:
    assert len(SPARK) >= 6
    assert any(FOR_EVER in program.code for program in SPARK)


@pytest.mark.parametrize("program", [_with_marks(program) for program in SPARK])
def test_program_takes_all_orders(
    program: Program, spark: "SparkSession", cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    for stream in spark.streams.active:
        stream.stop()
    code = program.code.replace("localhost:9092", cluster.bootstrap_servers).replace('"/data', f'"{tmp_path}')
    code = code.replace("EmbeddedCluster()", f"EmbeddedCluster(settings={PROMPT})")
    names: dict[str, Any] = {"__name__": "__main__", "stop_when_done": lambda query: _stop_when_done(query, cluster)}
    exec(compile(_without_end(code), str(program), "exec"), names)
    if cluster.bootstrap_servers in code:
        asyncio.run(_until_done(cluster))


def _without_end(code: str) -> str:
    # The session is for all programs, so that no program may stop it.
    code = code.replace("spark.stop()", "pass")
    return code if "availableNow" in code else code.replace(FOR_EVER, "stop_when_done(query)")


def _stop_when_done(query: Any, cluster: EmbeddedCluster) -> None:
    try:
        asyncio.run(_until_done(cluster))
    finally:
        query.stop()
    assert query.exception() is None


async def _until_done(cluster: EmbeddedCluster) -> None:
    host, _, port = cluster.bootstrap_servers.rpartition(":")
    client = ClusterClient(TcpNetwork(), host, int(port))
    try:
        described = await client.describe_topic("orders")
        assert described.topic_id is not None
        topic = Topic("orders", described.topic_id)
        await until(
            lambda: client.progress(GROUP, topic),
            lambda it: len(it) == len(described.partitions) and all(p.lag == 0 for p in it.values()),
            timeout_s=100.0,
        )
    finally:
        await client.close()
