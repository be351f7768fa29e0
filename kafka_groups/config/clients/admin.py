"""The configuration of an admin client, given as keywords, by Kafka's dotted names, or both."""

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from kafka_groups.config.clients.connection import ClientConfig
from kafka_groups.config.security import security
from kafka_groups.config.settings import KeyTable, missing_keys, raise_together, read_keys
from kafka_groups.errors import ConfigurationError

__all__ = ["AdminConfig", "admin_config", "admin_keys"]


@frozen(kw_only=True)
class AdminConfig(ClientConfig):
    """The configuration of an admin client; `admin_config` builds it."""

    whose = "an admin client"


_TABLE = KeyTable(AdminConfig)


def admin_keys() -> dict[str, Any]:
    """Return the keys of an admin client by attribute name, in the order of the class."""
    return dict(_TABLE)


def admin_config(mapping: Mapping[str, object] | None = None, **keywords: object) -> AdminConfig:
    """Read and check the configuration of an admin client.

    Args:
        mapping: Keys by Kafka's dotted names, or confluent-kafka's where the two mean the same.
        **keywords: Keys by the attributes' names.

    Raises:
        ConfigurationError: A key is unknown, missing, given twice with different values or conflicts with another, or
            a value is invalid. The message names every such key, its value and what to do.
    """
    given = security.from_java([*(mapping or {}).items(), *keywords.items()])
    values = read_keys(_TABLE, given, AdminConfig.whose, ConfigurationError)
    raise_together(missing_keys(_TABLE, given), AdminConfig.whose)
    return AdminConfig(**values)
