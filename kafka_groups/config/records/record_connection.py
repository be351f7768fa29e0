"""The configuration keys that readers and producers of records both have.

They share the client of a worker. So what is about the client, such as `client.id`, is the application's alone.
"""

from typing import ClassVar

from attrs import frozen

from kafka_groups.config.clients import client
from kafka_groups.config.settings import setting

__all__ = ["RecordConnectionConfig"]


@frozen(kw_only=True)
class RecordConnectionConfig:
    """The configuration of the connections for records. Values are checked whichever way the object is built."""

    whose: ClassVar[str] = "a reader or producer"
    """The owner of the configuration, as named in errors."""

    request_timeout_ms: int = setting(client.REQUEST_TIMEOUT_MS)
    metadata_max_age_ms: int = setting(client.METADATA_MAX_AGE_MS)
