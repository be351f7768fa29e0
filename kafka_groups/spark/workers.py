"""Workers: tasks of Spark that are consumers of a share group, as many as one likes."""

import hashlib
import logging
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from attrs import evolve, field, fields, frozen

from kafka_groups.config.settings import KeyTable
from kafka_groups.config.share import ShareConsumerConfig, share_consumer_config
from kafka_groups.errors import ConfigurationError, KafkaGroupsError, OperationTimeoutError
from kafka_groups.net.clock import SystemClock
from kafka_groups.share.aio import checked_topics
from kafka_groups.spark.batch import ShareBatch
from kafka_groups.spark.budget import BudgetLimits
from kafka_groups.spark.consumers import ConsumerSpec
from kafka_groups.spark.policy import ON_ERROR
from kafka_groups.spark.result import METRICS_DDL, ShareRunResult
from kafka_groups.spark.stopping import StopSwitch, is_connect
from kafka_groups.spark.ticks import checked_workers
from kafka_groups.spark.worker import WorkerTask, task_body

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

__all__ = ["ShareWorkers", "ShareWorkersError", "WorkerOptions"]

_LOG = logging.getLogger(__name__)
_DESCRIPTION = "spark.job.description"
_KEYS = KeyTable(ShareConsumerConfig)
_OURS: Mapping[str, object] = {"acknowledgement_mode": "explicit", "auto_renew": True}
"""Keys that the workers set, as what they promise rests on them."""
_BYTES_ONLY = ("key_deserializer", "value_deserializer")
_DEFAULTS: Mapping[str, object] = {"max_poll_records": 2_000}


class ShareWorkersError(KafkaGroupsError):
    """Workers failed; nothing is lost, as what they had not accepted is delivered again.

    Attributes:
        result: What all workers of the run did.
    """

    def __init__(self, result: ShareRunResult) -> None:
        failed = [worker for worker in result.workers if worker.failed]
        super().__init__(f"{len(failed)} of {len(result.workers)} workers failed:\n{failed[0].error}\n{result}")
        self.result = result


def _positive(instance: object, attribute: Any, value: object) -> None:
    if not isinstance(value, int | float) or isinstance(value, bool) or value <= 0:
        raise ConfigurationError(f"{attribute.name}={value!r}: give a number above 0")


def _known(instance: object, attribute: Any, value: object) -> None:
    if value not in ON_ERROR:
        raise ConfigurationError(f"{attribute.name}={value!r}: give one of {', '.join(map(repr, ON_ERROR))}")


def _topic(instance: object, attribute: Any, value: object) -> None:
    if value is not None and (not isinstance(value, str) or not value):
        raise ConfigurationError(f"{attribute.name}={value!r}: give the name of a topic, or None")


@frozen(kw_only=True)
class WorkerOptions:
    """What `ShareWorkers` takes beside the keys of a consumer.

    Attributes:
        max_records: A task polls no more once it has had so many records; its last poll may bring more.
        max_seconds: A task polls no more after this time.
        on_error: What becomes of a batch when `process` raises. "release": all its records are given back, and the run
            raises. "per_record": each record is tried on its own, and what fails is given back. "reject": none is
            delivered again.
        dead_letter_topic: Where copies of records go that are rejected, or that are on one of their last deliveries.
        idle_close_seconds: How long a consumer waits for the next task before it leaves the group; less than the 60 s
            after which Spark ends an idle Python worker.
    """

    max_records: int = field(default=50_000, validator=_positive)
    max_seconds: float = field(default=10.0, validator=_positive)
    on_error: str = field(default="release", validator=_known)
    dead_letter_topic: str | None = field(default=None, validator=_topic)
    idle_close_seconds: float = field(default=30.0, validator=_positive)


class ShareWorkers:
    """Runs `process` on the records of a share group, in tasks of Spark that each have a consumer of their own.

    In one task of one Python worker: poll, `process(batch)`, accept and wait for the brokers' confirmation, poll again.
    What `process` stores is stored before it is accepted, so that no record is lost whatever dies; one may be
    processed more than once. Spark gets nothing but figures.

    The consumers acknowledge explicitly and renew the locks of what `process` takes long for.

    Args:
        config: Keys of the share consumer by Kafka's dotted names.
        topics: What to subscribe to.
        process: Called in the Python workers with each `ShareBatch`. It is pickled; a method `close` of it is called
            when the consumer is closed after a while without tasks.
        **keywords: The attributes of `WorkerOptions`, and keys of the share consumer by their Python names.

    Raises:
        ConfigurationError: A key or a value is bad, or `process` cannot be pickled.
    """

    def __init__(
        self,
        config: Mapping[str, object] | None = None,
        /,
        *,
        topics: Iterable[str],
        process: Callable[[ShareBatch], object],
        **keywords: Any,
    ) -> None:
        names = {option.name for option in fields(WorkerOptions)}
        self._options = WorkerOptions(**{name: keywords[name] for name in keywords if name in names})
        given = {**(config or {}), **{name: value for name, value in keywords.items() if name not in names}}
        self._spec = _spec(given, checked_topics(topics), process, self._options)
        self._switch = StopSwitch()
        self._told: set[str] = set()

    def __repr__(self) -> str:
        return f"<ShareWorkers group {self._spec.config.group_id} topics {', '.join(sorted(self._spec.topics))}>"

    def run(self, df: "DataFrame", batch_id: int) -> ShareRunResult:
        """Have each partition of a DataFrame become a worker until its limits are reached; for `foreachBatch`.

        Blocks until all workers are done. The rows of the DataFrame mean nothing (see `worker_ticks`).

        Args:
            df: What `foreachBatch` gives.
            batch_id: What `foreachBatch` gives; shown in Spark's user interface.

        Returns:
            What the workers did; without workers after `stop_gracefully`.

        Raises:
            ShareWorkersError: `process` raised, with `on_error="release"`, or a consumer could not go on.
        """
        return self._run(df, self._limits(None), f"batch {batch_id}")

    def run_until(
        self, spark: "SparkSession", *, workers: int, drained_for: float = 5.0, timeout: float | None = None
    ) -> ShareRunResult:
        """Run workers until nothing has come to any of them for a while, without a streaming query.

        Args:
            spark: The session; also one of Spark Connect.
            workers: How many tasks poll side by side.
            drained_for: For how many seconds nothing may have come, while the worker had partitions to fetch from.
            timeout: Longest time in seconds, checked about every `max_seconds`; None waits for as long as it takes.

        Returns:
            What the workers did, process by process.

        Raises:
            ConfigurationError: A value is bad.
            OperationTimeoutError: Records still came, or no partition was assigned, after `timeout`.
            ShareWorkersError: As from `run`.
        """
        count, drained_ms = checked_workers(workers), _milliseconds("drained_for", drained_for)
        clock = SystemClock()
        deadline_ms = None if timeout is None else clock.now_ms() + _milliseconds("timeout", timeout)
        total, is_drained, number = ShareRunResult(), False, 0
        while not is_drained:
            if deadline_ms is not None and clock.now_ms() >= deadline_ms:
                raise OperationTimeoutError(f"the group was not drained after {timeout} s:\n{total}")
            number += 1
            result = self._run(spark.range(0, count, 1, count), self._limits(drained_ms), f"round {number}")
            total = total.plus(result)
            is_drained = all(worker.empty_ms >= drained_ms for worker in result.workers)
        return total

    def stop_gracefully(self, query: "StreamingQuery") -> None:
        """Stop a query that calls `run` without having its workers killed; blocks until the current batch is finished.

        Afterwards `run` does nothing any more.
        """
        from pyspark.sql import SparkSession  # noqa: PLC0415 - only where there is a query

        self._switch.stop(query, SparkSession.active())

    # ---------------------------------------------------------------------------------------- one job

    def _limits(self, drained_ms: int | None) -> BudgetLimits:
        return BudgetLimits(self._options.max_records, round(self._options.max_seconds * 1000), drained_ms)

    def _run(self, df: "DataFrame", limits: BudgetLimits, what: str) -> ShareRunResult:
        session = df.sparkSession
        if not self._switch.begins(session):
            return ShareRunResult()
        try:
            self._check_speculation(session)
            task = WorkerTask(spec=self._spec, limits=limits, on_error=self._options.on_error)
            with _described(session, f"kafka-share {self._spec.config.group_id} {what}"):
                rows = df.mapInArrow(task_body(task), METRICS_DDL).collect()
        finally:
            self._switch.ended()
        return self._checked(ShareRunResult.of_rows(rows), what)

    def _checked(self, result: ShareRunResult, what: str) -> ShareRunResult:
        _LOG.info("%s of %r:\n%s", what, self, result)
        for note in result.notes:
            self._tell(note)
        if result.failed:
            raise ShareWorkersError(result)
        for worker in result.workers:
            if worker.error:
                _LOG.warning("worker %d (pid %d): %s", worker.worker, worker.pid, worker.error)
        return result

    def _check_speculation(self, session: "SparkSession") -> None:
        if session.conf.get("spark.speculation", "false") == "true":
            self._tell(
                "spark.speculation is true: Spark starts slow tasks twice, and a second worker only takes a slot that"
                " does the same work; set it to false"
            )

    def _tell(self, note: str) -> None:
        if note not in self._told:
            self._told.add(note)
            _LOG.warning(note)


@contextmanager
def _described(session: "SparkSession", text: str) -> Iterator[None]:
    """Give the jobs a description in Spark's user interface, where the session has a SparkContext."""
    if is_connect(session):
        yield
        return
    context = session.sparkContext
    before: Any = context.getLocalProperty(_DESCRIPTION)  # None without one, which also unsets it
    context.setJobDescription(text)
    try:
        yield
    finally:
        context.setLocalProperty(_DESCRIPTION, before)


# ------------------------------------------------------------------------------------- checks, once, on the driver


def _milliseconds(name: str, seconds: object) -> int:
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or seconds <= 0:
        raise ConfigurationError(f"{name}={seconds!r}: give seconds, more than 0")
    return round(seconds * 1000)


def _spec(
    given: Mapping[str, object], topics: frozenset[str], process: Callable[[ShareBatch], object], options: WorkerOptions
) -> ConsumerSpec:
    if not topics:
        raise ConfigurationError("topics is empty: give at least one name")
    for name, value in given.items():
        _refuse_ours(name, value)
    config = share_consumer_config({**given, **_without(given, _DEFAULTS), **_without(given, _OURS)})
    spec = ConsumerSpec(
        config=config,
        given=dict(given),
        topics=topics,
        process=_pickled(process),
        dead_letter_topic=options.dead_letter_topic,
        idle_close_seconds=options.idle_close_seconds,
        key="",
    )
    return evolve(spec, key=hashlib.sha256(pickle.dumps(spec)).hexdigest())


def _without(given: Mapping[str, object], keys: Mapping[str, object]) -> dict[str, object]:
    attributes = {_KEYS.attribute(name) for name in given}
    return {name: value for name, value in keys.items() if name not in attributes}


def _refuse_ours(name: str, value: object) -> None:
    attribute = _KEYS.attribute(name)
    if attribute is None:
        return  # the configuration says so
    if attribute in _BYTES_ONLY:
        raise ConfigurationError(f"{name}: workers hand out bytes, as Arrow tables do; decode them in process")
    if attribute in _OURS and _KEYS.key(attribute).parse(value, named=name) != _OURS[attribute]:
        raise ConfigurationError(f"{name}={value!r}: workers set it to {_OURS[attribute]!r} themselves; remove it")


def _pickled(process: Callable[[ShareBatch], object]) -> bytes:
    from pyspark.cloudpickle import dumps  # noqa: PLC0415 - Spark's own: pickles functions that no module has

    if not callable(process):
        raise ConfigurationError(f"process={process!r}: give a function of a ShareBatch")
    try:
        pickled: bytes = dumps(process)  # type: ignore[no-untyped-call]
    except Exception as error:  # whatever the objects that it refers to raise when they are pickled
        raise ConfigurationError(
            f"process={process!r} cannot be pickled and sent to the workers: {error}; let it open connections and files"
            " itself when it is first called, or keep them in the module that it is defined in"
        ) from error
    return pickled
