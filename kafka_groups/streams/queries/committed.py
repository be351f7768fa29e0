"""Views of the committed state of one store in all tasks of an application's process."""

import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, Protocol

from attrs import evolve

from kafka_groups.net.clock import Clock, SystemClock
from kafka_groups.protocol.messages.streams_group_parts import UserEndpoint
from kafka_groups.streams.engines.questions import About, OfTask, RowOf, StoreQuestion, TaskAnswer, VersionOf
from kafka_groups.streams.engines.readable import migrated
from kafka_groups.streams.errors import (
    InvalidStateStoreError,
    StateStoreMigratedError,
    StoreNotAvailableError,
    StreamsError,
)
from kafka_groups.streams.queries.paged_rows import FIRST_AHEAD, PagedRows, rows_of_each
from kafka_groups.streams.queries.placement import default_partition
from kafka_groups.streams.state.engine import KeyedBytes
from kafka_groups.streams.state.opened_state import rowless_state
from kafka_groups.streams.state.position import Position, position_of
from kafka_groups.streams.state.rows import FoundValue
from kafka_groups.streams.state.segments import MAX_MS
from kafka_groups.streams.state.session_stores import StoredSession
from kafka_groups.streams.state.state_store import RecordContext
from kafka_groups.streams.state.stored_rows import KeyPart, PageOf, RowsOf, RowsPart, StorePart, TimePart
from kafka_groups.streams.state.versioned_stores import StoredVersion
from kafka_groups.streams.state.window_stores import StoredWindow
from kafka_groups.streams.topology.context import open_view
from kafka_groups.streams.topology.internal_topics import changelog_topic
from kafka_groups.streams.topology.node_graph import TopologyStore
from kafka_groups.types import TaskId, TopicPartition

__all__ = ["Ask", "committed_view"]

ActiveOf = Callable[[int], UserEndpoint | None]
"""Returns the `application_server` of the process that has the active task of a partition; None if it is unknown."""


class Ask(Protocol):
    """Asks all tasks of this process that have a store."""

    def __call__(self, question: StoreQuestion, /) -> Sequence[TaskAnswer]:
        """Return the answer of each task. May block until other processes have answered.

        Raises:
            InvalidStateStoreError: A task has just gone, or a process does not answer.
        """


def committed_view(  # noqa: PLR0913 - all but the first three by keyword
    place: TopologyStore,
    application_id: str,
    ask: Ask,
    *,
    partition: int | None = None,
    allows_stale: bool = False,
    active_of: ActiveOf = lambda _partition: None,
    clock: Clock = SystemClock(),  # noqa: B008 - it has no state
) -> Any:
    """Return a view of a store, which reads what was committed when it is asked.

    As in Java, it also reads the tasks that have come since it was made. When a task ends that it has read, or that was
    there in the beginning, it raises `StateStoreMigratedError`: Java's continues without the task's keys.

    Args:
        place: The store.
        application_id: The application.
        ask: Asks the tasks.
        partition: The partition to read; None for all.
        allows_stale: Whether to read standby tasks and tasks that are being restored, too.
        active_of: Tells which process has a partition.
        clock: Tells how long iterators have lasted.

    Raises:
        StreamsError: It is the buffer of a suppressed table.
        InvalidStateStoreError: No task has the store now.
    """
    question = StoreQuestion(place.definition.name, OfTask.EXISTENCE, allows_stale=allows_stale, partition=partition)
    state = GatheredState(place, changelog_topic(place, application_id), ask, question, active_of, clock)
    view = open_view(state, RecordContext())
    state.check()
    return view


class GatheredState:
    """The states of a store in several tasks, as if they were one that nobody can change. Any thread may ask it.

    Args:
        place: The store.
        topic: Its changelog, for serdes.
        ask: Asks the tasks.
        question: What all its questions have in common.
        active_of: Tells which process has a partition.
        clock: Tells how long iterators have lasted.
    """

    def __init__(
        self, place: TopologyStore, topic: str, ask: Ask, question: StoreQuestion, active_of: ActiveOf, clock: Clock
    ) -> None:
        self.definition: Any = place.definition
        self.name = place.definition.name
        self._is_global = place.is_global
        self._global_topic = place.source_topic if place.is_global else None
        self._ask = ask
        self._question = question
        self._active_of = active_of
        self._clock = clock
        self._codec: Any = rowless_state(place.definition, topic)
        self._known: frozenset[tuple[int, int]] = frozenset()
        self._last_count = 1
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<GatheredState {self.name!r} of {len(self._known)} tasks>"

    def put(self, *_change: object) -> None:
        """Refuse a change.

        Raises:
            StreamsError: Always.
        """
        raise StreamsError(f"Store {self.name!r} cannot be changed from outside: only its processors write to it.")

    def check(self) -> None:
        """Note the tasks that have the store now.

        Raises:
            InvalidStateStoreError: There are none.
        """
        self._asked(OfTask.EXISTENCE)

    @property
    def position(self) -> Position:
        """The input offsets that were committed with the store, of each task that is read.

        If a task and a copy of it are read, it is what both have.
        """
        found: dict[TaskId, dict[TopicPartition, int]] = {}
        for each in self._asked(OfTask.INPUTS):
            known = found.get(each.task_id, each.found)
            found[each.task_id] = {place: min(known[place], each.found[place]) for place in known.keys() & each.found}
        inputs = chain.from_iterable(each.items() for each in found.values())
        # All global stores of a worker have one engine, which knows the topics of all of them.
        return position_of(each for each in inputs if self._global_topic in {None, each[0].topic})

    def __getattr__(self, name: str) -> Any:
        # Names, serdes and layouts are the same in all tasks.
        return getattr(self._codec, name)

    # ------------------------------------------------------------------------------------ reading

    def get(self, key: bytes) -> FoundValue | None:
        """Return value and timestamp of a row of a key-value store, or None."""
        stored = self._of_key(RowOf(key), key)
        return None if stored is None else self._codec.decoded(stored)

    def stored(self, row: bytes) -> bytes | None:
        """Return the bytes that a window or session store has for a row, or None."""
        return self._of_key(RowOf(row), row[: -self._codec.place_bytes])  # type: ignore[no-any-return]

    def version(self, key: bytes, as_of_ms: int | None = None) -> StoredVersion | None:
        """Return the version of a key of a versioned store that is valid at a time, or the newest one, or None."""
        return self._of_key(VersionOf(key, as_of_ms), key)  # type: ignore[no-any-return]

    def scan(
        self, low: bytes = b"", high: bytes | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[Any, FoundValue]]:
        """Iterate over the keys of a key-value store with `low` <= key < `high`, each with value and timestamp."""
        read_key, decoded = self._codec.read_key, self._codec.decoded
        rows = self._rows(RowsPart(low, high), reverse=reverse)
        return ((read_key(key, ()), decoded(stored)) for key, stored in rows)

    def fetch(self, key: bytes, first_ms: int, last_ms: int, *, reverse: bool = False) -> Iterator[StoredWindow]:
        """Iterate over the rows of a key whose windows start from `first_ms` to `last_ms`, both included."""
        return self._rows_of_key(KeyPart(key, first_ms, last_ms), reverse=reverse)

    def find(
        self, key: bytes, earliest_end_ms: int, latest_start_ms: int, *, reverse: bool = False
    ) -> Iterator[StoredSession]:
        """Iterate over a key's sessions that end and start within these times, both included."""
        return self._rows_of_key(KeyPart(key, earliest_end_ms, MAX_MS, latest_start_ms), reverse=reverse)

    def all(self, first_ms: int = 0, last_ms: int = MAX_MS, *, reverse: bool = False) -> Iterator[Any]:
        """Iterate over all windows or sessions in the order of time and row."""
        return self._opened(self._rows(TimePart(first_ms, last_ms), reverse=reverse))

    def _of_key(self, about: RowOf | VersionOf, key: bytes) -> Any:
        """Return what one of the tasks has, or None."""
        answers = self._asked(about)
        found = next((each.found for each in answers if each.found is not None), None)
        if found is None:
            self._check_here(key, answers)
        return found

    def _rows_of_key(self, part: KeyPart, *, reverse: bool) -> Iterator[Any]:
        rows, answers = self._first_pages(part, reverse=reverse)
        if rows.is_empty:
            self._check_here(part.key, answers)
        return self._opened(rows)

    def _rows(self, part: StorePart, *, reverse: bool) -> PagedRows:
        return self._first_pages(part, reverse=reverse)[0]

    def _first_pages(self, part: StorePart, *, reverse: bool) -> tuple[PagedRows, Sequence[TaskAnswer]]:
        page = PageOf(part, rows_of_each(self._last_count), reverse=reverse, ahead=FIRST_AHEAD)
        answers = self._asked(page)
        order = self._time_and_row if isinstance(part, TimePart) else itemgetter(0)
        rows = PagedRows(self.name, page, answers, self._ask_again, order, self._clock)
        return rows, [evolve(each, found=None) for each in answers]

    def _ask_again(self, first: TaskAnswer, about: PageOf | RowsOf) -> Any:
        question = evolve(self._question, about=about, partition=first.task_id.partition)
        found = next((each.found for each in self._ask(question) if each.token == first.token), None)
        if found is None:
            raise migrated(self.name)
        return found

    def _opened(self, rows: PagedRows) -> Iterator[Any]:
        opened = self._codec.opened
        return (opened(row, stored) for row, stored in rows)

    def _time_and_row(self, pair: KeyedBytes) -> tuple[int, bytes]:
        return self._codec.time_in(pair[0]), pair[0]

    # ------------------------------------------------------------------------------------ keys that are elsewhere

    def _check_here(self, key: bytes, answers: Sequence[TaskAnswer]) -> None:
        """Check that a key which no task has is not in another process.

        Raises:
            StateStoreMigratedError: It may be there.
            StoreNotAvailableError: Its task is here, and is being restored.
        """
        # Whoever names a partition knows it from `key_query_metadata`.
        if self._is_global or self._question.partition is not None:
            return
        partition = default_partition(self.definition.key, key, max(each.partitions for each in answers))
        if all(each.task_id.partition != partition for each in answers):
            raise self._elsewhere(partition)

    def _elsewhere(self, partition: int) -> InvalidStateStoreError:
        store = f"store {self.name!r}"
        copies = evolve(self._question, about=OfTask.EXISTENCE, allows_stale=True, partition=partition)
        if any(each.is_restoring for each in self._ask(copies)):
            return StoreNotAvailableError(
                f"The key is in partition {partition} of {store}, whose task is being restored here. Ask again later."
            )
        active = self._active_of(partition)
        where = "a process that is not known now" if active is None else f"{active.host}:{active.port}"
        return StateStoreMigratedError(
            f"The key is not in the tasks of this process. By the default partitioner it is in partition {partition} "
            f"of {store}, which {where} has. Ask there, or call key_query_metadata with the partitioner of the stream.",
            active,
        )

    # ------------------------------------------------------------------------------------ asking

    def _asked(self, about: About) -> Sequence[TaskAnswer]:
        common = self._question
        return self._checked(self._ask(StoreQuestion(self.name, about, common.allows_stale, common.partition)))

    def _checked(self, answers: Sequence[TaskAnswer]) -> Sequence[TaskAnswer]:
        """Return answers in the order of partitions. A task that was asked before must be among them.

        Raises:
            StateStoreMigratedError: One is not.
            StoreNotAvailableError: There are none.
        """
        if self._is_global and answers:  # each worker has all of it
            answers = [next((each for each in answers if each.token in self._known), answers[0])]
        now = frozenset(each.token for each in answers)
        with self._lock:
            has_lost = not self._known <= now
            self._known |= now
            self._last_count = len(answers)
        if has_lost:
            raise migrated(self.name)
        if not answers:
            raise StoreNotAvailableError(f"No task of this process has store {self.name!r} now. Ask app.store again.")
        return sorted(answers, key=lambda each: each.task_id)
