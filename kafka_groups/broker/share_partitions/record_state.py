"""The states and transitions of a record in a share-partition, as a table (KIP-932, "In-flight records"; KIP-1191).

```
            ACQUIRE                 ACCEPT
 AVAILABLE ─────────▶ ACQUIRED ───────────────▶ ACKNOWLEDGED
     ▲  │   RELEASE    │  ▲ │ │ REJECT, GAP, EXHAUST
     │  └──────┐       │  └─┘ │ RENEW     │
     └─────────┼───────┘      │           ▼
               └─── DISCARD ──┼───────▶ ARCHIVED
                              │           ▲
                  DEAD_LETTER │           │ ARCHIVE
                              └───▶ ARCHIVING
```
"""

import enum
from collections.abc import Mapping
from types import MappingProxyType

from kafka_groups.errors import InvalidRecordStateError

__all__ = ["NOT_DELIVERED", "TERMINAL", "TRANSITIONS", "RecordEvent", "RecordState", "next_state"]


class RecordState(enum.IntEnum):
    """State of a record. The numbers are Kafka's. A record is ARCHIVING while its dead letter is being written."""

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    ARCHIVING = 3
    ARCHIVED = 4


class RecordEvent(enum.Enum):
    """An event in the life of a record."""

    ACQUIRE = "acquire"
    """A member acquires the record, with a lock."""
    ACCEPT = "accept"
    """The member has processed the record."""
    RELEASE = "release"
    """The member releases the record, or its lock expires, and it may be delivered again."""
    EXHAUST = "exhaust"
    """The record is released, but has reached the group's delivery limit."""
    REJECT = "reject"
    """The member rejects the record."""
    GAP = "gap"
    """The member found no record at this offset."""
    DEAD_LETTER = "dead letter"
    """The record is rejected, or has reached the delivery limit, and the group has a dead-letter queue (KIP-1191)."""
    ARCHIVE = "archive"
    """The dead letter of the record was written, or can't be written."""
    RENEW = "renew"
    """The member keeps the record for another lock duration (KIP-1222)."""
    DISCARD = "discard"
    """The log has no record to deliver at this offset: it was compacted, or its transaction was aborted."""


TERMINAL = frozenset({RecordState.ACKNOWLEDGED, RecordState.ARCHIVED})
"""Final states. The start offset moves past records in these states."""

NOT_DELIVERED = TERMINAL | {RecordState.ARCHIVING}
"""States in which a record is not delivered again."""

TRANSITIONS: Mapping[tuple[RecordState, RecordEvent], RecordState] = MappingProxyType({
    # The diagram of KIP-932, "In-flight records", with ARCHIVING of KIP-1191, and RecordState.validateTransition in
    # Kafka. Two events are not in the diagram: DISCARD, for offsets that the log has lost or whose transaction was
    # aborted, and RENEW (KIP-1222), which changes only the lock.
    (RecordState.AVAILABLE, RecordEvent.ACQUIRE): RecordState.ACQUIRED,
    (RecordState.AVAILABLE, RecordEvent.DISCARD): RecordState.ARCHIVED,
    (RecordState.ACQUIRED, RecordEvent.ACCEPT): RecordState.ACKNOWLEDGED,
    (RecordState.ACQUIRED, RecordEvent.RELEASE): RecordState.AVAILABLE,
    (RecordState.ACQUIRED, RecordEvent.EXHAUST): RecordState.ARCHIVED,
    (RecordState.ACQUIRED, RecordEvent.REJECT): RecordState.ARCHIVED,
    (RecordState.ACQUIRED, RecordEvent.GAP): RecordState.ARCHIVED,
    (RecordState.ACQUIRED, RecordEvent.DEAD_LETTER): RecordState.ARCHIVING,
    (RecordState.ARCHIVING, RecordEvent.ARCHIVE): RecordState.ARCHIVED,
    (RecordState.ACQUIRED, RecordEvent.RENEW): RecordState.ACQUIRED,
})  # fmt: skip


def next_state(state: RecordState, event: RecordEvent) -> RecordState:
    """Return the state after an event.

    Raises:
        InvalidRecordStateError: The event is not possible in this state.
    """
    after = TRANSITIONS.get((state, event))
    if after is None:
        raise InvalidRecordStateError(f"Invalid event {event.value!r} for a record in the state {state.name}.")
    return after
