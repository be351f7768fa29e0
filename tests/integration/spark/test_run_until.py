"""`run_until` ends when nothing is left: also in partitions that nobody has finished, and after other members died."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.faults import answer
from kafka_groups.errors import OperationTimeoutError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
)
from kafka_groups.spark import ShareWorkers
from kafka_groups.testing.kafka_process import KafkaProcess
from tests.integration.spark.test_workers import filled, nothing, produce
from tests.recording.profile_capture import RELEASES
from tests.support.kafka.real_kafka import unique
from tests.support.targets import EMBEDDED_PROPERTIES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(300)]

RECORDS = 400
OLDER = {"share.assignment.interval.ms": None}
"""A group configuration that Kafka 4.2 does not have."""
DEATH = {**OLDER, "share.session.timeout.ms": "5000", "share.record.lock.duration.ms": "2000"}
OTHER = """
import sys
from kafka_groups import KafkaShareConsumer
consumer = KafkaShareConsumer(
    bootstrap_servers=sys.argv[1], group_id=sys.argv[2], acknowledgement_mode="explicit", prefetch_batches=0
)
consumer.subscribe([sys.argv[2]])
while not (consumer.poll(0.1) if sys.argv[3] == "with records" else consumer.has_fetched or consumer.poll(0.1)):
    pass
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture(
    params=[
        "embedded-4.4",
        "embedded-4.2",
        pytest.param("kafka-4.4", marks=pytest.mark.real_kafka),
        pytest.param("kafka-4.3", marks=[pytest.mark.real_kafka, pytest.mark.long]),
        pytest.param("kafka-4.2", marks=pytest.mark.real_kafka),
    ],
    scope="module",
)
def broker(request: pytest.FixtureRequest) -> Iterator[str]:
    kind, release = request.param.split("-")
    if kind == "embedded":
        with EmbeddedCluster(profile=release, settings=dict(EMBEDDED_PROPERTIES)) as cluster:
            yield cluster.bootstrap_servers
    elif release == "4.4":
        yield request.getfixturevalue("real_kafka").bootstrap_servers
    else:
        with KafkaProcess(RELEASES[release]) as kafka:
            yield kafka.bootstrap_servers


@contextmanager
def another_member(broker: str, name: str, what: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A process with a member that has fetched, and is killed at the end."""
    process = subprocess.Popen(
        [sys.executable, "-c", OTHER, broker, name, what], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdin, process.stdout, process:
        try:
            assert process.stdout.readline() == b"ready\n"
            yield process
        finally:
            os.kill(process.pid, signal.SIGKILL)


def test_records_of_a_member_that_was_killed_are_left(spark: "SparkSession", broker: str) -> None:
    name = unique("killed")
    workers = ShareWorkers(filled(broker, name, 0, **DEATH), topics=[name], process=nothing, idle_close_seconds=100.0)
    workers.run_until(spark, workers=1, drained_for=0.5, timeout=100)  # and stays a member, so that it is there at once
    produce(broker, name, RECORDS)
    with another_member(broker, name, "with records"):
        pass
    result = workers.run_until(spark, workers=1, drained_for=0.5, timeout=100)
    assert (result.total.accepted, result.total.lag, result.lag_unknown) == (RECORDS, 0, None)


@pytest.mark.parametrize("reset", ["earliest", "latest"])
def test_so_are_those_that_it_had_not_fetched(spark: "SparkSession", broker: str, reset: str) -> None:
    name = unique(reset)
    config = filled(broker, name, 0, **DEATH, **{"share.auto.offset.reset": reset})
    workers = ShareWorkers(config, topics=[name], process=nothing, idle_close_seconds=100.0)
    workers.run_until(spark, workers=1, drained_for=0.5, timeout=100)  # and stays a member, so that leaders go on
    with another_member(broker, name, "without records"):
        produce(broker, name, RECORDS)
    result = workers.run_until(spark, workers=1, drained_for=0.5, timeout=100)
    assert (result.total.accepted, result.total.lag, result.lag_unknown) == (RECORDS, 0, None)


def test_a_group_that_starts_at_the_end_knows_that_it_has_nothing_left(spark: "SparkSession", broker: str) -> None:
    name = unique("fresh")
    config = filled(broker, name, RECORDS, **OLDER, **{"share.auto.offset.reset": "latest"})
    workers = ShareWorkers(config, topics=[name], process=nothing)
    result = workers.run_until(spark, workers=1, drained_for=0.5, timeout=100)
    assert (result.total.accepted, result.total.lag, result.lag_unknown) == (0, 0, None)
    assert len(workers.recent_progress) == 1


def test_an_empty_topic_is_drained_at_once(spark: "SparkSession", broker: str) -> None:
    name = unique("empty")
    workers = ShareWorkers(filled(broker, name, 0, **OLDER), topics=[name], process=nothing)
    result = workers.run_until(spark, workers=1, drained_for=0.5, timeout=100)
    assert (result.total.accepted, result.total.lag, result.lag_unknown) == (0, 0, None)
    assert len(workers.recent_progress) == 1


def test_records_that_a_living_member_holds_keep_the_run_from_its_end(spark: "SparkSession", broker: str) -> None:
    name = unique("held")
    config = filled(broker, name, 40, **OLDER, **{"share.record.lock.duration.ms": "60000"})
    with another_member(broker, name, "with records"):
        workers = ShareWorkers(config, topics=[name], process=nothing)
        with pytest.raises(OperationTimeoutError, match=r"not drained after 4 s. It has \d+ records left"):
            workers.run_until(spark, workers=1, drained_for=0.5, timeout=4)


def test_a_run_that_may_not_ask_says_that_it_does_not_know(
    spark: "SparkSession", caplog: pytest.LogCaptureFixture
) -> None:
    name = unique("refused")
    with EmbeddedCluster(settings=dict(EMBEDDED_PROPERTIES)) as cluster:
        config = filled(cluster.bootstrap_servers, name, 4)
        group = DescribeShareGroupOffsetsResponseGroup(group_id=name, error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
        refused = DescribeShareGroupOffsetsResponse(groups=(group,))
        cluster.faults.on(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, answer(refused))
        workers = ShareWorkers(config, topics=[name], process=nothing)
        result = workers.run_until(spark, workers=1, drained_for=0.2, timeout=100)
        assert (result.total.accepted, result.total.lag) == (4, None)
        assert "Allow its user to DESCRIBE the group" in str(result.lag_unknown)
        assert str(result.lag_unknown) in str(result)
        warned = [record.message for record in caplog.records if record.levelname == "WARNING"]
        assert warned.count(str(result.lag_unknown)) == 1
        assert workers.last_progress is not None
        assert workers.last_progress.lag_unknown == result.lag_unknown
