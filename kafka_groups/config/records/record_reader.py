"""The configuration of a reader of records: how much it fetches, how long brokers may wait, and what it skips."""

from typing import Any, Final

from attrs import evolve, frozen

from kafka_groups.config.clients import client
from kafka_groups.config.keys import INT_MAX, LONG_MAX, Key, KeyType
from kafka_groups.config.records.record_connection import RecordConnectionConfig
from kafka_groups.config.settings import setting
from kafka_groups.errors import ConfigurationError
from kafka_groups.errors.texts import sentences

__all__ = ["READ_COMMITTED", "ReaderConfig", "check_fetch_wait", "default_fetch_wait_ms"]

READ_COMMITTED: Final = "read_committed"
_FETCH_WAIT_MS: Final = 500


def default_fetch_wait_ms(request_timeout_ms: int) -> int:
    """Return how long brokers may wait for records unless a user says it: 500 ms, or half of a short timeout."""
    return min(_FETCH_WAIT_MS, request_timeout_ms // 2)


def check_fetch_wait(max_wait_ms: int, request_timeout_ms: int) -> None:
    """Check that a fetch is answered before it times out.

    Raises:
        ConfigurationError: Brokers may wait for as long as a request may take, or longer.
    """
    if max_wait_ms >= request_timeout_ms:
        raise ConfigurationError(
            sentences(
                f"fetch.max.wait.ms={max_wait_ms} of a consumer is not below its "
                f"request.timeout.ms={request_timeout_ms}, so fetches would time out while brokers wait for records",
                "Set consumer.fetch.max.wait.ms to less, or consumer.request.timeout.ms to more",
            )
        )


def _int(name: str, default: int, doc: str, **options: Any) -> Any:
    limits: dict[str, Any] = {"type": KeyType.INT, "minimum": 0, "maximum": INT_MAX} | options
    return setting(Key(name=name, default=default, doc=doc, **limits))


@frozen(kw_only=True)
class ReaderConfig(RecordConnectionConfig):
    """The configuration of a reader of records."""

    whose = "a consumer"

    isolation_level: str = setting(
        Key(
            name="isolation.level",
            type=KeyType.STRING,
            default="read_uncommitted",
            choices=(READ_COMMITTED, "read_uncommitted"),
            doc="read_committed: the records of a transaction are read when it has been committed, and never if it is "
            "aborted. read_uncommitted: all records are read.",
        )
    )
    fetch_min_bytes: int = _int(
        "fetch.min.bytes",
        1,
        "The broker responds to a fetch when it has this much, or when fetch.max.wait.ms has passed.",
        unit="bytes",
    )
    fetch_max_bytes: int = _int(
        "fetch.max.bytes",
        16_777_216,
        "The largest response to a fetch. It is never larger than fetch.buffer.bytes, except for a single batch that "
        "is larger.",
        unit="bytes",
    )
    fetch_max_wait_ms: int = _int(
        "fetch.max.wait.ms",
        _FETCH_WAIT_MS,
        "The longest time that the broker waits for fetch.min.bytes. It is less than request.timeout.ms.",
        unit="ms",
        aliases=("fetch.wait.max.ms",),
    )
    max_partition_fetch_bytes: int = _int(
        "max.partition.fetch.bytes",
        1_048_576,
        "How much of one partition a response may have. A single batch that is larger is returned nevertheless.",
        unit="bytes",
        aliases=("fetch.message.max.bytes",),
    )
    fetch_buffer_bytes: int = _int(
        "fetch.buffer.bytes",
        33_554_432,
        "Memory for records of all partitions that were fetched and not taken yet, as they came from the brokers. "
        "While it is full, nothing is fetched.",
        unit="bytes",
        type=KeyType.LONG,
        minimum=1,
        maximum=LONG_MAX,
        aliases=("queued.max.messages.kbytes",),
    )
    check_crcs: bool = setting(client.CHECK_CRCS)
    client_rack: str = setting(
        evolve(
            client.CLIENT_RACK,
            doc="The rack of the client. Brokers that know the racks of replicas may name one that is near.",
        )
    )

    def __attrs_post_init__(self) -> None:
        """Check the wait against the timeout."""
        check_fetch_wait(self.fetch_max_wait_ms, self.request_timeout_ms)

    @property
    def is_committed_only(self) -> bool:
        """True if only committed records are read."""
        return self.isolation_level == READ_COMMITTED

    @property
    def response_bytes(self) -> int:
        """The most bytes to ask a broker for in one fetch."""
        return min(self.fetch_max_bytes, self.fetch_buffer_bytes)

    @property
    def partition_bytes(self) -> int:
        """The most bytes to ask for of one partition in one fetch."""
        return min(self.max_partition_fetch_bytes, self.response_bytes)
