"""Which runs may differ from those of Java's driver, and why. `test_allowed_differences.py` shows how."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from unittest import mock

from attrs import evolve

from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatTopology
from kafka_groups.records.changelog_batch import ChangelogBatch
from kafka_groups.streams.processors import foreign_keys
from kafka_groups.streams.processors.subscriptions import Instruction
from kafka_groups.streams.state.engine import Changes
from kafka_groups.streams.state.formats import TIMESTAMPED
from kafka_groups.streams.state.stores import StoreDefinition, WindowDefinition
from kafka_groups.streams.state.versioned_stores import NOT_PUT, VersionedState
from tests.topologies.catalogue import Twin
from tests.topologies.golden import REAL_CLOCK
from tests.topologies.scripts import Output, Run

__all__ = [
    "NOT_COMPARED",
    "NOT_RESTARTED",
    "in_order",
    "javas_subscriptions",
    "javas_versions",
    "without_real_times",
    "without_row_numbers",
]

_LOST = "A store in memory without a cache drops windows before Java emits them, if a record makes time jump."
_KEPT = "Java's caches still find sessions and windows that their store has dropped; ours expire them."

NOT_COMPARED: Mapping[tuple[str, bool], str] = MappingProxyType(
    {("tumbling_on_close_unkept", False): _LOST}
    | {
        (name, True): _KEPT
        for name in (
            "cogroup_session", "cogroup_sliding", "cogroup_tumbling", "session_aggregate", "session_count",
            "session_reduce", "session_table_grouped", "words_session",
        )
    }
)  # fmt: skip
"""Why a topology's runs without caches (False) or with caches (True) are not compared."""

NOT_RESTARTED: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(
        (f"versioned_grace_{kind}" for kind in ("join", "left_join", "none", "repartitioned")),
        "Java's buffer of a join has a wrong time after it was restored, so that nothing waits any more.",
    )
)
"""Why a topology's runs with restarts are not compared."""


def without_real_times(name: str, run: Run) -> Run:
    """A run without its times if Java takes them from the system's clock."""
    if name not in REAL_CLOCK:
        return run
    return evolve(run, outputs=tuple(evolve(each, timestamp_ms=None) for each in run.outputs))


def without_row_numbers(twin: Twin, run: Run) -> Run:
    """A run in which changelogs of stores that keep duplicates have no numbers of rows.

    Java counts them from 1 again after a restart, and may replace rows of the changelog; ours go on counting.
    """
    logs = {f"app-{name}-changelog" for name, place in twin.build().graph.stores.items() if _numbers(place.definition)}
    outputs = (_without_number(each) if each.topic in logs else each for each in run.outputs)
    return evolve(run, outputs=tuple(outputs))


def _numbers(store: StoreDefinition) -> bool:
    return isinstance(store, WindowDefinition) and store.retain_duplicates


def _without_number(output: Output) -> Output:
    return evolve(output, key=None if output.key is None else output.key[:-4])


def in_order(topology: StreamsGroupHeartbeatTopology) -> StreamsGroupHeartbeatTopology:
    """A topology whose copartition groups are sorted: Java sends a group in the order of a hash set."""
    return evolve(
        topology,
        subtopologies=tuple(
            evolve(
                part,
                copartition_groups=tuple(
                    evolve(
                        group,
                        source_topics=tuple(sorted(group.source_topics)),
                        repartition_source_topics=tuple(sorted(group.repartition_source_topics)),
                    )
                    for group in part.copartition_groups
                ),
            )
            for part in topology.subtopologies
        ),
    )


@contextmanager
def javas_subscriptions() -> Iterator[None]:
    """Let inner foreign-key joins ask for as few answers as Java's, which may keep a result for ever."""
    ours = foreign_keys._inner_changes

    def theirs(
        before: bytes | None, after: bytes | None, *, is_new: bool
    ) -> Iterator[tuple[bytes | None, Instruction]]:
        for foreign, instruction in ours(before, after, is_new=is_new):
            if instruction is Instruction.PROPAGATE_NULL_IF_NO_FK_VAL_AVAILABLE and before in {None, after}:
                yield foreign, Instruction.PROPAGATE_ONLY_IF_FK_VAL_AVAILABLE
            else:
                yield foreign, instruction

    with mock.patch.object(foreign_keys, "_inner_changes", theirs):
        yield


@contextmanager
def javas_versions() -> Iterator[None]:
    """Let versioned stores log what they refuse, and forget tombstones while they are restored, as Java's do.

    Java's look at the time of a whole batch, and forget a tombstone that is older than the history then, before they
    take an older value of its key that came later.
    """
    ours = VersionedState.put

    def put(self: VersionedState, key: bytes, value: object, timestamp_ms: int, headers: object = ()) -> None:
        ours(self, key, value, timestamp_ms)
        if self.valid_to_ms == NOT_PUT:
            self._changed[key, timestamp_ms] = None if value is None else self._encode(value, timestamp_ms)

    def restore(self: VersionedState, batch: ChangelogBatch) -> Changes:
        oldest_ms = max([self._time_ms, *batch.timestamps_ms]) - self._history_ms
        kept_ms = oldest_ms - oldest_ms % self.definition.segment_ms
        for key, value, time_ms in zip(batch.keys, batch.values, batch.timestamps_ms, strict=True):
            if time_ms < self.oldest_ms:
                continue
            newest = self.version(key)
            if value is not None or time_ms >= kept_ms:
                self._set(key, None if value is None else TIMESTAMPED.join(value, time_ms), time_ms)
            elif newest is not None and self.decoded(newest.stored)[1] <= time_ms:
                self._table.put(key, None)
            self._time_ms = max(self._time_ms, time_ms)
        changes = self.changes()
        self.committed()
        return changes

    with mock.patch.object(VersionedState, "put", put), mock.patch.object(VersionedState, "restore", restore):
        yield
