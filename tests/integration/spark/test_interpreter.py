"""Every entry point of the package in programs whose environment is not activated, as a reader runs them.

`python3` on the path is another Python, without any package, and no variable tells Spark which one to take.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.spark import ParquetSink
from tests.support.spark import ROOT, topic_with_records

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

_ACTIVATED = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "VIRTUAL_ENV", "SPARK_HOME")
_BEGIN = """
import json, sys
from pyspark.sql import SparkSession
from kafka_groups.errors import ConfigurationError
from kafka_groups.spark import ShareWorkers, compact, drain, read_deduplicated, register, worker_ticks
config = json.loads(sys.argv[1])
builder = SparkSession.builder.config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "2")
spark = builder.{session}.getOrCreate()
"""
_COMPACT = """
print("rows", read_deduplicated(spark, "stored").count(), compact(spark, "stored", files=1).rows_after)
"""
_DRAIN = """
@udf("string")
def text(value):
    import kafka_groups
    return bytes(value).decode()

with drain(spark, config, topics=["t"], max_records=5, idle_seconds=1.0) as batch:
    batch.release()
    print("drained", sorted(row.v for row in batch.df.select(text("value").alias("v")).collect())[0])
"""
_WORK = """
def process(batch):
    pass

result = ShareWorkers(config, topics=["t"], process=process).run_until(spark, workers=1, drained_for=1.0, timeout=100)
print("accepted", result.total.accepted)
"""
_REFUSED = """
for start in (lambda: register(spark), lambda: worker_ticks(spark, workers=1)):
    try:
        start()
    except ConfigurationError as error:
        print("refused", "\\n" in str(error), "PYSPARK_PYTHON" in str(error))
"""


@pytest.fixture
def environment(tmp_path: Path) -> Mapping[str, str]:
    """The variables of a shell in which no environment is active, with a bare `python3` first on the path."""
    bare = tmp_path / "bin" / "python3"
    bare.parent.mkdir()
    bare.write_text(f'#!/bin/sh\nexec "{Path(sys.executable).resolve()}" -I -S "$@"\n')
    bare.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if name not in _ACTIVATED}
    return {**kept, "PATH": f"{bare.parent}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}


@pytest.fixture
def stored(tmp_path: Path) -> None:
    """Ten records in files of the Parquet sink, each of them twice."""
    for count in (1, 2):
        rows = {"topic": ["t"] * 10, "partition": [0] * 10, "offset": list(range(10)), "delivery_count": [count] * 10}
        ParquetSink(str(tmp_path / "stored")).write(pa.table(rows))


def run(
    program: str, tmp_path: Path, environment: Mapping[str, str], config: Mapping[str, object] | None = None
) -> str:
    script = tmp_path / "program.py"
    script.write_text(program)
    done = subprocess.run(
        [sys.executable, script.name, json.dumps(config)],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-5_000:]
    assert "ModuleNotFoundError" not in done.stderr
    return done.stdout


def begin(session: str) -> str:
    return _BEGIN.format(session=session)


def test_compact_in_a_program_of_its_own(
    spark_or_skip: None, stored: None, environment: Mapping[str, str], tmp_path: Path
) -> None:
    said = run(begin('master("local[2]")') + _COMPACT, tmp_path, environment)
    assert "rows 10 10" in said


@pytest.mark.slow
@pytest.mark.parametrize("session", ['master("local[2]")', 'remote("local[2]")'])
def test_drain_workers_and_compaction(
    session: str, spark_or_skip: None, stored: None, environment: Mapping[str, str], tmp_path: Path
) -> None:
    with EmbeddedCluster() as cluster:
        config = topic_with_records(cluster, "t", records=20)
        program = begin(session) + "from pyspark.sql.functions import udf\n" + _DRAIN + _WORK + _COMPACT
        said = run(program, tmp_path, environment, config)
    assert "drained v0" in said
    assert "accepted 20" in said
    assert "rows 10 10" in said


@pytest.mark.slow
def test_what_a_local_server_of_spark_connect_cannot_run_is_said_in_a_line(
    spark_or_skip: None, environment: Mapping[str, str], tmp_path: Path
) -> None:
    said = run(begin('remote("local[2]")') + _REFUSED, tmp_path, environment)
    assert said.count("refused False True") == 2
