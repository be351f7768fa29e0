"""Views of the committed state of one store in all tasks of an application's process."""

import threading
from collections.abc import Callable, Iterator, Sequence
from heapq import merge
from itertools import chain
from typing import Any, Final, Protocol

from attrs import evolve

from kafka_groups.protocol.messages.streams_group_parts import UserEndpoint
from kafka_groups.streams.engines.questions import PAGE_ROWS, StoreQuestion, TaskAnswer
from kafka_groups.streams.engines.readable import migrated
from kafka_groups.streams.errors import (
    InvalidStateStoreError,
    StateStoreMigratedError,
    StoreNotAvailableError,
    StreamsError,
)
from kafka_groups.streams.queries.placement import default_partition
from kafka_groups.streams.state.engine import KeyedBytes, MemoryEngine
from kafka_groups.streams.state.joined import JoinedStates
from kafka_groups.streams.state.opened_state import open_state
from kafka_groups.streams.state.position import Position, position_of
from kafka_groups.streams.state.rows import FoundValue
from kafka_groups.streams.state.state_store import RecordContext, StoreSurroundings
from kafka_groups.streams.topology.context import open_view
from kafka_groups.streams.topology.internal_topics import changelog_topic
from kafka_groups.streams.topology.node_graph import TopologyStore
from kafka_groups.types import TaskId, TopicPartition

__all__ = ["Ask", "committed_view"]

_OF_A_KEY: Final = frozenset({"stored", "fetch", "find", "version"})
_ASKED: Final = frozenset({"stored", "fetch", "find", "all", "version"})
"""The methods of states that return bytes. The process that has the tasks calls them."""


ActiveOf = Callable[[int], UserEndpoint | None]
"""Returns the `application_server` of the process that has the active task of a partition; None if it is unknown."""


class Ask(Protocol):
    """Asks all tasks of this process that have a store."""

    def __call__(self, question: StoreQuestion, /) -> Sequence[TaskAnswer]:
        """Return the answer of each task. May block until other processes have answered.

        Raises:
            InvalidStateStoreError: A task has just gone, or a process does not answer.
        """


def committed_view(
    place: TopologyStore,
    application_id: str,
    ask: Ask,
    *,
    partition: int | None = None,
    allows_stale: bool = False,
    active_of: ActiveOf = lambda _partition: None,
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

    Raises:
        StreamsError: It is the buffer of a suppressed table.
        InvalidStateStoreError: No task has the store now.
    """
    question = StoreQuestion(place.definition.name, "", allows_stale=allows_stale, partition=partition)
    state = GatheredState(place, changelog_topic(place, application_id), ask, question, active_of)
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
    """

    def __init__(
        self, place: TopologyStore, topic: str, ask: Ask, question: StoreQuestion, active_of: ActiveOf
    ) -> None:
        self.definition: Any = place.definition
        self.name = place.definition.name
        self._is_global = place.is_global
        self._ask = ask
        self._question = question
        self._active_of = active_of
        surroundings = StoreSurroundings(topic=topic, engine=MemoryEngine(), record=RecordContext(), is_caching=False)
        self._codec: Any = open_state(place.definition, surroundings)  # knows serdes and layouts, and has no rows
        self._known: frozenset[tuple[int, int]] = frozenset()
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
        self._asked("exists")

    @property
    def position(self) -> Position:
        """The input offsets that were committed with the store, of each task that is read.

        If a task and a copy of it are read, it is what both have.
        """
        found: dict[TaskId, dict[TopicPartition, int]] = {}
        for each in self._asked("inputs"):
            known = found.get(each.task_id, each.found)
            found[each.task_id] = {place: min(known[place], each.found[place]) for place in known.keys() & each.found}
        return position_of(chain.from_iterable(each.items() for each in found.values()))

    def __getattr__(self, name: str) -> Any:
        if name not in _ASKED:
            return getattr(self._codec, name)

        def asked(*args: Any) -> Any:
            answers = self._asked(name, *args)
            states = [_Answered(self._codec, name, each.found) for each in answers]
            found = getattr(JoinedStates(states), name)(*args)
            if not found and name in _OF_A_KEY:
                key = args[0][: -self._codec.place_bytes] if name == "stored" else args[0]
                self._check_here(key, answers)
            return found

        return asked

    def get(self, key: bytes) -> FoundValue | None:
        """Return value and timestamp of a row, or None."""
        answers = self._asked("stored", key)
        found = next((each.found for each in answers if each.found is not None), None)
        if found is None:
            self._check_here(key, answers)
            return None
        decoded: FoundValue = self._codec.decoded(found)
        return decoded

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
        copies = evolve(self._question, method="exists", allows_stale=True, partition=partition)
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

    def scan(
        self, low: bytes = b"", high: bytes | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[Any, FoundValue]]:
        """Iterate over keys with `low` <= key < `high`, each with value and timestamp.

        Each 1,000 rows of a task are of one moment.
        """
        first = self._asked("rows", low, high, reverse)
        pages = [self._pages(each, low, high, reverse=reverse) for each in first]
        read_key, decoded = self._codec._read_key, self._codec.decoded
        return ((read_key(key, ()), decoded(stored)) for key, stored in merge(*pages, key=_key, reverse=reverse))

    def _pages(self, first: TaskAnswer, low: bytes, high: bytes | None, *, reverse: bool) -> Iterator[KeyedBytes]:
        found: list[KeyedBytes] = first.found
        while True:
            yield from found
            if len(found) < PAGE_ROWS:
                return
            last = found[-1][0]
            low, high = (low, last) if reverse else (last + b"\0", high)
            found = self._next_page(first, low, high, reverse=reverse)

    def _next_page(self, first: TaskAnswer, low: bytes, high: bytes | None, *, reverse: bool) -> list[KeyedBytes]:
        place = first.task_id.partition
        question = evolve(self._question, method="rows", args=(low, high, reverse), partition=place)
        found = next((each.found for each in self._ask(question) if each.token == first.token), None)
        if found is None:
            raise migrated(self.name)
        rows: list[KeyedBytes] = found
        return rows

    def _asked(self, method: str, *args: Any) -> Sequence[TaskAnswer]:
        question = evolve(self._question, method=method, args=args)
        return self._checked(self._ask(question))

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
        if has_lost:
            raise migrated(self.name)
        if not answers:
            raise StoreNotAvailableError(f"No task of this process has store {self.name!r} now. Ask app.store again.")
        return sorted(answers, key=lambda each: each.task_id)


class _Answered:
    """The state of one task, which answers the question that it was asked already."""

    def __init__(self, codec: Any, method: str, found: Any) -> None:
        self._codec = codec
        self._method, self._found = method, found

    def __getattr__(self, name: str) -> Any:
        return (lambda *_args: self._found) if name == self._method else getattr(self._codec, name)


def _key(pair: KeyedBytes) -> bytes:
    return pair[0]
