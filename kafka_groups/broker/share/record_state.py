"""The life of one record in a share-partition, as a table (KIP-932, "In-flight records").

```
            ACQUIRE                 ACCEPT
 AVAILABLE ─────────▶ ACQUIRED ───────────────▶ ACKNOWLEDGED
     ▲  │   RELEASE    │  ▲ │ REJECT, GAP, EXHAUST
     │  └──────┐       │  └─┘ RENEW     │
     └─────────┼───────┘                ▼
               └─── DISCARD ────────▶ ARCHIVED
```
"""

import enum
from collections.abc import Mapping
from types import MappingProxyType

from kafka_groups.errors import InvalidRecordStateError

__all__ = ["TERMINAL", "TRANSITIONS", "RecordEvent", "RecordState", "next_state"]


class RecordState(enum.IntEnum):
    """State of a record; the numbers are those of Kafka's share-group state (3 is for dead letters, KIP-1191)."""

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    ARCHIVED = 4


class RecordEvent(enum.Enum):
    """What may happen to a record."""

    ACQUIRE = "acquire"
    """It is given to a member, with a lock."""
    ACCEPT = "accept"
    """The member has processed it."""
    RELEASE = "release"
    """The member gives it back, or its lock ends, and it may be delivered again."""
    EXHAUST = "exhaust"
    """The same, but it was delivered as often as the group allows."""
    REJECT = "reject"
    """The member cannot process it."""
    GAP = "gap"
    """The member found no record at this offset."""
    RENEW = "renew"
    """The member keeps it for another lock duration (KIP-1222)."""
    DISCARD = "discard"
    """The log has no record for delivery here: compaction took it, or its transaction was aborted."""


TERMINAL = frozenset({RecordState.ACKNOWLEDGED, RecordState.ARCHIVED})
"""States that a record never leaves; the start offset moves over them."""

TRANSITIONS: Mapping[tuple[RecordState, RecordEvent], RecordState] = MappingProxyType({
    (RecordState.AVAILABLE, RecordEvent.ACQUIRE): RecordState.ACQUIRED,
    (RecordState.AVAILABLE, RecordEvent.DISCARD): RecordState.ARCHIVED,
    (RecordState.ACQUIRED, RecordEvent.ACCEPT): RecordState.ACKNOWLEDGED,
    (RecordState.ACQUIRED, RecordEvent.RELEASE): RecordState.AVAILABLE,
    (RecordState.ACQUIRED, RecordEvent.EXHAUST): RecordState.ARCHIVED,
    (RecordState.ACQUIRED, RecordEvent.REJECT): RecordState.ARCHIVED,
    (RecordState.ACQUIRED, RecordEvent.GAP): RecordState.ARCHIVED,
    (RecordState.ACQUIRED, RecordEvent.RENEW): RecordState.ACQUIRED,
})  # fmt: skip


def next_state(state: RecordState, event: RecordEvent) -> RecordState:
    """The state after an event.

    Raises:
        InvalidRecordStateError: The event is not possible in this state.
    """
    after = TRANSITIONS.get((state, event))
    if after is None:
        raise InvalidRecordStateError(f"a record that is {state.name} cannot {event.value}")
    return after
