"""The settings and sources of a shard of transactional ids."""

from collections.abc import Callable

from attrs import frozen

__all__ = ["TransactionRules"]


@frozen
class TransactionRules:
    """The settings and sources of a shard.

    Attributes:
        max_timeout_ms: The longest timeout that is allowed (`transaction.max.timeout.ms`).
        id_expiration_ms: How long an unused id is kept (`transactional.id.expiration.ms`).
        timeout_check_ms: The time between two checks for transactions that have timed out.
        expiration_check_ms: The time between two checks for ids that have expired.
        new_producer_id: Returns a producer id that nobody has.
        version: Returns the level of the feature transaction.version.
    """

    max_timeout_ms: int
    id_expiration_ms: int
    timeout_check_ms: int
    expiration_check_ms: int
    new_producer_id: Callable[[], int]
    version: Callable[[], int]
