"""The state of a task, and how a changelog keeps it: one record for each flight that was counted."""

import json
import secrets
from collections import Counter
from typing import Final

from attrs import define, field

from kafka_groups.errors import KafkaGroupsError

__all__ = ["CHANGELOG_SUFFIX", "CLAIM", "BadChangelogError", "OwnedTask", "OwnershipLostError", "TaskCounts"]

CHANGELOG_SUFFIX: Final = "counts-changelog"
CLAIM: Final = "claim"
"""The key of the records by which a process takes a task over."""


class BadChangelogError(KafkaGroupsError):
    """A changelog has a record that no worker of the demo has written."""


class OwnershipLostError(KafkaGroupsError):
    """A changelog has records of a later owner of the task."""


@define
class TaskCounts:
    """Flights per carrier in one partition.

    The changelog has a record for each flight: the carrier as its key; the epoch of the task's owner, the offset of the
    next flight and the carrier's new count as its value. The state after the last record is therefore that of one
    moment, however its writer ended, and it stays so when the changelog is compacted.

    An owner first writes a claim with its epoch, which is higher than those before. Records with a lower epoch that
    come later are ignored: their writer was paused, and had lost the task.

    Attributes:
        flights: The number of flights by carrier.
        next_offset: The offset of the next flight to count.
        changelog_offset: The offset up to which the changelog was written or read.
        epoch: The epoch of the task's last owner.
    """

    flights: Counter[str] = field(factory=Counter)
    next_offset: int = 0
    changelog_offset: int = 0
    epoch: int = 0

    def count(self, carrier: str, offset: int) -> str:
        """Count a flight, and return the value of its record in the changelog.

        Args:
            carrier: The carrier.
            offset: The flight's offset.
        """
        self.flights[carrier] += 1
        self.next_offset = offset + 1
        return json.dumps([self.epoch, self.next_offset, self.flights[carrier]])

    def restore(self, key: str, value: str, offset: int) -> None:
        """Take in a record of the changelog, unless its writer had lost the task.

        Raises:
            BadChangelogError: The value is not one that `count` or a claim has.
        """
        try:
            epoch, *state = json.loads(value)
            if int(epoch) >= self.epoch:
                self.epoch = int(epoch)
                if key != CLAIM:
                    next_offset, count = state
                    self.next_offset, self.flights[key] = int(next_offset), int(count)
        except (TypeError, ValueError):
            raise BadChangelogError(f"The changelog has the value {value!r} at offset {offset}.") from None
        self.changelog_offset = offset + 1


class OwnedTask:
    """A task of this process: its store is restored up to the claim that the process has written.

    Args:
        epoch: The member's epoch when it got the task.

    Attributes:
        claim: The value of the claim.
        counts: The store.
        is_restored: Whether the claim has been read.
    """

    def __init__(self, epoch: int) -> None:
        self._epoch = epoch
        self.claim = json.dumps([epoch, secrets.token_hex(8)])
        self.counts = TaskCounts()
        self.is_restored = False

    def __repr__(self) -> str:
        return f"<OwnedTask of epoch {self._epoch}: {self.counts!r}>"

    def restore(self, key: str, value: str, offset: int) -> bool:
        """Take in a record of the changelog. Return whether it is the claim, so that the store is restored.

        Raises:
            BadChangelogError: The record is not one of the demo's.
            OwnershipLostError: A later owner has claimed the task.
        """
        self.counts.restore(key, value, offset)
        self.is_restored = value == self.claim
        if self.is_restored and self.counts.epoch > self._epoch:
            raise OwnershipLostError(
                f"The changelog has records of epoch {self.counts.epoch}, and this member got the task in epoch"
                f" {self._epoch}."
            )
        return self.is_restored
