"""The values of the admin client about configurations: resources that have them, and what they are."""

from collections.abc import Mapping
from typing import Final, Literal

from attrs import field, frozen

from kafka_groups.errors import ConfigurationError

__all__ = ["ConfigKind", "ConfigResource", "ConfigSynonym", "DescribedConfig", "DescribedConfigs"]

ConfigKind = Literal["topic", "broker", "group"]
_KINDS: Final = ("topic", "broker", "group")


@frozen(order=True)
class ConfigResource:
    """Something that has a configuration.

    Attributes:
        kind: `topic`, `broker` or `group`.
        name: Its name. A broker's is its node id as text; an empty one stands for the defaults of all brokers.

    Raises:
        ConfigurationError: There is no such kind.
    """

    kind: ConfigKind = field()
    name: str

    @kind.validator
    def _check_kind(self, _attribute: object, kind: object) -> None:
        if kind not in _KINDS:
            raise ConfigurationError(f"kind={kind!r}: use one of {', '.join(map(repr, _KINDS))}")

    def __str__(self) -> str:
        return f"{self.kind} {self.name}" if self.name or self.kind != "broker" else "all brokers"


@frozen
class ConfigSynonym:
    """A value at one of the levels that a configuration falls back to (KIP-226).

    Attributes:
        name: The name at that level, which may be another, such as `log.retention.ms` of brokers.
        value: The value as text; None if the broker does not show it.
        source: The level, as in `DescribedConfig`.
    """

    name: str
    value: str | None
    source: str


@frozen
class DescribedConfig:
    """A configuration of a topic, a broker or a group.

    Attributes:
        value: The value as text; None if the broker does not show it, as with passwords.
        source: The level that it comes from, by Kafka's name: `DYNAMIC_TOPIC_CONFIG`, `DYNAMIC_GROUP_CONFIG`,
            `DYNAMIC_BROKER_CONFIG`, `DYNAMIC_DEFAULT_BROKER_CONFIG` (set for all brokers), `STATIC_BROKER_CONFIG` (from
            the broker's file), `DEFAULT_CONFIG` or `UNKNOWN`.
        is_set: Whether the resource has a value of its own. If not, it has that of another level.
        is_read_only: Whether it can be changed only in the broker's file.
        is_sensitive: Whether it is a secret.
        synonyms: The values at all levels, the one that counts first.
    """

    value: str | None
    source: str
    is_set: bool
    is_read_only: bool = False
    is_sensitive: bool = False
    synonyms: tuple[ConfigSynonym, ...] = ()


DescribedConfigs = Mapping[str, DescribedConfig]
"""The configuration of a resource by Kafka's names, defaults included."""
