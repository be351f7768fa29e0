"""The configuration of a share consumer, given as keywords, by Kafka's dotted names, or both.

Keys that a share consumer does not have (an offset reset, static membership …) raise an error that says what to do
instead. One error names everything that is wrong.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from attrs import frozen

from kafka_groups.config.clients import client
from kafka_groups.config.clients.connection import ClientConfig
from kafka_groups.config.clients.foreign import advice
from kafka_groups.config.keys import INT_MAX, Key, KeyType
from kafka_groups.config.readers import ADAPTIVE, read_callable, read_fetch_records
from kafka_groups.config.security import security
from kafka_groups.config.settings import (
    KeyTable,
    gather,
    missing_keys,
    raise_together,
    refused_key,
    setting,
)

__all__ = ["ShareConsumerConfig", "share_consumer_config", "share_consumer_keys"]

_LOG = logging.getLogger(__name__)


def _int(name: str, default: int, doc: str, **options: Any) -> Any:
    limits: dict[str, Any] = {"minimum": 0, "maximum": INT_MAX} | options
    return setting(Key(name=name, type=KeyType.INT, default=default, doc=doc, **limits))


def _choice(name: str, choices: tuple[str, ...], doc: str) -> Any:
    return setting(Key(name=name, type=KeyType.STRING, default=choices[0], choices=choices, doc=doc))


def _deserializer(name: str, doc: str) -> Key:
    form = "a function of the raw bytes"
    annotation = "Callable[..., object] | None"
    return Key(
        name=name, type=KeyType.CLASS, default=None, reader=read_callable, form=form, annotation=annotation, doc=doc
    )


@frozen(kw_only=True)
class ShareConsumerConfig(ClientConfig):
    """The configuration of a share consumer; `share_consumer_config` builds it."""

    whose = "a share consumer"

    group_id: str = setting(client.GROUP_ID)
    client_rack: str = setting(client.CLIENT_RACK)
    acknowledgement_mode: str = _choice(
        "share.acknowledgement.mode",
        ("implicit", "explicit"),
        "implicit: the next poll or commit accepts all records that were delivered. explicit: you acknowledge "
        "every record before you poll again.",
    )
    acquire_mode: str = _choice(
        "share.acquire.mode",
        ("batch_optimized", "record_limit"),
        "batch_optimized: acquires whole batches of the log, so a poll may return more than max.poll.records. "
        "record_limit: never returns more than max.poll.records, at a lower rate (KIP-1206).",
    )
    max_poll_records: int = _int(
        "max.poll.records",
        500,
        "How many records one poll returns. A strict limit in record_limit mode, a hint otherwise: a poll returns "
        "whole batches of the log until it has this many.",
        minimum=1,
    )
    fetch_max_records: int | str = setting(
        Key(
            name="fetch.max.records",
            type=KeyType.INT,
            default=ADAPTIVE,
            minimum=1,
            maximum=100_000,
            reader=read_fetch_records,
            form=f"{ADAPTIVE}, or a whole number from 1 to 100000",
            annotation=f'int | Literal["{ADAPTIVE}"]',
            doc="How many records one fetch asks for. adaptive: max.poll.records at first, and more while your program "
            "waits for records. A number is used as it is; max.poll.records' value is what Kafka's Java client asks "
            "for. In record_limit mode a fetch asks for max.poll.records.",
        )
    )
    fetch_min_bytes: int = _int(
        "fetch.min.bytes",
        1,
        "The broker responds to a fetch when it has this much, or when fetch.max.wait.ms has passed.",
        unit="bytes",
    )
    fetch_max_bytes: int = _int(
        "fetch.max.bytes",
        52_428_800,
        "The largest response to a fetch. A single batch that is larger is returned nevertheless.",
        unit="bytes",
    )
    fetch_max_wait_ms: int = _int(
        "fetch.max.wait.ms",
        500,
        "The longest time that the broker waits for fetch.min.bytes.",
        unit="ms",
        aliases=("fetch.wait.max.ms",),
    )
    max_poll_interval_ms: int = _int(
        "max.poll.interval.ms",
        300_000,
        "If you do not poll for this long, the consumer leaves the group, and other members get its records.",
        unit="ms",
        minimum=1,
    )
    check_crcs: bool = setting(client.CHECK_CRCS)
    allow_auto_create_topics: bool = setting(client.ALLOW_AUTO_CREATE_TOPICS)
    metadata_max_age_ms: int = setting(client.METADATA_MAX_AGE_MS)
    prefetch_batches: int = _int(
        "prefetch.batches",
        1,
        "How many batches to prefetch from each leader while you process records. 0 turns prefetching off.",
        maximum=1,
    )
    auto_renew: bool = setting(
        Key(
            name="auto.renew",
            type=KeyType.BOOLEAN,
            default=False,
            doc="Whether to renew the locks of records that you have received and not yet acknowledged, before "
            "they expire (KIP-1222). Explicit mode only.",
        )
    )
    on_deserialization_error: str = _choice(
        "on.deserialization.error",
        ("release", "raise"),
        "release: a record that fails to deserialise has no value; its error and raw_value say why. It is released "
        "unless you acknowledge it. raise: poll raises, as in Java.",
    )
    key_deserializer: Callable[..., object] | None = setting(
        _deserializer("key.deserializer", "A function that decodes keys. Without it, keys are bytes.")
    )
    value_deserializer: Callable[..., object] | None = setting(
        _deserializer("value.deserializer", "A function that decodes values. Without it, values are bytes.")
    )

    unknown_config: str = _choice(
        "unknown.config",
        ("raise", "warn"),
        "What to do about keys that a share consumer does not have. raise: raise one error that lists all of "
        "them. warn: log a warning for each and ignore it, so that you can try a configuration made for another "
        "client.",
    )

    def _checks(self) -> Iterator[Callable[[], object]]:
        yield from super()._checks()
        yield self._check_renewal

    def _check_renewal(self) -> None:
        if self.auto_renew and self.acknowledgement_mode != "explicit":
            raise _TABLE.key("auto_renew").problem(
                self.auto_renew,
                "locks are renewed only in explicit mode, and acknowledgement_mode (share.acknowledgement.mode) is "
                f"{self.acknowledgement_mode!r}",
                named="auto_renew",
                remedy="Set acknowledgement_mode to 'explicit', or auto_renew to False",
            )


_TABLE = KeyTable(ShareConsumerConfig)


def share_consumer_keys() -> dict[str, Key]:
    """Return the keys of a share consumer by attribute name, in the order of the class."""
    return dict(_TABLE)


def share_consumer_config(mapping: Mapping[str, object] | None = None, **keywords: object) -> ShareConsumerConfig:
    """Read and check the configuration of a share consumer.

    Args:
        mapping: Keys by Kafka's dotted names, or confluent-kafka's where the two mean the same.
        **keywords: Keys by the attributes' names.

    Raises:
        ConfigurationError: A key is unknown, not supported, missing, given twice with different values or conflicts
            with another, or a value is invalid. The message names every such key, its value and what to do.
    """
    given = security.from_java([*(mapping or {}).items(), *keywords.items()])
    found = gather(_TABLE, given)
    whose = ShareConsumerConfig.whose
    refused = [refused_key(_TABLE, name, value, whose, advice(name)) for name, value in found.unknown]
    if found.values.get("unknown_config") == "warn":
        for refusal in refused:
            _LOG.warning("Ignoring a key: %s", refusal)
        refused = []
    raise_together([*refused, *found.problems, *missing_keys(_TABLE, given)], whose)
    return ShareConsumerConfig(**found.values)
