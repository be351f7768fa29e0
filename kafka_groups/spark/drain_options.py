"""What `drain` takes: how much, how long, and a consumer's configuration."""

from collections.abc import Mapping
from typing import Any, Final

from attrs import field, fields, frozen

from kafka_groups.config.settings import KeyTable
from kafka_groups.config.share import ShareConsumerConfig, share_consumer_config
from kafka_groups.errors import ConfigurationError

__all__ = ["DrainOptions", "consumer_config_of", "split_keywords"]

_KEYS = KeyTable(ShareConsumerConfig)
_OURS: Final[Mapping[str, object]] = {"acknowledgement_mode": "explicit", "auto_renew": True}
"""Keys that a drain sets, as what it promises rests on them."""
_DEFAULTS: Final[Mapping[str, object]] = {
    "max_poll_records": 2_000,
    # A drain does not poll while the job runs, however long that takes; its locks are renewed all the same.
    "max_poll_interval_ms": 2**31 - 1,
}
_BYTES_ONLY: Final = ("key_deserializer", "value_deserializer")
_ON_LOCK_LOST: Final = ("warn", "raise")


def _positive(_instance: object, attribute: Any, value: object) -> None:
    if not isinstance(value, int | float) or isinstance(value, bool) or value <= 0:
        raise ConfigurationError(f"{attribute.name}={value!r}: give a number above 0")


def _policy(_instance: object, attribute: Any, value: object) -> None:
    if value not in _ON_LOCK_LOST:
        raise ConfigurationError(f"{attribute.name}={value!r}: give 'warn' or 'raise'")


def _topic(_instance: object, attribute: Any, value: object) -> None:
    if value is not None and (not isinstance(value, str) or not value):
        raise ConfigurationError(f"{attribute.name}={value!r}: give the name of a topic, or None")


@frozen(kw_only=True)
class DrainOptions:
    """What `drain` takes beside the keys of a consumer.

    Attributes:
        max_records: Nothing more is acquired once this many records came; the last fetch may bring more.
        max_bytes: Nothing more is acquired once this much was fetched, in bytes as it was on the wire. All of it, and
            what Spark makes of it, is in the driver's memory.
        idle_seconds: The drain is complete when nothing came for this long, with partitions to fetch from.
        max_seconds: Nothing more is acquired after this time, whatever came.
        on_lock_lost: What happens when the brokers refuse the acceptance of records at the end, or do not answer: their
            locks were lost, and they are delivered again although they were processed. "warn" logs and counts them,
            "raise" raises `LockLostError` after everything else was accepted.
        dead_letter_topic: Where copies of records go that are on one of their last deliveries, before the drain hands
            them out; None for nowhere.
    """

    max_records: int = field(default=100_000, validator=_positive)
    max_bytes: int = field(default=256 * 1024 * 1024, validator=_positive)
    idle_seconds: float = field(default=2.0, validator=_positive)
    max_seconds: float = field(default=60.0, validator=_positive)
    on_lock_lost: str = field(default="warn", validator=_policy)
    dead_letter_topic: str | None = field(default=None, validator=_topic)


def split_keywords(
    config: Mapping[str, object] | None, keywords: Mapping[str, Any]
) -> tuple[DrainOptions, dict[str, object]]:
    """The drain's own options, and all keys of the consumer.

    Raises:
        ConfigurationError: A value is bad.
    """
    names = {option.name for option in fields(DrainOptions)}
    options = DrainOptions(**{name: value for name, value in keywords.items() if name in names})
    return options, {**(config or {}), **{name: value for name, value in keywords.items() if name not in names}}


def consumer_config_of(given: Mapping[str, object]) -> ShareConsumerConfig:
    """The configuration of the drain's consumer.

    Raises:
        ConfigurationError: A key is unknown, forbidden or set by the drain itself, or a value is bad.
    """
    for name, value in given.items():
        _refuse_ours(name, value)
    named = {_KEYS.attribute(name) for name in given}
    ours = {name: value for name, value in {**_DEFAULTS, **_OURS}.items() if name not in named}
    return share_consumer_config({**given, **ours})


def _refuse_ours(name: str, value: object) -> None:
    attribute = _KEYS.attribute(name)
    if attribute is None:
        return  # the configuration says so
    if attribute in _BYTES_ONLY:
        raise ConfigurationError(f"{name}: a drain hands out bytes, as Arrow tables do; decode them in Spark")
    if attribute in _OURS and _KEYS.key(attribute).parse(value, named=name) != _OURS[attribute]:
        raise ConfigurationError(f"{name}={value!r}: a drain sets it to {_OURS[attribute]!r} itself; remove it")
