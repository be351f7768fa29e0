"""What `ShareWorkers` is told, checked once where it is made."""

import hashlib
import pickle
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from attrs import evolve, field, fields, frozen

from kafka_groups.config.settings import KeyTable
from kafka_groups.config.share import ShareConsumerConfig, share_consumer_config
from kafka_groups.errors import ConfigurationError
from kafka_groups.share.aio import checked_topics
from kafka_groups.spark.batch import ShareBatch
from kafka_groups.spark.consumers import ConsumerSpec
from kafka_groups.spark.policy import ON_ERROR

__all__ = ["WorkerOptions", "consumer_spec", "options_and_keys"]

_KEYS = KeyTable(ShareConsumerConfig)
_OURS: Mapping[str, object] = {"acknowledgement_mode": "explicit", "auto_renew": True}
"""Keys that the workers set, as what they promise rests on them."""
_BYTES_ONLY = ("key_deserializer", "value_deserializer")
_DEFAULTS: Mapping[str, object] = {"max_poll_records": 2_000, "max_poll_interval_ms": 2**31 - 1}
"""Other defaults than a consumer's. How long `process` takes is no reason to take its records away: they would be
delivered to another worker, which takes as long, until their deliveries are used up. Spark shows a task that hangs."""


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
        idle_close_seconds: How long a consumer waits for the next task before it leaves the group. Its partitions lie
            idle meanwhile, unless there are more workers than partitions; joining again takes a second or two. Less
            than the 60 s after which Spark ends an idle Python worker.
    """

    max_records: int = field(default=50_000, validator=_positive)
    max_seconds: float = field(default=10.0, validator=_positive)
    on_error: str = field(default="release", validator=_known)
    dead_letter_topic: str | None = field(default=None, validator=_topic)
    idle_close_seconds: float = field(default=10.0, validator=_positive)


def options_and_keys(keywords: Mapping[str, Any]) -> tuple[WorkerOptions, dict[str, object]]:
    """The options among keywords, and the rest, which are keys of the consumer.

    Raises:
        ConfigurationError: A value of an option is bad.
    """
    names = {option.name for option in fields(WorkerOptions)}
    options = WorkerOptions(**{name: value for name, value in keywords.items() if name in names})
    return options, {name: value for name, value in keywords.items() if name not in names}


def consumer_spec(
    given: Mapping[str, object], topics: Iterable[str], process: Callable[[ShareBatch], object], options: WorkerOptions
) -> ConsumerSpec:
    """What the workers' consumers are made of.

    Raises:
        ConfigurationError: A key, a value or a topic is bad, or the function cannot be pickled.
    """
    wanted = checked_topics(topics)
    if not wanted:
        raise ConfigurationError("topics is empty: give at least one name")
    for name, value in given.items():
        _refuse_ours(name, value)
    config = share_consumer_config({**given, **_without(given, _DEFAULTS), **_without(given, _OURS)})
    spec = ConsumerSpec(
        config=config,
        given=dict(given),
        topics=wanted,
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
