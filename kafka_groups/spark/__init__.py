"""Share groups in PySpark: foreachBatch workers, a streaming source and a drain for batch jobs.

What is imported from here is loaded when it is first asked for, so that a worker of Spark loads no more than it needs.

Raises:
    ModuleNotFoundError: PySpark or pyarrow is missing; the message says what installs them.
"""

from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafka_groups.spark.arrow import to_table
    from kafka_groups.spark.batch import ShareBatch
    from kafka_groups.spark.deduplicate import Compaction, compact, read_deduplicated
    from kafka_groups.spark.draining import DrainedBatch, LockLostError, drain
    from kafka_groups.spark.result import ShareRunResult, WorkerMetrics
    from kafka_groups.spark.schema import RECORD_DDL, RECORD_SCHEMA
    from kafka_groups.spark.sinks.kafka import KafkaSink
    from kafka_groups.spark.sinks.parquet import ParquetSink
    from kafka_groups.spark.sinks.sql import SqlSink
    from kafka_groups.spark.source.registration import register
    from kafka_groups.spark.ticks import worker_ticks
    from kafka_groups.spark.workers import ShareWorkers, ShareWorkersError

__all__ = [
    "RECORD_DDL",
    "RECORD_SCHEMA",
    "Compaction",
    "DrainedBatch",
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
    "RECORD_DDL": "schema",
    "RECORD_SCHEMA": "schema",
    "Compaction": "deduplicate",
    "DrainedBatch": "draining",
    "KafkaSink": "sinks.kafka",
    "LockLostError": "draining",
    "ParquetSink": "sinks.parquet",
    "ShareBatch": "batch",
    "ShareRunResult": "result",
    "ShareWorkers": "workers",
    "ShareWorkersError": "workers",
    "SqlSink": "sinks.sql",
    "WorkerMetrics": "result",
    "compact": "deduplicate",
    "drain": "draining",
    "read_deduplicated": "deduplicate",
    "register": "source.registration",
    "to_table": "arrow",
    "worker_ticks": "ticks",
})  # fmt: skip
"""Where each public name is defined; a name is added here, under TYPE_CHECKING and in __all__."""

_NEEDED = ("pyspark", "pyarrow")

for _module in _NEEDED:
    if find_spec(_module) is None:
        raise ModuleNotFoundError(
            f"kafka_groups.spark needs {_module}, which is not installed: pip install 'kafka-groups[spark]'",
            name=_module,
        )


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
