"""Defects planted on purpose: the golden files must show each, or they prove nothing."""

from typing import Any

from attrs import evolve

from kafka_groups.serdes import Window
from kafka_groups.streams.dsl.graph import Graph
from kafka_groups.streams.dsl.windows import TimeWindows
from kafka_groups.streams.processors import aggregates, lookup_joins, tables, updates
from kafka_groups.streams.processors.lookup_joins import JoinSide
from kafka_groups.streams.processors.stateless import DropNullKeys, PassThrough
from kafka_groups.streams.processors.waiting_joins import WaitingJoin
from kafka_groups.streams.state.join_buffer import JoinBuffer
from kafka_groups.streams.state.state_store import RecordContext
from kafka_groups.streams.state.timed_rows import TimedRows
from kafka_groups.streams.state.update_cache import Held, UpdateCache
from kafka_groups.streams.state.versioned_stores import VersionedState
from kafka_groups.streams.tasks.queues import PartitionQueue
from kafka_groups.streams.tasks.record_choice import EarliestFirst
from tests.support.planted_defects import Patch, by_name

__all__ = ["DEFECTS"]


def given_names_burn_no_index(patch: Patch) -> None:
    """The counter stands still where a node has a name."""
    patch.setattr(Graph, "named", lambda self, name, prefix: name or self.new_name(prefix))


def late_limit_is_off_by_one(patch: Patch) -> None:
    """A window takes a record for one millisecond more."""
    made = TimeWindows.__init__

    def longer(self: TimeWindows, *arguments: Any, **keywords: Any) -> None:
        made(self, *arguments, **keywords)
        self.grace_ms += 1

    patch.setattr(TimeWindows, "__init__", longer)
    patch.setattr(TimeWindows, "retention_ms", property(lambda self: self.size_ms + self.grace_ms - 1))


def grace_is_forgotten(patch: Patch) -> None:
    """Windows close at their ends."""
    made = TimeWindows.__init__

    def without_grace(self: TimeWindows, *arguments: Any, **keywords: Any) -> None:
        made(self, *arguments, **keywords)
        self.given_grace_ms = self.grace_ms  # type: ignore[attr-defined]
        self.grace_ms = 0

    patch.setattr(TimeWindows, "retention_ms", property(lambda self: self.size_ms + self.given_grace_ms))
    patch.setattr(TimeWindows, "__init__", without_grace)


def windows_come_latest_first(patch: Patch) -> None:
    """A record's windows are updated in the wrong order."""
    windows_for = TimeWindows.windows_for

    def backwards(self: TimeWindows, timestamp_ms: int) -> list[Window]:
        return list(windows_for(self, timestamp_ms))[::-1]

    patch.setattr(TimeWindows, "windows_for", backwards)


def joins_swap_their_sides(patch: Patch) -> None:
    """The right value comes first."""
    combining = lookup_joins._combining

    def swapped(joiner: Any, side: JoinSide) -> Any:
        return combining(joiner, evolve(side, is_left=not side.is_left))

    patch.setattr(lookup_joins, "_combining", swapped)


def old_values_are_lost(patch: Patch) -> None:
    """Changes of tables say what is new alone."""

    def silent(node: Any, state: Any, *, send_old: bool, initial: Any = None) -> Any:
        del send_old
        return updates.updates(node, state, send_old=False, initial=initial)

    patch.setattr(tables, "updates", silent)


def initial_values_are_lost(patch: Patch) -> None:
    """The first change of a key has no old value."""

    def without(node: Any, state: Any, *, send_old: bool, initial: Any = None) -> Any:
        del initial
        return updates.updates(node, state, send_old=send_old)

    patch.setattr(aggregates, "updates", without)


def results_have_the_last_time(patch: Patch) -> None:
    """An aggregate has the time of its last record, and not the highest."""
    patch.setattr(aggregates, "max", lambda new, _old: new, raising=False)


def caches_keep_the_first_place(patch: Patch) -> None:
    """A key that is updated again is forwarded where it came first."""

    def hold(self: UpdateCache, key_bytes: bytes, key: Any, stored: bytes | None, headers: Any) -> None:
        record, earlier = self._record, self._held.get(key_bytes)
        before = stored if earlier is None else earlier.stored
        self._held[key_bytes] = Held(key, before, record.topic, record.partition, record.offset, headers, record.raw)

    patch.setattr(UpdateCache, "hold", hold)


def caches_forget_the_old_value(patch: Patch) -> None:
    """The old value of a flushed change is the one before the last update."""
    hold = UpdateCache.hold

    def forgetting(self: UpdateCache, key_bytes: bytes, key: Any, stored: bytes | None, headers: Any) -> None:
        self._held.pop(key_bytes, None)
        hold(self, key_bytes, key, stored, headers)

    patch.setattr(UpdateCache, "hold", forgetting)


def windows_never_expire(patch: Patch) -> None:
    """Stores keep windows for ever."""
    never = property(lambda _self: 0, lambda _self, _oldest_ms: None)
    patch.setattr(TimedRows, "oldest_ms", never, raising=False)


def null_keys_are_repartitioned(patch: Patch) -> None:
    """Records without a key come through repartition topics."""
    patch.setattr(DropNullKeys, "open", lambda _self, node: PassThrough().open(node))


def queues_of_equal_times_take_no_turns(patch: Patch) -> None:
    """A task takes all records of one partition before those of another with the same time."""

    def first(self: EarliestFirst, timestamp_ms: int, queue: PartitionQueue) -> None:
        self._heap.insert(0, (timestamp_ms, queue))
        self._heap.sort(key=lambda entry: entry[0])

    patch.setattr(EarliestFirst, "offer", first)
    patch.setattr(EarliestFirst, "poll", lambda self: self._heap.pop(0)[1] if self._heap else None)


def versioned_rows_are_those_of_now(patch: Patch) -> None:
    """A stream finds the newest row of a versioned table, whatever its records' times."""
    version = VersionedState.version
    patch.setattr(VersionedState, "version", lambda self, key, _as_of_ms=None: version(self, key))


def old_versions_count_as_newest(patch: Patch) -> None:
    """Joins and groups take every change of a versioned table."""
    patch.setattr(RecordContext, "is_latest", property(lambda _self: True, lambda _self, _is_latest: None))


def joins_with_grace_do_not_wait(patch: Patch) -> None:
    """Each record is joined when it arrives."""
    patch.setattr(WaitingJoin, "open", lambda self, node: self.join.open(node))


def records_wait_too_long(patch: Patch) -> None:
    """A record whose grace has just ended waits for the next millisecond."""
    take = JoinBuffer.take
    patch.setattr(JoinBuffer, "take", lambda self, last_ms, forward: take(self, last_ms - 1, forward))


DEFECTS = by_name(
    given_names_burn_no_index,
    late_limit_is_off_by_one,
    grace_is_forgotten,
    windows_come_latest_first,
    joins_swap_their_sides,
    old_values_are_lost,
    initial_values_are_lost,
    results_have_the_last_time,
    caches_keep_the_first_place,
    caches_forget_the_old_value,
    windows_never_expire,
    null_keys_are_repartitioned,
    queues_of_equal_times_take_no_turns,
    versioned_rows_are_those_of_now,
    old_versions_count_as_newest,
    joins_with_grace_do_not_wait,
    records_wait_too_long,
)
