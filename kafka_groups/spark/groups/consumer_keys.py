"""The keys of the consumers that workers and drains make, and the checks of the other options."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeVar

from attrs import AttrsInstance, evolve, fields, frozen

from kafka_groups.config.clients.share import ShareConsumerConfig, share_consumer_config
from kafka_groups.config.settings import KeyTable
from kafka_groups.errors import ConfigurationError
from kafka_groups.share.arguments import checked_topics
from kafka_groups.share.workers.rules.failures.outages import LONGEST_BACKOFF_MS

__all__ = ["KeyRules", "backoff", "options_and_keys", "path_or_none", "positive", "topic_or_none", "topics_of"]

_KEYS = KeyTable(ShareConsumerConfig)
_OURS: Final[Mapping[str, object]] = {"acknowledgement_mode": "explicit", "auto_renew": True}
"""Keys with fixed values: the guarantees of workers and drains depend on them."""
_DEFAULTS: Final[Mapping[str, object]] = {
    "max_poll_records": 2_000,
    "max_poll_interval_ms": 2**31 - 1,
}
"""Defaults that differ from those of a consumer.

Slow work must not lose its records: they would be delivered to other consumers, which take just as long, until their
deliveries are used up. Spark shows tasks that hang.
"""
_RENAMED: Final[Mapping[str, str]] = {"retry_seconds": "backoff_seconds"}
"""Options by their earlier names."""
_BYTES_ONLY: Final = ("key_deserializer", "value_deserializer")

Kind = TypeVar("Kind", bound=AttrsInstance)


@frozen(kw_only=True)
class KeyRules:
    """The keys that a user may set, and the words in which the others are refused.

    Attributes:
        refuse_bytes: The reason why deserialisers are refused, and what to do instead.
        refuse_ours: The component that sets a fixed key to `{value}`, and what to do.
    """

    refuse_bytes: str
    refuse_ours: str

    def consumer_config(self, given: Mapping[str, object]) -> ShareConsumerConfig:
        """Return the configuration of the consumer.

        Raises:
            ConfigurationError: A key is unknown, forbidden or fixed, or a value is invalid.
        """
        for name, value in given.items():
            self._check(name, value)
        named = {_KEYS.attribute(name) for name in given}
        # Defaults apply only to keys that the user has not set. Fixed keys have been checked above: if one is set, it
        # has the same value.
        ours = {name: value for name, value in {**_DEFAULTS, **_OURS}.items() if name not in named}
        config = share_consumer_config({**given, **ours})
        if "fetch_max_records" in named:
            return config
        # A run ends after some records or seconds. The rest of a larger fetch would then be released, which spends a
        # delivery.
        return evolve(config, fetch_max_records=config.max_poll_records)

    def _check(self, name: str, value: object) -> None:
        attribute = _KEYS.attribute(name)
        if attribute is None:
            return  # the configuration says so
        if attribute in _BYTES_ONLY:
            raise ConfigurationError(f"{name}: {self.refuse_bytes}")
        # Setting a fixed key to its value does no harm, so a configuration that several programs share can be used.
        if attribute in _OURS and _KEYS.key(attribute).parse(value, named=name) != _OURS[attribute]:
            ours = self.refuse_ours.format(value=repr(_OURS[attribute]))
            raise ConfigurationError(f"{name}={value!r}: {ours}")


def options_and_keys(kind: type[Kind], keywords: Mapping[str, Any]) -> tuple[Kind, dict[str, object]]:
    """Split keywords into the options of that class and the keys of the consumer.

    Raises:
        ConfigurationError: A value of an option is bad.
    """
    names = {option.name for option in fields(kind)}
    for name, new in _RENAMED.items():
        if name in keywords:
            raise ConfigurationError(
                f"{name}={keywords[name]!r}: use {new}, the longest wait between two tries; records are held for as"
                " long as the sink is down"
            )
    options = kind(**{name: value for name, value in keywords.items() if name in names})
    return options, {name: value for name, value in keywords.items() if name not in names}


def topics_of(topics: Iterable[object]) -> frozenset[str]:
    """Check the topics to subscribe to.

    Raises:
        ConfigurationError: There are no topics, or they are not a list of names.
    """
    wanted = checked_topics(topics)
    if not wanted:
        raise ConfigurationError("topics is empty: give at least one name")
    return wanted


def positive(_instance: object, attribute: Any, value: object) -> None:
    """Validate an option that must be a number above 0."""
    if not isinstance(value, int | float) or isinstance(value, bool) or value <= 0:
        raise ConfigurationError(f"{attribute.name}={value!r}: give a number above 0")


def backoff(_instance: object, attribute: Any, value: object) -> None:
    """Validate the longest wait between two tries."""
    longest_s = LONGEST_BACKOFF_MS // 1000
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= longest_s:
        raise ConfigurationError(f"{attribute.name}={value!r}: give seconds from 0 to {longest_s}")


def path_or_none(_instance: object, attribute: Any, value: object) -> None:
    """Validate an option that must be the path of a file, or None."""
    if value is not None and (not isinstance(value, str) or not value):
        raise ConfigurationError(f"{attribute.name}={value!r}: give the path of a file, or None")


def topic_or_none(_instance: object, attribute: Any, value: object) -> None:
    """Validate an option that must be the name of a topic, or None."""
    if value is not None and (not isinstance(value, str) or not value):
        raise ConfigurationError(f"{attribute.name}={value!r}: give the name of a topic, or None")
