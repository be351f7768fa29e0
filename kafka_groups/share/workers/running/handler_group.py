"""The facts about a group that its handler needs."""

from collections.abc import Sequence

from attrs import frozen

__all__ = ["HandlerGroup"]


@frozen
class HandlerGroup:
    """The facts about a group that its handler needs.

    Attributes:
        delivery_limit: After how many deliveries a record is archived; Kafka's default if it is unknown.
        record_locks: How many offsets of a partition may be in flight; Kafka's default if it is unknown.
        dead_letter_topic: The brokers' own dead-letter topic of the group (Kafka 4.4); None without one.
        missing: The handler's topics that do not exist.
        notes: Warnings about settings.
    """

    delivery_limit: int
    record_locks: int
    dead_letter_topic: str | None
    missing: Sequence[str] = ()
    notes: Sequence[str] = ()
