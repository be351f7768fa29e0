"""The operators of foreign-key joins of tables (KIP-213)."""

from collections.abc import Callable, Iterator
from typing import Any

from attrs import frozen

from kafka_groups.serdes import Serde
from kafka_groups.streams.processors.subscriptions import (
    Instruction,
    Subscription,
    SubscriptionResponse,
    subscription_key,
)
from kafka_groups.streams.processors.updates import OUT_OF_ORDER
from kafka_groups.streams.processors.value_hash import murmur3_128
from kafka_groups.streams.processors.views import TableView
from kafka_groups.streams.state.formats import after_prefix
from kafka_groups.streams.topology.context import TaskServices
from kafka_groups.streams.topology.nodes import NodeContext, NodeStep
from kafka_groups.types import Headers

__all__ = ["AnswerSubscribers", "JoinResponses", "KeepSubscriptions", "LookUpForeignRow", "Subscribe", "WireSerdes"]

_DELETES = (Instruction.DELETE_KEY_NO_PROPAGATE, Instruction.DELETE_KEY_AND_PROPAGATE)


@frozen(kw_only=True)
class WireSerdes:
    """The serdes of keys and left values, as the topic of subscriptions has them.

    Attributes:
        topic: That topic, without the application's prefix. Serdes get names that begin with it, as in Java.
        primary: The serde of the left table's keys.
        foreign: The serde of the right table's keys.
        value: The serde of the left table's values, whose hash is sent.
    """

    topic: str
    primary: Serde[Any]
    foreign: Serde[Any]
    value: Serde[Any]


class _Wire:
    """Bytes of keys and hashes of left values in one task. The serdes are bound when the task is ready."""

    def __init__(self, serdes: WireSerdes, node: NodeContext) -> None:
        self._serdes = serdes
        self.partition = -1
        node.on_init(self._bind)

    def primary(self, key: Any) -> bytes:
        """Return the bytes of a left key."""
        return self._primary(key, [])

    def foreign(self, key: Any) -> bytes:
        """Return the bytes of a right key."""
        return self._foreign(key, [])

    def foreign_key(self, data: bytes) -> Any:
        """Return the right key in bytes."""
        return self._read_foreign(data, ())

    def value_hash(self, value: Any) -> bytes | None:
        """Return the hash of a left value, or None if there is none."""
        # A deleted row has no hash, and answers to it are recognised by that.
        return None if value is None else murmur3_128(self._value(value, []))

    def _bind(self, task: TaskServices) -> None:
        serdes, topic = self._serdes, f"{task.application_id}-{self._serdes.topic}"
        # The partition goes with each subscription, because the program may have written the left table's topic by a
        # partitioner that the other side does not know (SubscriptionWrapper in Kafka, since version 1).
        self.partition = task.task_id.partition
        self._primary = serdes.primary.serializer(f"{topic}-pk", is_key=True)
        self._foreign = serdes.foreign.serializer(f"{topic}-fk", is_key=True)
        self._read_foreign = serdes.foreign.deserializer(f"{topic}-fk", is_key=True)
        self._value = serdes.value.serializer(f"{topic}-vh", is_key=False)


@frozen
class Subscribe:
    """Subscribes changed rows of the left table to rows of the right table.

    Attributes:
        on: The foreign key from key and value of a left row; None for no row.
        serdes: The serdes of what is sent.
        keeps_unmatched: Whether left rows without a right row have results.
        is_versioned: Whether the left table is versioned, so that only the newest versions of its keys count.
    """

    on: Callable[[Any, Any], Any]
    serdes: WireSerdes
    keeps_unmatched: bool
    is_versioned: bool = False
    emits_changes: bool = False

    def open(self, node: NodeContext) -> NodeStep:
        """Return the node's step in one task."""
        forward, failed, on = node.forward, node.failed, self.on
        wire, changes = _Wire(self.serdes, node), _left_changes if self.keeps_unmatched else _inner_changes
        needs_key = not self.keeps_unmatched
        is_versioned, record = self.is_versioned, node.record

        def foreign_bytes(key: Any, value: Any) -> bytes | None:
            # The user's function is not called for a deleted row.
            found = None if value is None else on(key, value)
            return None if found is None else wire.foreign(found)

        def step(key: Any, new: Any, old: Any, timestamp_ms: int, headers: Headers) -> None:
            if is_versioned and not record.is_latest:
                node.dropped(OUT_OF_ORDER)
                return
            if key is None:
                node.dropped("its key is null")
                return
            try:
                before, after = foreign_bytes(key, old), foreign_bytes(key, new)
                primary, value_hash = wire.primary(key), wire.value_hash(new)
            except Exception as error:  # the user's functions and serdes may raise anything: the handler decides
                failed(error, key, new, timestamp_ms, headers)
                return
            # Nothing was there, and nothing is (SubscriptionSendProcessorSupplier.leftJoinInstructions in Kafka).
            if new is None and old is None:
                return
            # A left row without a foreign key has no result in an inner join, and counts as dropped; a left join has
            # one for it (SubscriptionSendProcessorSupplier.defaultJoinInstructions).
            if after is None and new is not None and needs_key:
                node.dropped("its foreign key is null")
            for foreign, instruction in changes(before, after, is_new=old is None):
                forward(foreign, Subscription(instruction, value_hash, primary, wire.partition), timestamp_ms, headers)

        return step


def _inner_changes(
    before: bytes | None, after: bytes | None, *, is_new: bool
) -> Iterator[tuple[bytes | None, Instruction]]:
    """Return what to tell about a change of a foreign key, with the keys to tell it to."""
    # There are three cases in an inner join. The row is gone, or has no foreign key any more: its subscription goes,
    # and so does its result, which the other side is told to answer with null.
    if after is None:
        if before is not None:
            yield before, Instruction.DELETE_KEY_AND_PROPAGATE
    # The row is new: it has no result yet, so no answer is needed if the right row does not exist.
    elif is_new:
        yield after, Instruction.PROPAGATE_ONLY_IF_FK_VAL_AVAILABLE
    else:
        # The row has changed. An old subscription to another key goes without an answer, because the answer to the new
        # one replaces the result.
        if before not in {None, after}:
            yield before, Instruction.DELETE_KEY_NO_PROPAGATE
        # The result that an older row may have had must go. That holds for the same key, too: if the right row is
        # deleted before it knows of this subscription, its answer is for the old row, and is dropped. It also holds if
        # the old row had no key, as the answer to the end of a subscription before it may still be on its way. Java's
        # inner joins ask for no answer in either case (`SubscriptionSendProcessorSupplier.defaultJoinInstructions`),
        # and keep the result.
        yield after, Instruction.PROPAGATE_NULL_IF_NO_FK_VAL_AVAILABLE


def _left_changes(
    before: bytes | None, after: bytes | None, *, is_new: bool
) -> Iterator[tuple[bytes | None, Instruction]]:
    """Return the same for a left join. A subscription to no key is answered like one to a row that is not there."""
    del is_new  # new rows have results, too
    # As in Java, keys are compared as bytes, so that the foreign key's class need not define equality
    # (SubscriptionSendProcessorSupplier.leftJoinInstructions).
    if before is not None and before != after:
        yield before, Instruction.DELETE_KEY_NO_PROPAGATE
    yield after, Instruction.PROPAGATE_NULL_IF_NO_FK_VAL_AVAILABLE


@frozen
class KeepSubscriptions:
    """Stores or deletes each subscription, and passes it on.

    Attributes:
        store: The store of subscriptions.
    """

    store: str
    emits_changes: bool = False

    def open(self, node: NodeContext) -> NodeStep:
        """Return the node's step in one task."""
        forward, state = node.forward, node.state(self.store)

        def step(foreign: bytes | None, given: Subscription | None, timestamp_ms: int, headers: Headers) -> None:
            # Only another program writes such a record, as subscriptions are never deleted by tombstones.
            if given is None:
                node.dropped("its value is null")
                return
            # A subscription to no key, of a left join, is answered once and never again, so it is not kept
            # (SubscriptionReceiveProcessorSupplier in Kafka).
            if foreign is not None:
                kept = None if given.instruction in _DELETES else given
                state.put(subscription_key(foreign, given.primary_key), kept, timestamp_ms, headers)
            forward(foreign, given, timestamp_ms, headers)

        return step


@frozen
class LookUpForeignRow:
    """Answers a new subscription with the row of the right table.

    Attributes:
        view: Looks rows of the right table up.
        serdes: The serdes of what is sent.
    """

    view: TableView
    serdes: WireSerdes
    emits_changes: bool = False

    def open(self, node: NodeContext) -> NodeStep:
        """Return the node's step in one task."""
        forward, failed, look_up, wire = node.forward, node.failed, self.view.open(node), _Wire(self.serdes, node)

        def step(foreign: bytes | None, given: Subscription, timestamp_ms: int, headers: Headers) -> None:
            # The four instructions as in SubscriptionJoinProcessorSupplier in Kafka. This one only deletes, which has
            # been done.
            if given.instruction is Instruction.DELETE_KEY_NO_PROPAGATE:
                return
            try:
                row = None if foreign is None else look_up(wire.foreign_key(foreign))
            except Exception as error:  # a serde of the user's may raise anything: the handler decides
                failed(error, foreign, given, timestamp_ms, headers)
                return
            # Nobody has a result that would have to go.
            if row is None and given.instruction is Instruction.PROPAGATE_ONLY_IF_FK_VAL_AVAILABLE:
                return
            value, row_ms = (None, timestamp_ms) if row is None else row
            # The row of the right table may be there. It is not told, so that the result is deleted.
            if given.instruction is Instruction.DELETE_KEY_AND_PROPAGATE:
                value = None
            response = SubscriptionResponse(given.value_hash, value, given.partition)
            # The result is as new as the newer of the two rows, and the answer carries that time.
            forward(given.primary_key, response, max(timestamp_ms, row_ms), headers)

        return step


@frozen
class AnswerSubscribers:
    """Tells each change of the right table to the rows of the left table that subscribed to it.

    Attributes:
        store: The store of subscriptions.
        serdes: The serdes of what is sent.
        is_versioned: Whether the right table is versioned, so that only the newest versions of its keys count.
    """

    store: str
    serdes: WireSerdes
    is_versioned: bool = False
    emits_changes: bool = False

    def open(self, node: NodeContext) -> NodeStep:
        """Return the node's step in one task."""
        forward, failed, state, wire = node.forward, node.failed, node.state(self.store), _Wire(self.serdes, node)
        is_versioned, record = self.is_versioned, node.record

        def step(key: Any, new: Any, _old: Any, timestamp_ms: int, headers: Headers) -> None:
            # Rows have keys (ForeignTableJoinProcessorSupplier in Kafka drops such a record, too).
            if key is None:
                node.dropped("its key is null")
                return
            if is_versioned and not record.is_latest:
                node.dropped(OUT_OF_ORDER)
                return
            try:
                prefix = subscription_key(wire.foreign(key))
            except Exception as error:  # a serde of the user's may raise anything: the handler decides
                failed(error, key, new, timestamp_ms, headers)
                return
            # Keys in the store begin with the foreign key's length and bytes, so a scan finds exactly the subscriptions
            # to one key (ForeignTableJoinProcessorSupplier in Kafka, which also compares the prefix, as its range
            # includes the end).
            for _key, (subscription, _ms) in state.scan(prefix, after_prefix(prefix)):
                response = SubscriptionResponse(subscription.value_hash, new, subscription.partition)
                forward(subscription.primary_key, response, timestamp_ms, headers)

        return step


@frozen
class JoinResponses:
    """Joins each response with the row of the left table that it is for, unless that row has changed since.

    Attributes:
        view: Looks rows of the left table up.
        serdes: The serdes of what was sent.
        joiner: Combines key, left value and right value.
        keeps_unmatched: Whether left rows without a right row have results.
    """

    view: TableView
    serdes: WireSerdes
    joiner: Callable[[Any, Any, Any], Any]
    keeps_unmatched: bool
    emits_changes: bool = True

    def open(self, node: NodeContext) -> NodeStep:
        """Return the node's step in one task."""
        forward, failed, look_up, wire = node.forward, node.failed, self.view.open(node), _Wire(self.serdes, node)
        joiner, keeps_unmatched = self.joiner, self.keeps_unmatched

        def step(key: Any, response: SubscriptionResponse | None, timestamp_ms: int, headers: Headers) -> None:
            if key is None or response is None:
                node.dropped("its key or value is null")
                return
            left = None
            try:
                found = look_up(key)
                left = None if found is None else found[0]
                # The row has changed since it asked, and the answer to its newer question is on its way. Without this
                # check, answers that overtake each other would join an old row (ResponseJoinProcessorSupplier in
                # Kafka).
                if wire.value_hash(left) != response.value_hash:
                    node.dropped("the left row that it answers has changed since")
                    return
                # A result needs both rows, or only the left one in a left join (ResponseJoinProcessorSupplier).
                is_gone = left is None or (response.value is None and not keeps_unmatched)
                joined = None if is_gone else joiner(key, left, response.value)
            except Exception as error:  # the user's functions and serdes may raise anything: the handler decides
                failed(error, key, left, timestamp_ms, headers)
                return
            # The old result is not known here. The node behind it has a store if a child needs it.
            forward(key, joined, None, timestamp_ms, headers)

        return step
