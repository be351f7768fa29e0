"""The Processor API: processors and their context."""

import enum
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Generic, Protocol, TypeVar, overload

from kafka_groups.functions import mismatch
from kafka_groups.streams.errors import StreamsError
from kafka_groups.streams.state.join_buffer import JoinBufferDefinition
from kafka_groups.streams.state.key_value import KeyValueStore, TimestampedKeyValueStore
from kafka_groups.streams.state.session_stores import SessionStore
from kafka_groups.streams.state.state_store import RecordContext
from kafka_groups.streams.state.stores import (
    KeyValueDefinition,
    SessionDefinition,
    StoreDefinition,
    SuppressDefinition,
    TimestampedKeyValueDefinition,
    VersionedDefinition,
    WindowDefinition,
)
from kafka_groups.streams.state.versioned_stores import VersionedKeyValueStore
from kafka_groups.streams.state.window_stores import WindowStore
from kafka_groups.streams.topology.functions import check_functions
from kafka_groups.streams.topology.nodes import NodeContext
from kafka_groups.streams.topology.records import Record, RecordMetadata, refused_record
from kafka_groups.streams.topology.topology_arguments import check_kind
from kafka_groups.types import TaskId

__all__ = ["Cancellable", "ProcessingContext", "Processor", "ProcessorContext", "PunctuationType", "TaskServices"]

K = TypeVar("K")
V = TypeVar("V")
KOut = TypeVar("KOut")
VOut = TypeVar("VOut")
KIn = TypeVar("KIn")
VIn = TypeVar("VIn")


class PunctuationType(enum.Enum):
    """The clock of a punctuation."""

    STREAM_TIME = "stream time"
    WALL_CLOCK_TIME = "wall-clock time"


class Cancellable(Protocol):
    """A punctuation that was scheduled."""

    def cancel(self) -> None:
        """Call the function no more."""


class TaskServices(Protocol):
    """The services of a task for its processors."""

    task_id: TaskId
    application_id: str
    record: RecordContext
    stream_time_ms: int
    wall_ms: int

    def schedule(
        self, interval_ms: int, clock: PunctuationType, callback: Callable[[int], None], start_ms: int | None
    ) -> Cancellable:
        """Call a function again and again."""

    def request_commit(self) -> None:
        """Commit after the current record."""


class ProcessingContext:
    """Stores, punctuation and metadata for one processor in one task. Two kinds of processors forward otherwise."""

    def __init__(self, node: NodeContext, task: TaskServices) -> None:
        self._node = node
        self._task = task

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._node.name!r} in task {self._task.task_id}>"

    @property
    def task_id(self) -> TaskId:
        """The task."""
        return self._task.task_id

    @property
    def application_id(self) -> str:
        """The application's id."""
        return self._task.application_id

    @property
    def record_metadata(self) -> RecordMetadata | None:
        """Topic, partition and offset of the current record, or None in a punctuation."""
        record = self._task.record
        # A punctuation has no record (StreamTask.punctuate in Kafka).
        return None if record.topic is None else RecordMetadata(record.topic, record.partition, record.offset)

    @property
    def current_stream_time_ms(self) -> int:
        """The highest timestamp that the task has taken from its topics, or -1."""
        return self._task.stream_time_ms

    @property
    def current_system_time_ms(self) -> int:
        """The wall-clock time in ms since 1970."""
        return self._task.wall_ms

    @overload
    def store(  # type: ignore[overload-overlap]
        self, store: TimestampedKeyValueDefinition[K, V]
    ) -> TimestampedKeyValueStore[K, V]: ...
    @overload
    def store(self, store: KeyValueDefinition[K, V]) -> KeyValueStore[K, V]: ...
    @overload
    def store(self, store: WindowDefinition[K, V]) -> WindowStore[K, V]: ...
    @overload
    def store(self, store: SessionDefinition[K, V]) -> SessionStore[K, V]: ...
    @overload
    def store(self, store: VersionedDefinition[K, V]) -> VersionedKeyValueStore[K, V]: ...
    @overload
    def store(self, store: StoreDefinition | str) -> Any: ...
    def store(self, store: StoreDefinition | str) -> Any:
        """Return a store that the processor is connected with.

        Args:
            store: Its definition, which makes the result typed, or its name.

        Raises:
            StreamsError: The processor is not connected with it.
        """
        return open_store(self._node, store if isinstance(store, str) else store.name)

    def schedule(
        self,
        interval: timedelta,
        clock: PunctuationType,
        callback: Callable[[int], None],
        *,
        start_ms: int | None = None,
    ) -> Cancellable:
        """Call a function again and again, by stream time or by wall-clock time. Return a handle to cancel it.

        Args:
            interval: The time between two calls, at least 1 ms.
            clock: Whose time it is.
            callback: Gets the time in ms since 1970.
            start_ms: The time of the first call. Later ones come at multiples of the interval after it. If it is over,
                the first call comes at the next of these.

        Raises:
            TypeError: An argument has another type, or the function gives no value because it is asynchronous, or it
                cannot be called with one argument.
            ValueError: The interval is shorter than 1 ms, or the start is negative.
        """
        where = f"Processor {self._node.name!r}"
        check_kind(f"{where}: schedule: interval", interval, timedelta, "a timedelta, such as timedelta(minutes=1)")
        check_kind(f"{where}: schedule: clock", clock, PunctuationType, "a PunctuationType")
        if callback is None:
            raise TypeError(f"{where}: schedule: callback=None is not a function. Give one of the time in ms.")
        check_functions(f"{where}: schedule", callback=callback)
        if (why := mismatch(callback, 1)) is not None:
            raise TypeError(f"{where}: schedule: callback={callback!r} cannot be called with the time in ms: {why}.")
        # ProcessorContextImpl.schedule in Kafka also refuses intervals below a millisecond, which would never move the
        # time of the next call.
        interval_ms = interval // timedelta(milliseconds=1)
        if interval_ms < 1:
            raise ValueError(f"{where}: the interval of a punctuation is {interval}. Use at least 1 ms.")
        if start_ms is not None and start_ms < 0:
            raise ValueError(f"{where}: the start of a punctuation is {start_ms}. Use a time from 1970 on.")
        return self._task.schedule(interval_ms, clock, self._guarded(callback), start_ms)

    def _guarded(self, callback: Callable[[int], None]) -> Callable[[int], None]:
        """Return a function that asks the processing handler about exceptions of a callback, as Java does."""

        def call(now_ms: int) -> None:
            try:
                callback(now_ms)
            except Exception as error:  # the user's punctuator may raise anything: the handler decides
                self._node.punctuation_failed(error, now_ms)

        return call

    def commit(self) -> None:
        """Ask the task to commit after the current record."""
        self._task.request_commit()

    def _forward(self, record: Record[Any, Any], to: str | None) -> None:
        step = self._node.forward if to is None else self._node.children.get(to)
        # ProcessorContextImpl.forward in Kafka also refuses names that are not those of children, which would lose the
        # record.
        if step is None:
            known = ", ".join(self._node.children) or "none"
            raise StreamsError(f"Processor {self._node.name!r} has no child {to!r}. Its children are: {known}.")
        # Java's Record refuses negative timestamps in its constructor. Here a record may have one until it is
        # forwarded.
        if not isinstance(record, Record) or record.timestamp_ms < 0:  # type: ignore[redundant-expr]
            raise refused_record(record)
        step(record.key, record.value, record.timestamp_ms, record.headers)


class ProcessorContext(ProcessingContext, Generic[KOut, VOut]):
    """Forwarding, stores, punctuation and metadata for one processor in one task."""

    def forward(self, record: Record[KOut, VOut], *, to: str | None = None) -> None:
        """Pass a record to the children, or to the one child with this name.

        Raises:
            StreamsError: There is no child with this name.
            TypeError: It is not a record.
            ValueError: Its timestamp is negative.
        """
        self._forward(record, to)


class Processor(Generic[KIn, VIn, KOut, VOut]):
    """A processor of your own. One object serves one task.

    `self.context` is there from `init` on.
    """

    context: ProcessorContext[KOut, VOut]

    def init(self, context: ProcessorContext[KOut, VOut]) -> None:
        """Prepare for records: get stores, schedule punctuation. Call `super().init(context)` first."""
        self.context = context

    def process(self, record: Record[KIn, VIn]) -> None:
        """Process one record."""
        raise NotImplementedError(f"{type(self).__name__} has no method 'process'. Define it.")

    def close(self) -> None:
        """Release what `init` acquired."""


StoreView = (
    KeyValueStore[Any, Any]
    | TimestampedKeyValueStore[Any, Any]
    | WindowStore[Any, Any]
    | SessionStore[Any, Any]
    | VersionedKeyValueStore[Any, Any]
)
"""A store as processors, queries and tests see it."""


def open_store(node: NodeContext, name: str) -> StoreView:
    """Return a store as a processor sees it."""
    state = node.state(name)
    definition = state.definition
    # A processor sees the timestamps of a store that keeps them, as with Java's TimestampedKeyValueStore.
    if isinstance(definition, KeyValueDefinition) and definition.timestamped:
        return TimestampedKeyValueStore(state)
    return open_view(state, node.record)


def open_view(state: Any, record: RecordContext) -> StoreView:
    """Return a store as queries and tests see it: values without timestamps.

    Raises:
        StreamsError: It is the buffer of a suppressed table or of a join.
    """
    # Updates that wait are not a state of the table: nothing below it has seen them.
    if isinstance(state.definition, SuppressDefinition):
        raise StreamsError(f"Store {state.name!r} is the buffer of a suppressed table. Only its table can read it.")
    if isinstance(state.definition, JoinBufferDefinition):
        raise StreamsError(f"Store {state.name!r} is the buffer of a join. Only its join can read it.")
    if isinstance(state.definition, WindowDefinition):
        return WindowStore(state, record)
    if isinstance(state.definition, SessionDefinition):
        return SessionStore(state, record)
    if isinstance(state.definition, VersionedDefinition):
        return VersionedKeyValueStore(state)
    return KeyValueStore(state, record)
