"""The options of `ShareWorkers`, checked once at creation."""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from attrs import evolve, field, frozen

from kafka_groups.errors import ConfigurationError
from kafka_groups.errors.texts import named, represented, sentences
from kafka_groups.functions import check_function
from kafka_groups.share.workers.rules.failures.outages import HELD_BACKOFF_MS
from kafka_groups.spark.groups.consumer_keys import KeyRules, backoff, path_or_none, positive, topic_or_none, topics_of
from kafka_groups.spark.processes.process_logs import LEVELS
from kafka_groups.spark.records.batch import ShareBatch
from kafka_groups.spark.workers.consumers import ConsumerSpec
from kafka_groups.spark.workers.returned import check_process

__all__ = [
    "ON_ERROR",
    "PER_RECORD",
    "REJECT_ALL",
    "RELEASE_AND_RAISE",
    "FailureOption",
    "WorkerOptions",
    "consumer_spec",
]

FailureOption = str
"""One of `ON_ERROR`."""

RELEASE_AND_RAISE = "release"
"""Release the records of a batch that fails, and end the run with an error."""

PER_RECORD = "per_record"
"""Find the records that fail, and release only these."""

REJECT_ALL = "reject"
"""Reject the records of a batch that fails."""

ON_ERROR = (RELEASE_AND_RAISE, PER_RECORD, REJECT_ALL)
"""The values of `on_error`."""

_RULES = KeyRules(
    refuse_bytes="workers hand out bytes, as Arrow tables do; decode them in process",
    refuse_ours="workers set it to {value} themselves; remove it",
)


def _known(instance: object, attribute: Any, value: object) -> None:
    if value not in ON_ERROR:
        raise ConfigurationError(f"{attribute.name}={value!r}: give one of {', '.join(map(repr, ON_ERROR))}")


def _level(_instance: object, attribute: Any, value: object) -> None:
    if value not in LEVELS:
        raise ConfigurationError(f"{attribute.name}={value!r}: give one of {', '.join(map(repr, LEVELS))}")


def _callable_or_none(_instance: object, attribute: Any, value: object) -> None:
    if value is not None:
        remedy = "what it returns is ignored, so give an ordinary function"
        check_function(attribute.name, value, "a function of a ShareRunResult, or None", arguments=1, remedy=remedy)


@frozen(kw_only=True)
class WorkerOptions:
    """The options of `ShareWorkers` in addition to the keys of a consumer.

    Attributes:
        max_records: A task stops polling after this many records; its last poll may return more.
        max_seconds: A task stops polling after this time.
        on_error: What happens to records that fail while others succeed. "release": all its records are
            released, and the run raises. "per_record": the batch is halved again and again until the bad records are
            found, and only those are released. "reject": none of them is redelivered.
        backoff_seconds: The longest wait between two tries, while records fail and nothing succeeds. The worker holds
            the records, renews their locks and calls `process` with them again, first after 0.2 s, then less and less
            often, for as long as it takes. An outage of the sink spends none of their deliveries. The worker gives up
            records once others succeed, because then the sink works and the records are bad. 0 releases the records at
            the first error, which ends the run and helps while you write `process`; records on their last delivery are
            held even then.
        go_on_file: A file on the driver's host. When it is created or touched, workers that wait because records fail
            try again at once, as with `ShareWorkers.go_on`. None for no file.
        dead_letter_topic: The topic for copies of records that are rejected or on one of their last two deliveries.
            Without one, a record that kills every worker that reads it is lost.
        on_result: A function that is called with the `ShareRunResult` of each run, on the driver, also when the run
            raises. With Spark Connect a query runs on the server, and so does the function.
        idle_close_seconds: How long a consumer waits for the next task before it leaves the group. Nobody reads
            its partitions until then, unless there are more workers than partitions; joining again takes a second or
            two. Keep it below the 60 s after which Spark ends an idle Python worker.
        log_level: From which level on workers log: "DEBUG", "INFO", "WARNING" or "ERROR". Each worker writes to the
            standard error of its process, with time, level and logger.
    """

    max_records: int = field(default=50_000, validator=positive)
    max_seconds: float = field(default=10.0, validator=positive)
    on_error: str = field(default=RELEASE_AND_RAISE, validator=_known)
    backoff_seconds: float = field(default=HELD_BACKOFF_MS / 1000, validator=backoff)
    go_on_file: str | None = field(default=None, validator=path_or_none)
    dead_letter_topic: str | None = field(default=None, validator=topic_or_none)
    on_result: Callable[..., object] | None = field(default=None, validator=_callable_or_none)
    idle_close_seconds: float = field(default=10.0, validator=positive)
    log_level: str = field(default="INFO", validator=_level)


def consumer_spec(
    given: Mapping[str, object], topics: Iterable[str], process: Callable[[ShareBatch], object], options: WorkerOptions
) -> ConsumerSpec:
    """Create the specification of the workers' consumers.

    Raises:
        ConfigurationError: A key, a value or a topic is invalid, or the function cannot be pickled.
    """
    wanted = topics_of(topics)
    spec = ConsumerSpec(
        config=_RULES.consumer_config(given),
        given=dict(given),
        topics=wanted,
        process=_pickled_process(process),
        dead_letter_topic=options.dead_letter_topic,
        idle_close_seconds=options.idle_close_seconds,
        key="",
    )
    return evolve(spec, key=hashlib.sha256(_pickled("oauth_cb", spec)).hexdigest())


def _pickled_process(process: Callable[[ShareBatch], object]) -> bytes:
    check_process(process)
    return _pickled("process", process)


def _pickled(name: str, value: object) -> bytes:
    """Pickle as Spark does; the error says what the user can change."""
    from pyspark.cloudpickle import dumps  # noqa: PLC0415 - Spark's own: pickles functions that no module has

    try:
        pickled: bytes = dumps(value)  # type: ignore[no-untyped-call]
    except Exception as error:  # whatever the objects that it refers to raise when they are pickled
        given = f"={represented(value)}" if name == "process" else ""
        text = f"{name}{given} cannot be pickled and sent to the workers: {named(error)}"
        remedy = (
            "Let it open connections and files itself when it is first called, or keep them in the module that it is"
            " defined in"
        )
        raise ConfigurationError(sentences(text, remedy)) from error
    return pickled
