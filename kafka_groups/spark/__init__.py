"""Share groups in PySpark: foreachBatch workers, a streaming source and a drain for batch jobs.

Each name is imported on first use, so a Spark worker loads only what it needs.

Raises:
    ModuleNotFoundError: PySpark or pyarrow is missing; the message says how to install it.
"""

from importlib.util import find_spec
from types import MappingProxyType
from typing import TYPE_CHECKING

from kafka_groups.lazy_exports import import_on_first_use

if TYPE_CHECKING:
    from kafka_groups.spark.deduplicate import Compaction, compact, read_deduplicated
    from kafka_groups.spark.draining.drain import DrainedBatch, LockLostError, drain
    from kafka_groups.spark.failures.outage_server import HeldRecords
    from kafka_groups.spark.records.arrow import to_table
    from kafka_groups.spark.records.batch import ShareBatch
    from kafka_groups.spark.records.schema import RECORD_DDL, RECORD_SCHEMA
    from kafka_groups.spark.result import ShareRunResult, WorkerMetrics
    from kafka_groups.spark.sinks.kafka import KafkaSink
    from kafka_groups.spark.sinks.parquet import ParquetSink
    from kafka_groups.spark.sinks.sql import SqlSink
    from kafka_groups.spark.source.registration import register
    from kafka_groups.spark.workers.share_workers import ShareWorkers, ShareWorkersError
    from kafka_groups.spark.workers.ticks import worker_ticks

__all__ = [
    "RECORD_DDL",
    "RECORD_SCHEMA",
    "Compaction",
    "DrainedBatch",
    "HeldRecords",
    "KafkaSink",
    "LockLostError",
    "ParquetSink",
    "ShareBatch",
    "ShareRunResult",
    "ShareWorkers",
    "ShareWorkersError",
    "SqlSink",
    "WorkerMetrics",
    "compact",
    "drain",
    "read_deduplicated",
    "register",
    "to_table",
    "worker_ticks",
]

_MODULES = MappingProxyType({
    "RECORD_DDL": "records.schema",
    "RECORD_SCHEMA": "records.schema",
    "Compaction": "deduplicate",
    "DrainedBatch": "draining.drain",
    "HeldRecords": "failures.outage_server",
    "KafkaSink": "sinks.kafka",
    "LockLostError": "draining.drain",
    "ParquetSink": "sinks.parquet",
    "ShareBatch": "records.batch",
    "ShareRunResult": "result",
    "ShareWorkers": "workers.share_workers",
    "ShareWorkersError": "workers.share_workers",
    "SqlSink": "sinks.sql",
    "WorkerMetrics": "result",
    "compact": "deduplicate",
    "drain": "draining.drain",
    "read_deduplicated": "deduplicate",
    "register": "source.registration",
    "to_table": "records.arrow",
    "worker_ticks": "workers.ticks",
})  # fmt: skip
"""The module that defines each public name. A new name goes here, under TYPE_CHECKING and into __all__."""

_NEEDED = ("pyspark", "pyarrow")

for _module in _NEEDED:
    if find_spec(_module) is None:
        raise ModuleNotFoundError(
            f"kafka_groups.spark needs {_module}, which is not installed: run pip install '.[spark]' in the"
            " checkout of kafka-groups, or install its wheel with [spark]",
            name=_module,
        )

if not TYPE_CHECKING:  # so that a type checker reports a name that does not exist
    __getattr__, __dir__ = import_on_first_use(__name__, _MODULES)
