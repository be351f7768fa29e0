"""The programs of the page about Delta Lake and Iceberg, as printed, with the PySpark that their packages are made for.

Spark gets the packages from Maven Central, on the first run.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest
from confluent_kafka import Producer

from kafka_groups.broker.cluster import EmbeddedCluster
from tests.docs.blocks import ROOT, programs
from tests.support.spark.sessions import spark_environment

pytestmark = [pytest.mark.spark, pytest.mark.spark_versions, pytest.mark.slow, pytest.mark.timeout(1800)]

ORDERS = 40
PAGE = ROOT / "docs" / "how-to" / "spark" / "lakehouse.md"
PROGRAMS = {"delta": "4.2", "iceberg": "4.1"}
"""What each program needs: the release of PySpark."""
_DEFAULTS = """
spark.databricks.delta.snapshotPartitions 2
spark.sql.shuffle.partitions 2
spark.ui.enabled false
spark.ui.showConsoleProgress false
"""
"""So that a few records do not take hundreds of tasks."""


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    """A broker with orders, and two groups that start at the first of them."""
    with EmbeddedCluster() as cluster:
        cluster.create_topic("orders", 2)
        for group in ("invoices", "again"):
            cluster.alter_group_configs(group, {"share.auto.offset.reset": "earliest"})
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
        for number in range(ORDERS):
            producer.produce("orders", b'{"customer": %d, "cents": %d}' % (number, 100 * number), partition=number % 2)
        assert producer.flush(20) == 0
        yield cluster


@pytest.mark.parametrize("name", PROGRAMS)
def test_records_that_are_delivered_again_leave_one_row_each(
    name: str, spark_or_skip: None, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    if not version("pyspark").startswith(PROGRAMS[name]):
        pytest.skip(f"the package of {name} is for PySpark {PROGRAMS[name]}, and {version('pyspark')} is installed")
    (code,) = (program.code for program in programs() if program.page == PAGE and f"USING {name}" in program.code)
    code = code.replace("localhost:9092", cluster.bootstrap_servers)
    for group in ("invoices", "again"):  # to which all records are delivered, as if they had been released
        assert f"{ORDERS} orders" in run(
            code.replace('"invoices"', f'"{group}"').replace('"checkpoint"', f'"{group}"'), tmp_path
        )
        assert cluster.group(group).lag == 0


def run(code: str, tmp_path: Path) -> str:
    (tmp_path / "program.py").write_text(code)
    # Maven's own repository of this machine may have descriptions without the files, with which Ivy would give up.
    home = Path(tempfile.gettempdir()) / "kafka-groups-spark-packages"
    home.mkdir(exist_ok=True)
    (tmp_path / "spark-defaults.conf").write_text(_DEFAULTS)
    environment = {
        **os.environ,
        **spark_environment(),
        "JAVA_TOOL_OPTIONS": f"-Duser.home={home}",
        "SPARK_CONF_DIR": str(tmp_path),
    }
    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=850, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-5_000:]
    return done.stdout
