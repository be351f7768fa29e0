"""The state of a task, and how a changelog keeps it: one record for each flight that was counted."""

import json
from collections import Counter
from typing import Final

from attrs import define, field

from kafka_groups.errors import KafkaGroupsError

__all__ = ["CHANGELOG_SUFFIX", "BadChangelogError", "TaskCounts"]

CHANGELOG_SUFFIX: Final = "counts-changelog"


class BadChangelogError(KafkaGroupsError):
    """A changelog has a record that no worker of the demo has written."""


@define
class TaskCounts:
    """Flights per carrier in one partition.

    The changelog has a record for each flight: the carrier as its key; the carrier's new count and the offset of the
    next flight as its value. The state after the last record is therefore that of one moment, however its writer ended,
    and it stays so when the changelog is compacted.

    Attributes:
        flights: The number of flights by carrier.
        next_offset: The offset of the next flight to count.
        changelog_offset: The offset up to which the changelog was written or read.
    """

    flights: Counter[str] = field(factory=Counter)
    next_offset: int = 0
    changelog_offset: int = 0

    def count(self, carrier: str, offset: int) -> str:
        """Count a flight, and return the value of its record in the changelog.

        Args:
            carrier: The carrier.
            offset: The flight's offset.
        """
        self.flights[carrier] += 1
        self.next_offset = offset + 1
        self.changelog_offset += 1
        return json.dumps([self.flights[carrier], self.next_offset])

    def restore(self, carrier: str, value: str, offset: int) -> None:
        """Take in a record of the changelog.

        Raises:
            BadChangelogError: The value is not one that `count` returns.
        """
        try:
            count, next_offset = json.loads(value)
            self.flights[carrier], self.next_offset = int(count), int(next_offset)
        except (TypeError, ValueError):
            raise BadChangelogError(f"The changelog has the value {value!r} at offset {offset}.") from None
        self.changelog_offset = offset + 1
