"""The README's program for Spark, in the session that all tests of this folder share.

`tests/docs/test_spark_code.py` also runs it as readers do, in a process of its own, with the slow tests.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.dataset as ds
import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from tests.docs.blocks import programs
from tests.support.spark.sessions import topic_with_records

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

ORDERS = 40
GROUP = "invoices"
FOR_EVER = "query.awaitTermination()"


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    prompt = {"group.share.min.heartbeat.interval.ms": 500, "group.share.heartbeat.interval.ms": 500}
    with EmbeddedCluster(settings=prompt) as cluster:
        topic_with_records(cluster, "orders", records=ORDERS, partitions=2)
        cluster.alter_group_configs(GROUP, {"share.auto.offset.reset": "earliest"})
        yield cluster


def test_it_stores_and_accepts_all_orders(spark: "SparkSession", cluster: EmbeddedCluster, tmp_path: Path) -> None:
    (program,) = [each for each in programs() if each.page.name == "README.md" and each.on_spark]
    orders, checkpoint = tmp_path / "orders", tmp_path / "checkpoint"
    code = program.code
    for written, meant in {
        "localhost:9092": cluster.bootstrap_servers,
        'ParquetSink("orders")': f"ParquetSink({str(orders)!r})",
        '"checkpoint"': repr(str(checkpoint)),
        FOR_EVER: "",
    }.items():
        assert code.count(written) == 1, f"the README has another program: {written}"
        code = code.replace(written, meant)
    names: dict[str, Any] = {}
    exec(compile(code, str(program), "exec"), names)
    try:
        cluster.group(GROUP).wait_until_accepted(ORDERS, timeout=90)
    finally:
        names["query"].stop()
    assert names["query"].exception() is None
    stored = ds.dataset(orders).to_table(columns=["value"])["value"].to_pylist()
    assert set(stored) == {b"v%d" % number for number in range(ORDERS)}
