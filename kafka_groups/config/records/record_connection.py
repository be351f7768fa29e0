"""The configuration keys that readers and producers of records both have."""

from collections.abc import Callable, Iterator
from typing import ClassVar

from attrs import frozen

from kafka_groups.config.clients import client
from kafka_groups.config.settings import collected, raise_together, setting
from kafka_groups.errors import KafkaGroupsError

__all__ = ["RecordConnectionConfig"]


@frozen(kw_only=True)
class RecordConnectionConfig:
    """The configuration of the connections for records. Values are checked whichever way the object is built."""

    whose: ClassVar[str] = "a reader or producer"
    """The owner of the configuration, as named in errors."""

    client_id: str = setting(client.CLIENT_ID)
    request_timeout_ms: int = setting(client.REQUEST_TIMEOUT_MS)
    retry_backoff_ms: int = setting(client.RETRY_BACKOFF_MS)
    retry_backoff_max_ms: int = setting(client.RETRY_BACKOFF_MAX_MS)
    metadata_max_age_ms: int = setting(client.METADATA_MAX_AGE_MS)

    def __attrs_post_init__(self) -> None:
        """Check the keys against each other."""
        problems: list[KafkaGroupsError] = []
        for check in self._checks():
            with collected(problems):
                check()
        raise_together(problems, self.whose)

    def _checks(self) -> Iterator[Callable[[], object]]:
        """Yield functions that raise an error if keys contradict each other."""
        yield lambda: client.check_backoff(client.RETRY_BACKOFF_MS, "retry_backoff_ms", self)
