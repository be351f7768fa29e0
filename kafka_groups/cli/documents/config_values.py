"""The documents of commands that print or change configurations."""

from attrs import frozen

__all__ = ["ChangedConfigEntry", "ConfigValueEntry", "ListedConfigEntry"]


@frozen
class ConfigValueEntry:
    """A configuration.

    Attributes:
        key: Its key.
        value: Its value, or null if the broker does not show it, as with passwords.
        source: The level that the value comes from, by Kafka's name, such as `DEFAULT_CONFIG`.
        set: Whether the topic, broker or group has a value of its own.
        read_only: Whether it can be changed only in the broker's file.
        sensitive: Whether it is a secret.
    """

    key: str
    value: str | None
    source: str
    set: bool
    read_only: bool
    sensitive: bool


@frozen
class ListedConfigEntry(ConfigValueEntry):
    """A configuration of a topic, a broker or a group.

    Attributes:
        kind: What has it: `topic`, `broker` or `group`.
        name: The name of the topic or the group, or the id of the broker; empty for the defaults of all brokers.
    """

    kind: str
    name: str


@frozen
class ChangedConfigEntry:
    """A configuration that was changed, or would be.

    Attributes:
        kind: What has it: `topic`, `broker` or `group`.
        name: The name of the topic or the group, or the id of the broker; empty for the defaults of all brokers.
        key: Its key.
        value: Its new value, or null if it has the value of the next level again.
    """

    kind: str
    name: str
    key: str
    value: str | None
