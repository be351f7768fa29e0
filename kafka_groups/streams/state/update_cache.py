"""Updates that an operator holds back until its store is flushed, so that only the last one of a key is forwarded."""

from collections.abc import Callable
from typing import Any, NamedTuple

from kafka_groups.streams.state.state_store import RecordContext
from kafka_groups.types import Headers, RecordRow

__all__ = ["Held", "UpdateCache"]


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
    raw: RecordRow | None


class UpdateCache:
    """Keys whose updates wait, in the order of their last updates."""

    def __init__(self, record: RecordContext) -> None:
        self._record = record
        self._held: dict[bytes, Held] = {}
        self.forward: Callable[[bytes, Held], None] | None = None

    def hold(self, key_bytes: bytes, key: Any, stored: bytes | None, headers: Headers) -> None:
        """Note an update of a key. `stored` counts only if none waits yet."""
        record = self._record
        # The key moves to the end, so that updates are forwarded in the order of their last changes (NamedCache.put in
        # Kafka keeps dirty keys in this order, too).
        earlier = self._held.pop(key_bytes, None)
        # Children have last seen what the store had before the first update that waits.
        before = stored if earlier is None else earlier.stored
        self._held[key_bytes] = Held(key, before, record.topic, record.partition, record.offset, headers, record.raw)

    def flush(self) -> None:
        """Forward the updates, each with the context of the record that made it."""
        if not self._held:
            return
        held, self._held = self._held, {}
        record = self._record
        # What is forwarded may lead to other updates, even of the same store; these wait for the next flush.
        for key_bytes, each in held.items():
            record.topic, record.partition, record.offset, record.raw = (
                each.topic,
                each.partition,
                each.offset,
                each.raw,
            )
            if self.forward is not None:
                self.forward(key_bytes, each)
