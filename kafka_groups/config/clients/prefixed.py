"""Keys with a prefix, which configure a part of a streams application: its producer, consumers and internal topics."""

import functools
from collections.abc import Iterable, Mapping
from typing import Any, Final

from kafka_groups.config.keys import Key, KeyType
from kafka_groups.config.readers import UnfitError, read_not_empty
from kafka_groups.config.settings import setting, shown_value

__all__ = ["ISOLATION_LEVEL", "gathered_by_prefix", "overrides"]

_DOCS: Final[Mapping[str, str]] = {
    "producer": "Settings of the producer, such as producer.linger.ms.",
    "consumer": "Settings of all consumers, such as consumer.fetch.min.bytes.",
    "main.consumer": "Settings of the consumer of tasks. They come before those of consumer.",
    "restore.consumer": "Settings for reading changelogs and global topics. They come before those of consumer.",
    "global.consumer": "The same as restore.consumer: one reader reads both, so they can't differ.",
    "topic": "Configs of the internal topics, such as topic.min.insync.replicas. A store's own override them.",
}
_TAG: Final = "client.tag"
_TAGS: Final = "client.tags"
_PREFIXES: Final = (*_DOCS, _TAG)
_GROUP: Final = "the application's member of the group does that, and the consumer only reads"
_ONE_CLUSTER: Final = (
    "all clients of an application connect to the same brokers in the same way; write it without prefix"
)
ISOLATION_LEVEL: Final = "isolation.level"
_ISOLATION_LEVELS: Final = ("read_committed", "read_uncommitted")
_ALWAYS_COMMITTED: Final = "only committed records are restored; set consumer.isolation.level for the sources"
_RESERVED: Final[Mapping[str, Mapping[str, str]]] = {
    "producer": {
        "acks": "records are written durably in any case",
        "enable.idempotence": "records are written idempotently in any case",
        "key.serializer": "the serdes are those of the topology",
        "value.serializer": "the serdes are those of the topology",
        "partitioner": "partitions are chosen as Java chooses them; give partitioner= in the topology",
        "partitioner.class": "partitions are chosen as Java chooses them; give partitioner= in the topology",
        "transactional.id": "the processing guarantee decides it",
        "bootstrap.servers": _ONE_CLUSTER,
    },
    "consumer": {
        "auto.offset.reset": "it is a key of its own: use auto.offset.reset",
        "bootstrap.servers": _ONE_CLUSTER,
        "enable.auto.commit": "offsets are committed with the state",
        "enable.auto.offset.store": "offsets are committed with the state",
        "group.id": _GROUP,
        "group.instance.id": _GROUP,
        "group.protocol": _GROUP,
        "key.deserializer": "the serdes are those of the topology",
        "max.poll.interval.ms": "it is a key of its own: use max.poll.interval.ms",
        "max.poll.records": "it is a key of its own: use max.poll.records",
        "partition.assignment.strategy": _GROUP,
        "session.timeout.ms": _GROUP,
        "value.deserializer": "the serdes are those of the topology",
    },
    "restore.consumer": {ISOLATION_LEVEL: _ALWAYS_COMMITTED},
    "global.consumer": {ISOLATION_LEVEL: _ALWAYS_COMMITTED},
}


def overrides(prefix: str, *, are_checked: bool = True) -> Any:
    """Return the attrs field of the keys with a prefix: pairs of a name without it, and a value; sorted.

    Args:
        prefix: The prefix.
        are_checked: Whether names that librdkafka's clients can't have are refused. Otherwise who reads them does that.
    """
    return setting(
        Key(
            name=prefix,
            type=KeyType.LIST,
            default=(),
            reader=functools.partial(_read, prefix if are_checked else None),
            form=f"a mapping of names and values; or one key for each, which begins with {prefix}.",
            annotation="Mapping[str, object]",
            doc=_DOCS[prefix],
        )
    )


def gathered_by_prefix(given: Iterable[tuple[str, object]]) -> list[tuple[str, object]]:
    """Return the keys with those of each prefix gathered into one mapping."""
    gathered: dict[str, _Given] = {}
    others: list[tuple[str, object]] = []
    for name, value in given:
        prefix = next((each for each in _PREFIXES if name.startswith(f"{each}.")), None)
        if prefix is not None and name != _TAGS:
            found = gathered.setdefault(_TAGS if prefix == _TAG else prefix, _Given())
            found[name.removeprefix(f"{prefix}.")] = value
        else:
            others.append((name, _shielded(name, value)))
    return [*others, *gathered.items()]


def _shielded(name: str, value: object) -> object:
    return _Given(value) if name.replace("_", ".") in _DOCS and isinstance(value, Mapping) else value


class _Given(dict[str, object]):
    """Settings as a user gave them. Errors show them, so secrets are hidden."""

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{name!r}: {shown_value(name, value)}" for name, value in self.items()) + "}"


def _read(prefix: str | None, value: object) -> tuple[tuple[str, object], ...]:
    pairs = dict(value) if isinstance(value, tuple) else value
    if not isinstance(pairs, Mapping):
        raise UnfitError("not a mapping")
    found = {read_not_empty(name): each for name, each in pairs.items()}
    if prefix is not None:
        for name, each in found.items():
            _check(prefix, name, each)
    return tuple(sorted(found.items()))


def _check(prefix: str, name: str, value: object) -> None:
    kind = prefix.rpartition(".")[2]
    why = _RESERVED.get(prefix, {}).get(name) or _RESERVED.get(kind, {}).get(name)
    if why is None and kind in _RESERVED and name.startswith(("sasl.", "ssl.", "security.")):
        why = _ONE_CLUSTER
    if why is not None:
        raise UnfitError(f"{name} can't be set there: {why}")
    if kind == "consumer" and name == ISOLATION_LEVEL and value not in _ISOLATION_LEVELS:
        raise UnfitError(f"{name} is {' or '.join(_ISOLATION_LEVELS)}")
    if not isinstance(value, str | int | float | bool):
        raise UnfitError(f"the value of {name} is neither text nor a number")
