"""The values of the admin client about configurations: resources that have them, and what they are."""

from typing import Final, Literal

from attrs import field, frozen

from kafka_groups.errors import ConfigurationError

__all__ = ["ConfigKind", "ConfigResource"]

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
