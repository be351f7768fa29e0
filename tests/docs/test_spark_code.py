"""The documentation's programs for Spark, run as a reader runs them: a file, and the Python of an environment.

The environment is not activated: `python3` on the path is another Python, without any package, and no variable tells
Spark which one to take.
"""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from kafka_groups.net.tcp import TcpNetwork
from kafka_groups.testing import EmbeddedCluster
from tests.docs.blocks import Program, programs
from tests.support.cluster_client import ClusterClient, Topic
from tests.support.conditions import until

ORDERS = 40
GROUP = "invoices"
PROMPT = {"group.share.min.heartbeat.interval.ms": 500, "group.share.heartbeat.interval.ms": 500}

FOR_EVER = "query.awaitTermination()"
"""How programs end that run until they are stopped; here they are interrupted when the group has no record left."""

SPARK = [program for program in programs() if program.run and program.on_spark]
_OF_AN_ACTIVATED_ENVIRONMENT = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "PYTHONPATH", "VIRTUAL_ENV", "SPARK_HOME")


def _with_marks(program: Program) -> Any:
    # A Spark program starts a Java machine; the long check runs all of them, the slow tests the first of each page.
    # The quick tests run that of the README in a session that is there: tests/integration/spark/test_readme.py.
    first = next(each for each in SPARK if each.page == program.page)
    return pytest.param(program, marks=pytest.mark.slow if program is first else pytest.mark.long, id=str(program))


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


@pytest.fixture
def environment(tmp_path: Path) -> Mapping[str, str]:
    """The variables of a shell in which no environment is active, with a bare `python3` first on the path."""
    bare = tmp_path / "bin" / "python3"
    bare.parent.mkdir()
    bare.write_text(f'#!/bin/sh\nexec "{Path(sys.executable).resolve()}" -I -S "$@"\n')
    bare.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if name not in _OF_AN_ACTIVATED_ENVIRONMENT}
    return {**kept, "PATH": f"{bare.parent}{os.pathsep}{os.environ['PATH']}"}


def test_there_is_code_to_test() -> None:
    assert len(SPARK) >= 6
    assert any(FOR_EVER in program.code for program in SPARK)
    assert not [str(program) for program in SPARK if '"/' in program.code], "a reader may not write there"


@pytest.mark.parametrize("program", [_with_marks(program) for program in SPARK])
def test_program_takes_all_orders(
    program: Program,
    spark_or_skip: None,
    cluster: EmbeddedCluster,
    environment: Mapping[str, str],
    tmp_path: Path,
) -> None:
    script = tmp_path / "program.py"
    script.write_text(program.code.replace("localhost:9092", cluster.bootstrap_servers))
    said = tmp_path / "said.txt"
    with said.open("wb") as output:
        running = subprocess.Popen(
            [sys.executable, script.name], cwd=tmp_path, env=environment, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        if FOR_EVER in program.code and "availableNow" not in program.code:
            _run_until_done(cluster, said)
            running.send_signal(signal.SIGINT)
            running.wait(60)
        else:
            assert running.wait(240) == 0, said.read_text()[-5_000:]
            if cluster.bootstrap_servers in script.read_text():
                asyncio.run(_until_done(cluster))
    finally:
        running.kill()
        running.wait()
    assert "ModuleNotFoundError" not in said.read_text()


def _run_until_done(cluster: EmbeddedCluster, said: Path) -> None:
    try:
        asyncio.run(_until_done(cluster))
    except AssertionError as error:
        error.add_note(f"the program said: {said.read_text()[-5_000:]}")
        raise


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
            timeout_s=200.0,
        )
    finally:
        await client.close()
