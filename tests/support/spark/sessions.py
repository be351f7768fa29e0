"""Spark sessions for tests: where Java and PySpark are, how a session is started, and how it ends."""

import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from confluent_kafka import Producer

from kafka_groups.broker.cluster import EmbeddedCluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["ROOT", "reason_to_skip", "spark_environment", "spark_session", "topic_with_records"]

ROOT = Path(__file__).parents[3]
"""The checkout: workers import `kafka_groups` and `tests` from here."""

CONFIGS: Mapping[str, str] = MappingProxyType({
    "spark.driver.bindAddress": "127.0.0.1",
    # Sessions live for seconds: the optimising compiler would cost more than it saves.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    # Without it, a machine that stands still for two minutes loses the executor in the driver's own JVM.
    "spark.network.timeout": "3600s",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
})  # fmt: skip
"""What a session of a test has unless it says otherwise: small, local, quiet."""


def reason_to_skip() -> str | None:
    """Why there can be no Spark session here, or None."""
    if shutil.which("java") is None:
        return "no java: Spark needs a Java runtime of version 17 or newer on the PATH"
    if importlib.util.find_spec("pyspark") is None:
        return "no PySpark: pip install '.[spark]'"
    return None


def spark_environment() -> dict[str, str]:
    """The environment variables of a process that starts Spark: this interpreter, and this checkout to import from."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable, "PYTHONPATH": path}


@contextmanager
def spark_session(
    master: str = "local[4]", configs: Mapping[str, str] = MappingProxyType({})
) -> Iterator["SparkSession"]:
    """The session of this process, stopped at the end; a process can have one at a time."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - only where PySpark is

    os.environ.update(spark_environment())
    builder = SparkSession.builder.master(master).appName("kafka-groups tests")
    for name, value in {**CONFIGS, **configs}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()


def topic_with_records(
    cluster: EmbeddedCluster,
    topic: str,
    *,
    records: int,
    partitions: int = 1,
    keys: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, object]:
    """Make a topic with the values v0, v1 …, dealt out to its partitions.

    Args:
        cluster: The brokers.
        topic: Name of the topic.
        records: How many records.
        partitions: How many partitions.
        keys: What clients need to reach the brokers, besides their addresses.

    Returns:
        The configuration of a consumer of the share group of the same name, which starts at the first of them.
    """
    cluster.create_topic(topic, partitions)
    cluster.alter_group_configs(topic, {"share.auto.offset.reset": "earliest"})
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "linger.ms": 5, **keys})
    for number in range(records):
        producer.produce(topic, b"v%d" % number, partition=number % partitions)
    assert producer.flush(10) == 0
    return {"bootstrap.servers": cluster.bootstrap_servers, "group.id": topic, **keys}
