"""Check values of a broker's dynamic configs, with Kafka's texts."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from kafka_groups.config.cluster.dynamic_broker_keys import DYNAMIC_KEYS, TOPIC_KEY_OF, DynamicBrokerKey
from kafka_groups.config.cluster.topic import topic_keys
from kafka_groups.config.keys import KeyType
from kafka_groups.errors import InvalidConfigError

__all__ = ["check_dynamic_value"]

_BITS: Final = MappingProxyType({KeyType.INT: 31, KeyType.SHORT: 15, KeyType.LONG: 63})
_LEAST_ROLL_MS: Final = 1
_GZIP: Final = "compression.gzip.level"


def check_dynamic_value(name: str, value: str) -> None:
    """Check the type and the bounds of a value.

    Args:
        name: A key of `DYNAMIC_KEYS`.
        value: The value.

    Raises:
        InvalidConfigError: It does not fit.
    """
    key = DYNAMIC_KEYS[name]
    _CHECKS.get(key.type, _check_text)(key, value.strip())


def _check_number(key: DynamicBrokerKey, value: str) -> None:
    number = _number_of(key, value)
    if number is None:
        raise _wrong(key, value, f"Not a number of type {key.type.name}")
    if key.least is not None and number < key.least:
        raise _wrong(key, number, f"Value must be at least {key.least:.0f}")
    if key.most is not None and number > key.most:
        raise _wrong(key, number, f"Value must be no more than {key.most:.0f}")
    if key.name == _GZIP and number != -1 and not 1 <= number <= 9:
        raise _wrong(key, number, "Value must be between 1 and 9 or equal to -1")
    if key.name == "log.roll.ms" and number < _LEAST_ROLL_MS:
        raise InvalidConfigError("requirement failed: log.roll.ms must be greater than or equal to 1")


def _number_of(key: DynamicBrokerKey, value: str) -> float | None:
    try:
        if key.type is KeyType.DOUBLE:
            return float(value)
        number = int(value)
    except ValueError:
        return None
    most = 1 << _BITS[key.type]
    return number if -most <= number < most else None


def _check_boolean(key: DynamicBrokerKey, value: str) -> None:
    if value.lower() not in ("true", "false"):
        raise _wrong(key, value, "Expected value to be either true or false")


def _check_text(key: DynamicBrokerKey, value: str) -> None:
    # Those of topics are chosen from a few words; nothing is known of the values of the others.
    topic_key = TOPIC_KEY_OF.get(key.name)
    choices = () if topic_key is None else topic_keys()[topic_key].choices or ()
    words = [word.strip() for word in value.split(",")] if key.type is KeyType.LIST else [value]
    for word in words if choices else ():
        if word not in choices:
            raise _wrong(key, word, f"String must be one of: {', '.join(map(str, choices))}")


def _wrong(key: DynamicBrokerKey, value: object, reason: str) -> InvalidConfigError:
    return InvalidConfigError(f"Invalid value {value} for configuration {key.name}: {reason}")


_CHECKS: Final[Mapping[KeyType, Callable[[DynamicBrokerKey, str], None]]] = MappingProxyType(
    {
        KeyType.BOOLEAN: _check_boolean,
        KeyType.INT: _check_number,
        KeyType.SHORT: _check_number,
        KeyType.LONG: _check_number,
        KeyType.DOUBLE: _check_number,
    }
)
