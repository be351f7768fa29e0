"""Keys with a prefix, which configure a part of a streams application: its producer, consumers and internal topics."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from kafka_groups.config.keys import Key, KeyType
from kafka_groups.config.readers import UnfitError, read_not_empty
from kafka_groups.config.settings import setting, shown_value

__all__ = ["ISOLATION_LEVEL", "PREFIXED", "gathered_by_prefix", "overrides"]

_DOCS: Final[Mapping[str, str]] = {
    "producer": "Settings of the producer, such as producer.linger.ms.",
    "consumer": "Settings of all consumers, such as consumer.fetch.min.bytes.",
    "main.consumer": "Settings of the consumer of tasks. They come before those of consumer.",
    "restore.consumer": "Settings for reading changelogs and global topics. They come before those of consumer.",
    "global.consumer": "The same as restore.consumer: one reader reads both, so they can't differ.",
    "topic": "Configs of the internal topics, such as topic.min.insync.replicas. A store's own override them.",
}
_TOPIC: Final = "topic"
_TAG: Final = "client.tag"
_TAGS: Final = "client.tags"
_PREFIXES: Final = (*_DOCS, _TAG)
ISOLATION_LEVEL: Final = "isolation.level"
PREFIXED: Final = frozenset(prefix.replace(".", "_") for prefix in _DOCS)
"""The attributes that have the keys of a prefix."""


def overrides(prefix: str) -> Any:
    """Return the attrs field of the keys with a prefix: pairs of a name without it, and a value; sorted.

    Names and values are checked where they are read (`config/records/application_keys.py`).
    """
    return setting(
        Key(
            name=prefix,
            type=KeyType.LIST,
            default=(),
            reader=_read_configs if prefix == _TOPIC else _read,
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


def _read(value: object) -> tuple[tuple[str, object], ...]:
    pairs = dict(value) if isinstance(value, tuple) else value
    if not isinstance(pairs, Mapping):
        raise UnfitError("not a mapping")
    found = {read_not_empty(name): each for name, each in pairs.items()}
    return tuple(sorted(found.items()))


def _read_configs(value: object) -> tuple[tuple[str, object], ...]:
    found = _read(value)
    for name, each in found:
        if not isinstance(each, str | int | float | bool):
            raise UnfitError(f"the value of {name} is neither text nor a number")
    return found
