"""The keyword arguments of a `Worker`: those of a share consumer that the worker does not decide itself."""

from collections.abc import Mapping
from typing import Literal

from kafka_groups.config.clients.keywords import ClientKeywords
from kafka_groups.errors import ConfigurationError

__all__ = ["WorkerKeywords", "check_worker_keys"]

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
