"""The options of `drain`: how much it takes, how long it waits, and which keys of a consumer it accepts."""

from typing import Any, Final

from attrs import field, frozen

from kafka_groups.errors import ConfigurationError
from kafka_groups.share.workers.rules.failures.outages import DEFAULT_BACKOFF_MS
from kafka_groups.spark.groups.consumer_keys import KeyRules, backoff, path_or_none, positive, topic_or_none

__all__ = ["DRAIN_RULES", "DrainOptions"]

DRAIN_RULES: Final = KeyRules(
    refuse_bytes="a drain hands out bytes, as Arrow tables do; decode them in Spark",
    refuse_ours="a drain sets it to {value} itself; remove it",
)
"""The keys of a consumer that a drain accepts."""
_ON_LOCK_LOST: Final = ("warn", "raise")


def _policy(_instance: object, attribute: Any, value: object) -> None:
    if value not in _ON_LOCK_LOST:
        raise ConfigurationError(f"{attribute.name}={value!r}: give 'warn' or 'raise'")


@frozen(kw_only=True)
class DrainOptions:
    """The options of `drain` in addition to the keys of a consumer.

    Attributes:
        max_records: The drain stops acquiring after this many records; the last fetch may return more.
        max_bytes: The drain stops acquiring after it has fetched this many bytes, counted as they are on the wire. The
            driver holds all of them in memory, and Spark's copy too.
        idle_seconds: The drain is complete when no records have arrived for this long while the brokers answered.
        max_seconds: The drain stops acquiring after this time. If no fetch was answered by then, it raises
            `OperationTimeoutError`.
        on_lock_lost: What happens if the brokers refuse to accept records at the end, or do not answer. The locks of
            these records were lost, and they are redelivered although they were processed. "warn" logs and counts them;
            "raise" raises `LockLostError` after all other records were accepted.
        dead_letter_topic: The topic for copies of records that are on one of their last two deliveries, written before
            the drain hands them out; None for no copies.
        backoff_seconds: The longest wait between two tries. After a block that failed, the next one waits before it
            acquires records: 0.8 s, then six times as long after each further failure. 0 turns it off.
        go_on_file: A file. When it is created or touched, the drain ends its wait at once, as with `Drain.go_on`. None
            for no file.
    """

    max_records: int = field(default=100_000, validator=positive)
    max_bytes: int = field(default=256 * 1024 * 1024, validator=positive)
    idle_seconds: float = field(default=2.0, validator=positive)
    max_seconds: float = field(default=60.0, validator=positive)
    on_lock_lost: str = field(default="warn", validator=_policy)
    dead_letter_topic: str | None = field(default=None, validator=topic_or_none)
    backoff_seconds: float = field(default=DEFAULT_BACKOFF_MS / 1000, validator=backoff)
    go_on_file: str | None = field(default=None, validator=path_or_none)
