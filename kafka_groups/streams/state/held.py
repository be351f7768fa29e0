"""Updates that an operator holds back until its store is flushed, so that only the last one of a key is forwarded."""

from collections.abc import Callable
from typing import Any, NamedTuple

from kafka_groups.streams.state.store import RawRecord, RecordContext
from kafka_groups.types import Headers

__all__ = ["Held", "HeldUpdates"]


class Held(NamedTuple):
    """The updates of one key since the last flush.

    Attributes:
        key: The key.
        stored: What the store had before the first of them.
        topic: The topic of the record that made the last of them.
        partition: Its partition.
        offset: Its offset.
        headers: Its headers.
        raw: That record as its topic has it.
    """

    key: Any
    stored: bytes | None
    topic: str | None
    partition: int
    offset: int
    headers: Headers
    raw: RawRecord | None


class HeldUpdates:
    """Keys whose updates wait, in the order of their last updates."""

    def __init__(self, record: RecordContext) -> None:
        self._record = record
        self._held: dict[bytes, Held] = {}
        self.forward: Callable[[bytes, Held], None] | None = None

    def hold(self, key_bytes: bytes, key: Any, stored: bytes | None, headers: Headers) -> None:
        """Note an update of a key. `stored` counts only if none waits yet."""
        record = self._record
        earlier = self._held.pop(key_bytes, None)
        before = stored if earlier is None else earlier.stored
        self._held[key_bytes] = Held(key, before, record.topic, record.partition, record.offset, headers, record.raw)

    def flush(self) -> None:
        """Forward the updates, each with the context of the record that made it."""
        if not self._held:
            return
        held, self._held = self._held, {}
        record = self._record
        for key_bytes, each in held.items():
            record.topic, record.partition, record.offset, record.raw = (
                each.topic,
                each.partition,
                each.offset,
                each.raw,
            )
            if self.forward is not None:
                self.forward(key_bytes, each)
