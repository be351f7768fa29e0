"""Every entry point of the package in programs whose environment is not activated, as a reader runs them.

`python3` on the path is another Python, without any package, and no variable tells Spark which one to take.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.spark import ParquetSink
from tests.support.spark.sessions import ROOT, topic_with_records

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
_DRAIN_TWICE = """
for _ in range(2):
    with drain(spark, config, topics=["t"], max_records=5, idle_seconds=1.0) as batch:
        batch.release()
"""
_SOURCE = """
register(spark)
options = {f"kafka.{name}": value for name, value in {**config, "group.id": "other"}.items()}
query = spark.readStream.format("kafka-share").options(**options, subscribe="t").load().writeStream.format("noop")
query = query.option("checkpointLocation", "checkpoint").trigger(availableNow=True).start()
query.awaitTermination()
"""
_REFUSED = """
for start in (lambda: register(spark), lambda: worker_ticks(spark, workers=1)):
    try:
        start()
    except ConfigurationError as error:
        print("refused", "\\n" in str(error), "PYSPARK_PYTHON" in str(error))
"""
_LOGGED = r"^\d{4}-\d\d-\d\dT[\d:.]+Z (\w+) kafka_groups\.group \[pid (\d+)\] (.+)$"


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
    done = ran(script, environment, config)
    assert done.returncode == 0, done.stderr[-5_000:]
    assert "ModuleNotFoundError" not in done.stderr
    return done.stdout


def ran(
    script: Path, environment: Mapping[str, str], config: Mapping[str, object] | None
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, script.name, json.dumps(config)]
    return subprocess.run(
        command, cwd=script.parent, env=environment, capture_output=True, text=True, timeout=280, check=False
    )


def begin(session: str) -> str:
    return _BEGIN.format(session=session)


@pytest.mark.long
def test_compact_in_a_program_of_its_own(
    spark_or_skip: None, stored: None, environment: Mapping[str, str], tmp_path: Path
) -> None:
    said = run(begin('master("local[2]")') + _COMPACT, tmp_path, environment)
    assert "rows 10 10" in said


@pytest.mark.long
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


@pytest.mark.long
def test_what_a_local_server_of_spark_connect_cannot_run_is_said_in_a_line(
    spark_or_skip: None, environment: Mapping[str, str], tmp_path: Path
) -> None:
    said = run(begin('remote("local[2]")') + _REFUSED, tmp_path, environment)
    assert said.count("refused False True") == 2


@pytest.mark.slow
def test_logs_of_sparks_processes_have_time_level_and_logger(
    spark_or_skip: None, environment: Mapping[str, str], tmp_path: Path
) -> None:
    script = tmp_path / "program.py"
    script.write_text(begin('master("local[2]")') + _DRAIN_TWICE + _WORK + _SOURCE)
    with EmbeddedCluster() as cluster:
        done = ran(script, environment, topic_with_records(cluster, "t", records=20))
    assert done.returncode == 0, done.stderr[-5_000:]
    lines = re.findall(_LOGGED, done.stderr, re.MULTILINE)
    joined = {(level, pid) for level, pid, text in lines if "oined" in text}
    assert len(joined) == 2, "the worker and the source, each in a process of its own"
    assert {level for level, _ in joined} == {"INFO"}
    assert done.stderr.count("The share group t has no dead-letter topic") == 1, "of two drains and of the workers"
