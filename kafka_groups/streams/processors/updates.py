"""Forwarding of operators with a store: each update, or at each flush the last one of each key."""

from collections.abc import Callable
from typing import Any, Final

from kafka_groups.streams.state.rows import StoreRows
from kafka_groups.streams.state.update_cache import Held
from kafka_groups.streams.state.versioned_stores import NOT_PUT, VALID_TO_UNDEFINED, VersionedState
from kafka_groups.streams.topology.nodes import NodeContext, NodeStep
from kafka_groups.types import Headers

__all__ = ["OUT_OF_ORDER", "Update", "forwarding_versions", "updates"]

OUT_OF_ORDER: Final = "it is not the newest version of its key"
"""The reason for which joins and aggregations drop a change of a versioned table."""

Update = Callable[[bytes, Any, Any, bytes | None, int, Headers], None]
"""`(key_bytes, key, new, stored, timestamp_ms, headers)`, where `stored` is what the store had before."""


def updates(node: NodeContext, state: StoreRows, *, send_old: bool, initial: Callable[[], Any] | None = None) -> Update:
    """Return the function that an operator calls after each put.

    Old values are decoded from the store's bytes, so that a function of the user's that changes its argument does not
    change them.

    Args:
        node: The operator's node.
        state: The operator's store.
        send_old: Whether a child wants old values.
        initial: Makes the old value of a key that was not there before, for updates that are not held back.
    """
    if isinstance(state, VersionedState):
        return _versioned(node, state, initial or _nothing, send_old=send_old)
    # With a cache Java forwards when an entry is evicted or flushed (TimestampedCacheFlushListener), without one at
    # once (TimestampedTupleForwarder.maybeForward).
    if state.is_caching:
        return _held(node, state, send_old=send_old)
    return _forwarded(node, state, initial or _nothing, send_old=send_old, forward=node.forward)


def _nothing() -> None:
    return None


def _forwarded(
    node: NodeContext, state: StoreRows, initial: Callable[[], Any], *, send_old: bool, forward: NodeStep
) -> Update:
    decode, failed = state.value, node.failed

    def update(_bytes: bytes, key: Any, new: Any, stored: bytes | None, timestamp_ms: int, headers: Headers) -> None:
        old = None
        if send_old:
            try:
                old = initial() if stored is None else decode(stored)
            except Exception as error:  # the program's initializer returns what its aggregator has just changed
                failed(error, key, new, timestamp_ms, headers)
                return
        forward(key, new, old, timestamp_ms, headers)

    return update


def _versioned(node: NodeContext, state: VersionedState, initial: Callable[[], Any], *, send_old: bool) -> Update:
    return _forwarded(node, state, initial, send_old=send_old, forward=forwarding_versions(node, state))


def forwarding_versions(node: NodeContext, state: VersionedState) -> NodeStep:
    """Return the function that forwards the change of the last put, and notes whether it is the newest of its key."""
    forward, record = node.forward, node.record

    def step(key: Any, new: Any, old: Any, timestamp_ms: int, headers: Headers) -> None:
        # What the store did not take is not forwarded (KTableSource.process in Kafka). Whoever follows decides what a
        # change means that is not the newest of its key: joins and aggregations drop it (KIP-914).
        if state.valid_to_ms == NOT_PUT:
            return
        above, record.is_latest = record.is_latest, state.valid_to_ms == VALID_TO_UNDEFINED
        try:
            forward(key, new, old, timestamp_ms, headers)
        finally:
            record.is_latest = above

    return step


def _held(node: NodeContext, state: StoreRows, *, send_old: bool) -> Update:
    forward, held = node.forward, state.held

    def flushed(key_bytes: bytes, each: Held) -> None:
        found = state.get(key_bytes)
        # The row came and went between two flushes, so children never knew of it. Java does not forward such a change
        # either (CachingKeyValueStore.putAndMaybeForward).
        if found is None and each.stored is None:
            state.forget(key_bytes)
            return
        # A deleted row has no time of its own; the time of the record that deleted it stands for it.
        new, timestamp_ms = (None, state.time_of(key_bytes)) if found is None else found
        forward(each.key, new, state.value(each.stored) if send_old else None, timestamp_ms, each.headers)

    def update(
        key_bytes: bytes, key: Any, _new: Any, stored: bytes | None, _timestamp_ms: int, headers: Headers
    ) -> None:
        held.hold(key_bytes, key, stored, headers)

    held.forward = flushed
    return update
