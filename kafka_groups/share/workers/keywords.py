"""The keyword arguments of a `Worker` and of its decorators: a worker refuses those that it decides itself."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from kafka_groups.config.clients.keywords import ClientKeywords
from kafka_groups.config.clients.share import ShareConsumerConfig
from kafka_groups.config.suggestions import did_you_mean, near_names
from kafka_groups.errors import ConfigurationError
from kafka_groups.share.workers.handlers import HandlerKeywords, checked_topics

__all__ = ["WorkerKeywords", "check_declaration", "check_producer_keys", "check_worker_keys", "split_producer_keys"]

# The rules of handlers depend on these. With implicit acknowledgement, for example, a poll would accept records that
# have not run yet.
_OWNED = {
    "acknowledgement_mode": "share.acknowledgement.mode",
    "auto_renew": "auto.renew",
    "acquire_mode": "share.acquire.mode",
    "max_poll_records": "max.poll.records",
    "fetch_max_records": "fetch.max.records",
    "prefetch_batches": "prefetch.batches",
    "key_deserializer": "key.deserializer",
    "value_deserializer": "value.deserializer",
    "on_deserialization_error": "on.deserialization.error",
}

_REMEDIES = {
    "value_deserializer": "parse values with value= of the handler, such as value=serdes.json(Order)",
    "key_deserializer": "read record.raw_key, which handlers of two arguments get",
    "max_poll_records": "use concurrency= and buffer= of the handler",
    "fetch_max_records": "use concurrency= and buffer= of the handler",
    "prefetch_batches": "use buffer= of the handler",
}


class WorkerKeywords(ClientKeywords, total=False):
    """The keyword arguments of a worker."""

    client_rack: str
    """`client.rack`: The rack of the client, which the coordinator shows. Empty for none."""

    fetch_min_bytes: int
    """`fetch.min.bytes`: The broker responds to a fetch when it has this much, or when fetch.max.wait.ms has passed."""

    fetch_max_bytes: int
    """`fetch.max.bytes`: The largest response to a fetch. A single batch that is larger is returned nevertheless."""

    fetch_max_wait_ms: int
    """`fetch.max.wait.ms`: The longest time that the broker waits for fetch.min.bytes."""

    max_poll_interval_ms: int
    """`max.poll.interval.ms`: If the worker's loop does not run for this long, the consumer leaves the group."""

    check_crcs: bool
    """`check.crcs`: Whether to verify the checksum of each record batch before reading it."""

    allow_auto_create_topics: bool
    """`allow.auto.create.topics`: Whether the broker may create a topic of a handler that does not exist."""

    metadata_max_age_ms: int
    """`metadata.max.age.ms`: How often the client refreshes what it knows about topics and leaders."""

    producer_batch_size: int
    """`producer.batch.size`: The size of a batch of records that the worker writes, in bytes before compression."""

    producer_compression_type: Literal["none", "gzip", "snappy", "lz4", "zstd"]
    """`producer.compression.type`: The compression of the records that the worker writes."""

    unknown_config: Literal["raise", "warn"]
    """`unknown.config`: What to do about keys that a share consumer does not have."""


def check_worker_keys(given: Mapping[str, object]) -> None:
    """Refuse the keys that a worker decides itself.

    Raises:
        ConfigurationError: One of them was given.
    """
    owned = {**{name: name for name in _OWNED}, **{dotted: name for name, dotted in _OWNED.items()}}
    for key in given:
        if (name := owned.get(key)) is not None:
            remedy = _REMEDIES.get(name, "leave it out")
            raise ConfigurationError(f"{key}={given[key]!r}: a worker decides this itself; {remedy}")
        if key in ("group_id", "group.id"):
            raise ConfigurationError(f"{key}={given[key]!r}: give the group as the first argument of Worker")


_OF_PRODUCER = ("producer.", "producer_")


def split_producer_keys(given: Mapping[str, object]) -> tuple[dict[str, object], dict[str, object]]:
    """Return the keys of the consumers, and those of the producer."""
    producer = {name: value for name, value in given.items() if name.startswith(_OF_PRODUCER)}
    return {name: value for name, value in given.items() if name not in producer}, producer


def check_producer_keys(producer: Mapping[str, object], config: ShareConsumerConfig) -> None:
    """Check the keys of the producer.

    Raises:
        ConfigurationError: A key is not one of a worker's producer, or its value is invalid.
    """
    if producer:
        # Imported here: few workers set them.
        from kafka_groups.config.records.worker_producer import worker_producer_config  # noqa: PLC0415

        worker_producer_config(producer, config)


# -------------------------------------------------------------------------------------------- decorators

_OF_HANDLERS = ("value", "output", *HandlerKeywords.__annotations__)
_OF_BATCHES = ("max_records", "max_wait")
_OPTIONS: Mapping[str, Sequence[str]] = MappingProxyType({
    "handler": _OF_HANDLERS,
    "batch_handler": (*_OF_BATCHES, *(name for name in _OF_HANDLERS if name != "order_by")),
})  # fmt: skip
_LEAST_SIMILAR = 0.6


def check_declaration(decorator: str, topics: object, given: Mapping[str, object]) -> None:
    """Refuse the call of a decorator without topics, or with options that it does not have.

    Args:
        decorator: The name of the decorator: "handler" or "batch_handler".
        topics: Its topics.
        given: Its other options.

    Raises:
        ConfigurationError: There is no topic, or an option does not exist.
    """
    unknown = [name for name in given if name not in _OPTIONS[decorator] and not _is_unset_order(name, given)]
    if unknown:
        listed = f"The options are topics, {', '.join(_OPTIONS[decorator])}."
        raise ConfigurationError(" ".join([*_refusals(decorator, unknown), listed]))
    if callable(topics) or topics == ():
        raise ConfigurationError(f'@worker.{decorator} without a topic: write @worker.{decorator}("topic")')
    checked_topics(topics)


def _is_unset_order(name: str, given: Mapping[str, object]) -> bool:
    return name == "order_by" and given[name] is None


def _refusals(decorator: str, unknown: Sequence[str]) -> Iterator[str]:
    for name in unknown:
        if name in _OF_BATCHES:
            yield f"{name} is for batch handlers, and this one gets single records: use @worker.batch_handler."
        elif name in _OF_HANDLERS:
            yield f"{name} is for handlers of single records: a batch has records of many keys."
        else:
            near = near_names(name, ["topics", *_OPTIONS[decorator]], most=1, cutoff=_LEAST_SIMILAR)
            yield f"Unknown option {name!r} of @worker.{decorator}. {did_you_mean(near) if near else 'Remove it.'}"
