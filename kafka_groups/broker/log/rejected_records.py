"""Errors that name the records because of which a batch was refused (KIP-467)."""

from collections.abc import Sequence

from attrs import frozen

from kafka_groups.errors import InvalidRecordError, InvalidTimestampError

__all__ = ["RejectedKeysError", "RejectedRecord", "RejectedTimestampsError"]


@frozen
class RejectedRecord:
    """A record because of which a batch was refused.

    Attributes:
        index: Its index in the batch, from 0.
        message: The reason.
    """

    index: int
    message: str


class RejectedKeysError(InvalidRecordError):
    """Some records of a batch have no key, which their topic needs.

    Attributes:
        rejected: These records.
    """

    def __init__(self, rejected: Sequence[RejectedRecord]) -> None:
        super().__init__(f"{len(rejected)} record(s) of the batch were rejected. The first one: {rejected[0].message}")
        self.rejected = tuple(rejected)


class RejectedTimestampsError(InvalidTimestampError):
    """Some records of a batch have timestamps that their topic does not allow.

    Attributes:
        rejected: These records, and those without a key in a compacted topic.
    """

    def __init__(self, rejected: Sequence[RejectedRecord]) -> None:
        super().__init__(f"{len(rejected)} record(s) of the batch were rejected, at least one for its timestamp.")
        self.rejected = tuple(rejected)
