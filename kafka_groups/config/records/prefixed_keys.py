"""Read the keys behind a prefix of an application, such as `producer.linger.ms`, into values of a settings class.

Java's names are the names. librdkafka's are aliases where they mean the same. All others are refused with the reason
and the remedy, so that no key is ignored.
"""

import logging
from collections.abc import Sequence
from typing import Any, Final

from attrs import frozen

from kafka_groups.config.clients.connection import ClientConfig
from kafka_groups.config.clients.foreign import Advice
from kafka_groups.config.readers import UnfitError, read_integer
from kafka_groups.config.records.record_producer import ProducerConfig
from kafka_groups.config.records.record_reader import ReaderConfig
from kafka_groups.config.records.unsupported import advice_of_clients, fixed_key, own_advice
from kafka_groups.config.settings import Gathered, KeyTable, gather, raise_together, refused_key
from kafka_groups.errors import ConfigurationError, KafkaGroupsError
from kafka_groups.errors.texts import sentences

__all__ = ["CLASSES", "PrefixedKeys", "check_agreement", "log_aliases", "read_prefixed"]

_LOG = logging.getLogger(__name__)

CLASSES: Final[dict[str, type[ReaderConfig | ProducerConfig]]] = {"consumer": ReaderConfig, "producer": ProducerConfig}
"""The settings class of each kind of client."""

_OTHERS: Final = {"consumer": "producer", "producer": "consumer"}
_CLIENT: Final = KeyTable(ClientConfig)
_ONE_CLUSTER: Final[Advice] = (
    "all clients of an application connect to the same brokers in the same way",
    "write it without prefix",
)
_KILOBYTES: Final = ("queue.buffering.max.kbytes", "queued.max.messages.kbytes")
"""Aliases of keys in bytes."""


@frozen
class PrefixedKeys:
    """The keys behind one prefix.

    Attributes:
        prefix: The prefix, such as main.consumer.
        given: Names without the prefix, and values.
    """

    prefix: str
    given: Sequence[tuple[str, object]]

    @property
    def kind(self) -> str:
        """The kind of client: consumer or producer."""
        return self.prefix.rpartition(".")[2]


def read_prefixed(levels: Sequence[PrefixedKeys]) -> dict[str, Any]:
    """Return the values by attribute.

    Args:
        levels: Keys of one kind of client; those of a later prefix come before those of an earlier one.

    Raises:
        ConfigurationError: Keys are unknown, not supported or given twice, or values are invalid. The message names
            all of them, and says what to do.
    """
    values: dict[str, Any] = {}
    problems: list[KafkaGroupsError] = []
    for keys in levels:
        found = _read(keys)
        values.update(found.values)
        problems.extend(found.problems)
    raise_together(problems, CLASSES[levels[0].kind].whose)
    return values


def check_agreement(one: PrefixedKeys, other: PrefixedKeys, why: str) -> None:
    """Check that keys behind two prefixes, which are valid, have no different values.

    Args:
        one: The keys behind a prefix.
        other: Those behind the other one, of the same kind of client.
        why: Why there is one value, as half a sentence.

    Raises:
        ConfigurationError: Values differ. The message has both names and values of each such key.
    """
    ones, others = _read(one).values, _read(other).values
    differing = [name for name in ones if name in others and ones[name] != others[name]]
    raise_together(
        [
            ConfigurationError(
                sentences(
                    f"{_shown(one, name)} and {_shown(other, name)} differ, but {why}",
                    "Remove one of them, or give both the same value",
                )
            )
            for name in differing
        ],
        CLASSES[one.kind].whose,
    )


def _shown(keys: PrefixedKeys, attribute: str) -> str:
    table = _table(keys)
    spelt = ((f"{keys.prefix}.{name}", value) for name, value in keys.given)
    return next(f"{name}={value!r}" for name, value in spelt if table.attribute(name) == attribute)


def _read(keys: PrefixedKeys) -> Gathered:
    table = _table(keys)
    free = [(name, value) for name, value in keys.given if fixed_key(keys.kind, name) is None]
    found = gather(table, [(f"{keys.prefix}.{name}", _in_bytes(name, value)) for name, value in free])
    refused = [_refusal(table, keys, spelling, value) for spelling, value in found.unknown]
    return Gathered(values=found.values, problems=[*refused, *found.problems, *_changed(keys)])


def _table(keys: PrefixedKeys) -> KeyTable:
    return KeyTable(CLASSES[keys.kind], prefix=keys.prefix)


def _in_bytes(name: str, value: object) -> object:
    if name not in _KILOBYTES:
        return value
    try:
        return read_integer(value) * 1_024
    except UnfitError:
        return value  # the key says what is wrong with it


def _refusal(table: KeyTable, keys: PrefixedKeys, spelling: str, value: object) -> ConfigurationError:
    advice = _advice(keys.kind, spelling.removeprefix(f"{keys.prefix}."))
    return refused_key(table, spelling, value, CLASSES[keys.kind].whose, advice)


def _advice(kind: str, name: str) -> Advice | None:
    if (own := own_advice(kind, name)) is not None:
        return own
    if _CLIENT.attribute(name) is not None:
        return _ONE_CLUSTER
    other = _OTHERS[kind]
    if KeyTable(CLASSES[other], prefix=other).attribute(f"{other}.{name}") or fixed_key(other, name):
        return f"it configures the {other}", f"write it as {other}.{name}"
    return own_advice(other, name) or advice_of_clients(name)


def _changed(keys: PrefixedKeys) -> list[KafkaGroupsError]:
    fixed = [(name, value, known) for name, value in keys.given if (known := fixed_key(keys.kind, name))]
    return [
        ConfigurationError(
            sentences(
                f"Invalid value {value!r} for {keys.prefix}.{name}: {known.reason}",
                f"Use {' or '.join(known.values)}, or omit the key",
            )
        )
        for name, value, known in fixed
        if str(value).strip().lower() not in known.values
    ]


def log_aliases(keys: PrefixedKeys) -> None:
    """Log a line at INFO for each key that has another name in Java."""
    table = _table(keys)
    for name, _ in keys.given:
        attribute = table.attribute(f"{keys.prefix}.{name}")
        if attribute is not None and name != (real := table.key(attribute).name):
            _LOG.info("The key %s.%s is read as %s.%s", keys.prefix, name, keys.prefix, real)
