"""The configuration of the clients that a command starts: from the environment, a properties file and options."""

import os
from pathlib import Path

from kafka_groups.config.properties import parse_properties

__all__ = ["SERVERS_VARIABLE", "client_keys"]

SERVERS_VARIABLE = "KAFKA_GROUPS_BOOTSTRAP_SERVERS"
"""Environment variable with the brokers, for commands without an option that names them."""


def client_keys(config: Path | None, bootstrap_servers: str | None) -> dict[str, object]:
    """Return keys by their dotted names. The file overrides the environment, and the option overrides the file."""
    given = {} if config is None else parse_properties(config.read_text(encoding="utf-8"))
    return {**_servers(os.environ.get(SERVERS_VARIABLE) or None), **given, **_servers(bootstrap_servers)}


def _servers(text: str | None) -> dict[str, str]:
    return {} if text is None else {"bootstrap.servers": text}
