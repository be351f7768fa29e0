"""Parts in which a Spark session of each checkout runs queries by turns, on one real Kafka."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from tests.benchmarks import spark_measures as measures
from tests.benchmarks.brokers import running
from tests.benchmarks.guard.broker_parts import Extent
from tests.benchmarks.guard.checkouts import Checkouts
from tests.benchmarks.guard.figures import VERSIONS, Case, Row
from tests.benchmarks.guard.turns import Measure
from tests.benchmarks.processes import produce
from tests.benchmarks.spark_processes import spark_process
from tests.benchmarks.spark_runs import Outcome, outcome_as_json
from tests.benchmarks.topics import TINY, new_topic

__all__ = ["DRAIN", "SPARK", "drains", "spark_queries"]

_SPARK = ("tests.benchmarks.spark_runs:Run",)
_BATCH_JOBS = ("tests.benchmarks.spark_runs:BATCH_JOBS",)
_DRAIN = ("kafka_groups.spark:drain",)
_SOURCE_RECORDS, _SOURCE_BATCHES, _WORKER_BATCHES, _SMALL_BATCHES = 40_000, 10, 4, 15

_RATE, _CPU, _SECONDS = ("records_per_second",), ("cpu_us_per_record",), ("median_batch_seconds",)

SPARK = (
    Case((Row("Spark workers, 250,000 records a micro-batch", "records/s", _RATE),
          Row("Spark workers, CPU", "µs a record", _CPU, is_cost=True)), 6, ("workers",), _SPARK, 1),
    Case((Row("Spark source, 40,000 records a micro-batch", "records/s", _RATE),
          Row("Spark source, CPU", "µs a record", _CPU, is_cost=True)), 4, ("source",), _SPARK, 1),
    Case((Row("Spark source, 100 records a micro-batch", "s", _SECONDS, is_cost=True),), 4, ("overhead",), _SPARK, 1),
)  # fmt: skip
DRAIN = tuple(
    Case((Row(f"Drain, blocks of {records:,} records", "records/s", _RATE),
          Row(f"Drain, blocks of {records:,} records, CPU", "µs a record", _CPU, is_cost=True)), 3,
         (str(records),), _DRAIN, 1)
    for records in measures.DRAINED
)  # fmt: skip

_QUERIES: Mapping[str, Callable[[measures.Bench, Extent], Outcome]] = {
    "workers": lambda bench, extent: bench.outcome(
        "workers", extent.of(measures.THROUGHPUT_BATCH, 4_000), _WORKER_BATCHES
    ),
    "source": lambda bench, extent: bench.outcome(
        "share", extent.of(_SOURCE_RECORDS, 4_000), _SOURCE_BATCHES, max(measures.LOCKS)
    ),
    "overhead": lambda bench, _extent: bench.outcome("share", measures.SMALL_BATCH, _SMALL_BATCHES),
}


@contextmanager
def spark_queries(checkouts: Checkouts, extent: Extent, say: Callable[[str], None]) -> Iterator[Measure]:
    """A session of each checkout with its own program."""
    with ExitStack() as stack:
        servers = stack.enter_context(running("kafka", measures.BROKER_PROPERTIES))
        topic, tiny_topic = new_topic(servers), new_topic(servers)
        produce(servers, topic, extent.of(8 * measures.THROUGHPUT_BATCH, 50_000), "large")
        produce(servers, tiny_topic, measures.TINY_RECORDS_NEEDED, TINY)
        sessions = {version: stack.enter_context(spark_process(checkouts.of(version, _SPARK))) for version in VERSIONS}
        benches = {
            version: measures.Bench(servers, topic, tiny_topic, session.outcome_of, say)
            for version, session in sessions.items()
        }

        def measure(case: Case, version: str) -> Mapping[str, Any]:
            return outcome_as_json(_QUERIES[case.arguments[0]](benches[version], extent))

        yield measure


@contextmanager
def drains(checkouts: Checkouts, say: Callable[[str], None]) -> Iterator[Measure]:
    """A session of each checkout; one without a program for drains gets that of this checkout."""
    with ExitStack() as stack:
        servers = stack.enter_context(running("kafka", measures.BROKER_PROPERTIES))
        topics = {}
        for records, partitions in measures.DRAINED.items():
            topics[records] = new_topic(servers, partitions)
            produce(servers, topics[records], measures.drained_records(records), "large", partitions)
        benches = {}
        for version in VERSIONS:
            directory = checkouts.ours_for(version, _BATCH_JOBS)
            session = stack.enter_context(spark_process(directory))
            benches[version] = measures.Bench(servers, "", "", session.outcome_of, say)

        def measure(case: Case, version: str) -> Mapping[str, Any]:
            checkouts.of(version, case.needs)
            records = int(case.arguments[0])
            return outcome_as_json(benches[version].batch_jobs("drain", topics[records], records))

        yield measure
