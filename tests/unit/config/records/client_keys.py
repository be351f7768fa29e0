"""Keys of readers and producers, with values that are not their defaults."""

from collections.abc import Iterator

from kafka_groups.config.keys import Key, KeyType
from kafka_groups.config.records.prefixed_keys import CLASSES
from kafka_groups.config.settings import KeyTable

__all__ = ["ALWAYS", "another", "keys_of"]

ALWAYS: dict[str, dict[str, object]] = {
    "producer": {
        "acks": "all",
        "allow.auto.create.topics": "false",
        "enable.idempotence": True,
        "message.send.max.retries": 2**31 - 1,
        "partitioner": "murmur2_random",
        "request.required.acks": -1,
        "retries": "2147483647",
    },
    "consumer": {"allow.auto.create.topics": False},
}
"""Keys that say what is so in any case, with a value that is allowed."""


def another(key: Key) -> object:
    """A value that is allowed, and that is not the default."""
    if key.type is KeyType.BOOLEAN:
        return not key.default
    if key.name == "fetch.max.wait.ms":
        return 7  # it has to be less than request.timeout.ms
    if key.bounds is not None:
        return key.bounds[1] if key.bounds[1] != key.default else key.bounds[1] - 1
    return next(word for word in key.choices if word != key.default) if key.choices else "other"


def keys_of(kind: str) -> Iterator[tuple[str, str, object, object]]:
    """Each name of each key of a kind of client: the name, the attribute, a value to give, and the value it becomes."""
    for attribute, key in KeyTable(CLASSES[kind]):
        for name in (key.name, *key.aliases):
            yield (
                (name, attribute, 7, 7 * 1_024) if name.endswith("kbytes") else (name, attribute, *(another(key),) * 2)
            )
