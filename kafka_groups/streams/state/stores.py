"""Definitions of stores: names, serdes and options, without any state. Users import this module as `stores`."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Generic, TypeVar

from attrs import Attribute, field, frozen

from kafka_groups.errors import ConfigurationError
from kafka_groups.serdes import Serde
from kafka_groups.streams.state.durations import milliseconds
from kafka_groups.streams.state.segments import segment_ms as default_segment_ms
from kafka_groups.types import is_topic_name

__all__ = [
    "KeyValueDefinition",
    "SessionDefinition",
    "StoreDefinition",
    "SuppressDefinition",
    "TableDefinition",
    "TimestampedKeyValueDefinition",
    "VersionedDefinition",
    "WindowDefinition",
    "key_value",
    "session",
    "timestamped_key_value",
    "versioned",
    "window",
]

K = TypeVar("K")
V = TypeVar("V")

Changelog = bool | Mapping[str, str]
"""False for a store without a changelog; a mapping gives the topic's configs."""

_DAY_MS = 86_400_000
_MAX_MS = 2**63 - 1
_MOST_SEGMENTS = 100

Configs = tuple[tuple[str, str], ...]


def _frozen_configs(given: Changelog | Configs | None) -> Configs | None:
    if given is False or given is None:
        return None
    if given is True:
        return ()
    return tuple(sorted(given.items())) if isinstance(given, Mapping) else given


def _configs(_definition: object, _attribute: object, configs: Any) -> None:
    is_tuple = configs is None or isinstance(configs, tuple)
    if not is_tuple or not all(isinstance(text, str) for config in configs or () for text in config):
        raise ConfigurationError(
            f"changelog={configs!r} is not True, False or a mapping of a topic's configs. Names and values are strings."
        )


def _legal(_definition: object, _attribute: "Attribute[str]", name: object) -> None:
    if not isinstance(name, str) or not is_topic_name(name):
        raise ConfigurationError(
            f"name={name!r} is not the name of a store, because its changelog could not have it. Use up to 249 ASCII "
            "letters, digits, '.', '_' and '-'."
        )


def _serde(definition: "StoreDefinition", attribute: "Attribute[Serde[K]]", given: object) -> None:
    if not isinstance(given, Serde):
        raise TypeError(
            f"Store {definition.name!r}: {attribute.name}={given!r} is not a serde. Give one, such as serdes.string."
        )


def _persistent(_definition: object, _attribute: "Attribute[bool | None]", given: object) -> None:
    if given is not None and not isinstance(given, bool):
        raise ConfigurationError(
            f"persistent={given!r} is not True, False or None. Give True for a store on disk, False for one in memory."
        )


@frozen(kw_only=True)
class StoreDefinition:
    """Name and options of a store of any kind.

    Attributes:
        name: The store's name, once in a topology.
        persistent: Whether the store is kept on disk. None: as `default_dsl_store` says.
        changelog: The configs of its changelog topic, or None for a store without one.
        caching: Whether operators forward only the last update of a key at each commit. None: the operator decides.
    """

    name: str = field(validator=_legal)
    persistent: bool | None = field(default=None, validator=_persistent)
    changelog: Configs | None = field(default=(), converter=_frozen_configs, validator=_configs)
    caching: bool | None = None

    @property
    def restored_ms(self) -> int | None:
        """The age of changelog records that are not needed any more; None if any may be needed."""
        return None

    def changelog_defaults(self) -> Mapping[str, str]:
        """Return the configs that the changelog topic of such a store has by itself."""
        return {"cleanup.policy": "compact"}


@frozen(kw_only=True)
class KeyValueDefinition(StoreDefinition, Generic[K, V]):
    """A key-value store.

    Attributes:
        key: The serde of its keys.
        value: The serde of its values.
        timestamped: Whether it keeps the timestamp of each value.
    """

    key: Serde[K] = field(validator=_serde)
    value: Serde[V] = field(validator=_serde)
    timestamped: bool = False


@frozen(kw_only=True)
class TimestampedKeyValueDefinition(KeyValueDefinition[K, V]):
    """A key-value store whose values processors see with their timestamps. `timestamped_key_value` makes it."""

    timestamped: bool = True


def _kept(policy: str, retention_ms: int) -> dict[str, str]:
    """Return the configs of a changelog whose records expire: a day after those of the store, as in Java."""
    return {"cleanup.policy": policy, "retention.ms": str(min(retention_ms + _DAY_MS, _MAX_MS))}


@frozen(kw_only=True)
class WindowDefinition(StoreDefinition, Generic[K, V]):
    """A window store.

    Attributes:
        key: The serde of its keys.
        value: The serde of its values.
        size_ms: The size of its windows.
        retention_ms: How long a window is kept after its start.
        retain_duplicates: Whether it keeps several values of a key and window.
        timestamped: Whether it keeps the timestamp of each value.
        starts_before_records: Whether no window starts after the time of the record that changes it, or more than its
            size before. That is so for operators of the DSL; processors may put what they like.
    """

    key: Serde[K] = field(validator=_serde)
    value: Serde[V] = field(validator=_serde)
    size_ms: int
    retention_ms: int
    retain_duplicates: bool = False
    timestamped: bool = False
    starts_before_records: bool = False

    @property
    def restored_ms(self) -> int | None:
        """The age of changelog records that are not needed any more; None if any may be needed."""
        # This age is relative to the time of operators. The store's time is the highest start of a window, which may be
        # one window behind it. Processors may put any start, so nothing can be said of their stores.
        return self.retention_ms + self.size_ms if self.starts_before_records else None

    def changelog_defaults(self) -> Mapping[str, str]:
        """Return the configs that the changelog topic of such a store has by itself."""
        # Rows with unique keys cannot be compacted, only deleted (StreamJoinedStoreFactory in Kafka). The day on top is
        # `windowstore.changelog.additional.retention.ms`: brokers delete by their clocks, and the store's time may lag
        # behind.
        return _kept("delete" if self.retain_duplicates else "compact,delete", self.retention_ms)


@frozen(kw_only=True)
class SessionDefinition(StoreDefinition, Generic[K, V]):
    """A session store.

    Attributes:
        key: The serde of its keys.
        value: The serde of its values.
        retention_ms: How long a session is kept after its end.
    """

    key: Serde[K] = field(validator=_serde)
    value: Serde[V] = field(validator=_serde)
    retention_ms: int

    def changelog_defaults(self) -> Mapping[str, str]:
        """Return the configs that the changelog topic of such a store has by itself."""
        return _kept("compact,delete", self.retention_ms)


@frozen(kw_only=True)
class VersionedDefinition(StoreDefinition, Generic[K, V]):
    """A versioned key-value store. `versioned` makes it.

    Attributes:
        key: The serde of its keys.
        value: The serde of its values.
        history_ms: How long before the store's time versions can be put and asked for.
        segment_ms: The span of time of a segment. Versions are deleted by segments.
    """

    key: Serde[K] = field(validator=_serde)
    value: Serde[V] = field(validator=_serde)
    history_ms: int
    segment_ms: int

    def changelog_defaults(self) -> Mapping[str, str]:
        """Return the configs that the changelog topic of such a store has by itself."""
        # Compaction must not remove a version that can still be asked for. The day on top is for clocks that differ
        # (VersionedChangelogTopicConfig in Kafka).
        lag_ms = min(self.history_ms + _DAY_MS, _MAX_MS)
        return {"cleanup.policy": "compact", "min.compaction.lag.ms": str(lag_ms)}


TableDefinition = KeyValueDefinition[K, V] | VersionedDefinition[K, V]
"""The store of a table: a key-value store, or a versioned one."""


@frozen(kw_only=True)
class SuppressDefinition(StoreDefinition, Generic[K, V]):
    """The buffer of a suppressed table, which is in memory as Java's.

    Attributes:
        key: The serde of its keys.
        value: The serde of its values.
    """

    persistent: bool | None = field(default=False, init=False)

    key: Serde[K] = field(validator=_serde)
    value: Serde[V] = field(validator=_serde)


def key_value(
    name: str,
    key: Serde[K],
    value: Serde[V],
    *,
    persistent: bool | None = None,
    changelog: Changelog = True,
    caching: bool | None = None,
) -> KeyValueDefinition[K, V]:
    """Define a key-value store.

    Operators of the DSL that get this definition keep a timestamp with each value, as in Kafka Streams.

    Args:
        name: The store's name, once in a topology.
        key: The serde of its keys. The order of keys is the order of their bytes.
        value: The serde of its values.
        persistent: Whether to keep the store on disk, in `state_dir`, so that a restart continues with what is there.
            None: operators of the DSL follow `default_dsl_store`, and a store for processors is in memory.
        changelog: False for a store that is lost with its worker; a mapping gives configs of the changelog topic.
        caching: Whether an operator forwards only the last update of a key at each commit (the default of the DSL).
    """
    return KeyValueDefinition(
        name=name, key=key, value=value, persistent=persistent, changelog=changelog, caching=caching
    )


def timestamped_key_value(
    name: str, key: Serde[K], value: Serde[V], *, persistent: bool | None = None, changelog: Changelog = True
) -> TimestampedKeyValueDefinition[K, V]:
    """Define a key-value store for processors that keeps a timestamp with each value.

    Args:
        name: The store's name, once in a topology.
        key: The serde of its keys.
        value: The serde of its values.
        persistent: Whether to keep the store on disk, in `state_dir`, so that a restart continues with what is there.
            None: operators of the DSL follow `default_dsl_store`, and a store for processors is in memory.
        changelog: False for a store that is lost with its worker; a mapping gives configs of the changelog topic.
    """
    return TimestampedKeyValueDefinition(name=name, key=key, value=value, persistent=persistent, changelog=changelog)


def window(  # noqa: PLR0913, keywords
    name: str,
    key: Serde[K],
    value: Serde[V],
    *,
    size: timedelta,
    retention: timedelta,
    retain_duplicates: bool = False,
    persistent: bool | None = None,
    changelog: Changelog = True,
    caching: bool | None = None,
) -> WindowDefinition[K, V]:
    """Define a window store.

    Operators of the DSL that get this definition keep a timestamp with each value, as in Kafka Streams.

    Args:
        name: The store's name, once in a topology.
        key: The serde of its keys.
        value: The serde of its values.
        size: The size of its windows, which their keys do not tell.
        retention: How long a window is kept after its start, by the highest start that was put.
        retain_duplicates: Whether to keep several values of a key and window, in the order of their puts.
        persistent: Whether to keep the store on disk, in `state_dir`, so that a restart continues with what is there.
            None: operators of the DSL follow `default_dsl_store`, and a store for processors is in memory.
        changelog: False for a store that is lost with its worker; a mapping gives configs of the changelog topic.
        caching: Whether an operator forwards only the last update of a key at each commit (the default of the DSL).

    Raises:
        ConfigurationError: A duration is not positive, or the retention is shorter than a window.
    """
    size_ms, retention_ms = milliseconds("size", size, minimum=1), milliseconds("retention", retention, minimum=1)
    if retention_ms < size_ms:
        raise ConfigurationError(f"retention={retention!r} is shorter than a window, size={size!r}. Give a longer one.")
    return WindowDefinition(
        name=name,
        key=key,
        value=value,
        size_ms=size_ms,
        retention_ms=retention_ms,
        retain_duplicates=retain_duplicates,
        persistent=persistent,
        changelog=changelog,
        caching=caching,
    )


def session(  # noqa: PLR0913, keywords
    name: str,
    key: Serde[K],
    value: Serde[V],
    *,
    retention: timedelta,
    persistent: bool | None = None,
    changelog: Changelog = True,
    caching: bool | None = None,
) -> SessionDefinition[K, V]:
    """Define a session store.

    Args:
        name: The store's name, once in a topology.
        key: The serde of its keys.
        value: The serde of its values.
        retention: How long a session is kept after its end, by the highest end that was put.
        persistent: Whether to keep the store on disk, in `state_dir`, so that a restart continues with what is there.
            None: operators of the DSL follow `default_dsl_store`, and a store for processors is in memory.
        changelog: False for a store that is lost with its worker; a mapping gives configs of the changelog topic.
        caching: Whether an operator forwards only the last update of a key at each commit (the default of the DSL).

    Raises:
        ConfigurationError: The retention is not positive.
    """
    return SessionDefinition(
        name=name,
        key=key,
        value=value,
        retention_ms=milliseconds("retention", retention, minimum=1),
        persistent=persistent,
        changelog=changelog,
        caching=caching,
    )


def versioned(  # noqa: PLR0913, keywords
    name: str,
    key: Serde[K],
    value: Serde[V],
    *,
    history: timedelta,
    segment: timedelta | None = None,
    persistent: bool | None = None,
    changelog: Changelog = True,
) -> VersionedDefinition[K, V]:
    """Define a versioned key-value store (KIP-889): the values of each key with the times at which they were valid.

    Such a store is never cached.

    Args:
        name: The store's name, once in a topology.
        key: The serde of its keys.
        value: The serde of its values.
        history: How long versions are kept that are not the newest of their keys, by the highest time that was put.
            Older versions cannot be put or asked for.
        segment: The span of time of the parts in which old versions are deleted, at least a hundredth of the history.
            None: half of the history, and at least a minute.
        persistent: Whether to keep the store on disk, in `state_dir`, so that a restart continues with what is there.
            None: operators of the DSL follow `default_dsl_store`, and a store for processors is in memory.
        changelog: False for a store that is lost with its worker; a mapping gives configs of the changelog topic.

    Raises:
        ConfigurationError: A duration is not positive, or the history has too many segments.
    """
    history_ms = milliseconds("history", history, minimum=1)
    segment_ms = default_segment_ms(history_ms) if segment is None else milliseconds("segment", segment, minimum=1)
    # Each is a table of its own, of which files on disk have a limited number, and which questions look at one by one.
    if history_ms > _MOST_SEGMENTS * segment_ms:
        raise ConfigurationError(
            f"segment={segment!r} divides history={history!r} into more than {_MOST_SEGMENTS} segments. Give at least "
            f"{-(-history_ms // _MOST_SEGMENTS)} ms."
        )
    return VersionedDefinition(
        name=name,
        key=key,
        value=value,
        history_ms=history_ms,
        segment_ms=segment_ms,
        persistent=persistent,
        changelog=changelog,
        caching=False,
    )
