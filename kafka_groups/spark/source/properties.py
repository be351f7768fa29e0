"""Reads the properties file of a source."""

from pathlib import Path

from kafka_groups.config.properties import parse_properties
from kafka_groups.errors import ConfigurationError

__all__ = ["read_properties"]


def read_properties(path: str) -> dict[str, str]:
    """Return the entries of a properties file.

    Raises:
        ConfigurationError: The file cannot be read.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"configFile is {path!r}: it cannot be read on this host: {error}; it must be on the host of the driver,"
            " in UTF-8, and readable by its user"
        ) from error
    return parse_properties(text)
