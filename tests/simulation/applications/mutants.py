"""Defects planted on purpose in exactly-once applications: each must be caught by the simulation within a few seeds."""

from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any

from attrs import evolve

from kafka_groups.client.requests import Lane
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.records import engine_plane
from kafka_groups.records.fetching.fetch import FetchOptions
from kafka_groups.records.transactional_writer import TransactionalEngineWriter
from kafka_groups.records.transactions.manager import TransactionManager
from kafka_groups.records.transactions.transaction import WriterState
from kafka_groups.records.writer import EngineWriter
from kafka_groups.streams.engines import shared_memory
from kafka_groups.streams.engines.split_engine import SplitEngine
from kafka_groups.streams.runtime.assigned import OwnedTask
from kafka_groups.streams.runtime.commits import offsets_of
from kafka_groups.streams.runtime.restoration import Restoration
from kafka_groups.streams.runtime.transactional_commits import TransactionalCommits
from kafka_groups.streams.runtime.worker import StreamsWorker
from kafka_groups.streams.tasks.stream_task import StreamTask
from kafka_groups.testing.simulation.streams.kept_engines import KeptEngines
from kafka_groups.types import TaskId, TopicPartition
from tests.simulation.applications import plane_mutants
from tests.simulation.transactions.mutants import (
    markers_are_lost,
    readers_are_not_told_what_was_aborted,
)
from tests.support.exactly_once_defects import (
    changelogs_are_left_out,
    stores_are_committed_before_the_transaction,
    tasks_go_on_after_a_failure,
)
from tests.support.planted_defects import Patch, by_name

__all__ = ["CAUGHT_BY", "KEPT_MUTANTS", "MUTANTS", "QUERIES_CAUGHT_BY", "QUERY_MUTANTS", "SLOW_MUTANTS"]


def offsets_are_outside_of_the_transaction(patch: Patch) -> None:
    """The offsets are committed by themselves, and the records afterwards."""
    end_transaction = TransactionalCommits._end_transaction

    async def offsets_first(self: TransactionalCommits, tasks: Any) -> bool:
        with suppress(KafkaGroupsError):
            await self._member.commit({place: each for task in tasks for place, each in offsets_of(task).items()})
        return await end_transaction(self, tasks)

    patch.setattr(TransactionManager, "send_offsets", lambda *_arguments: None)
    patch.setattr(TransactionalCommits, "_end_transaction", offsets_first)


def changelogs_are_read_uncommitted(patch: Patch) -> None:
    """Stores get what was aborted."""
    _read_uncommitted(patch, Lane.RESTORATION)


def sources_are_read_uncommitted(patch: Patch) -> None:
    """Records are processed that are aborted afterwards."""
    _read_uncommitted(patch, Lane.DATA)


def _read_uncommitted(patch: Patch, reader: Lane) -> None:
    made = engine_plane._fetch_options

    def make(config: Any, lane: Lane, principal: str) -> FetchOptions:
        options = made(config, lane, principal)
        return evolve(options, isolation_level=0) if lane is reader else options

    patch.setattr(engine_plane, "_fetch_options", make)


def records_stay_out_of_the_flush(patch: Patch) -> None:
    """The transaction is committed before its last records are written."""

    async def nothing(_self: EngineWriter, _timeout_ms: int) -> None:
        pass

    patch.setattr(TransactionalEngineWriter, "flush", nothing)
    patch.setattr(TransactionManager, "_is_complete", property(lambda self: self._offsets.is_complete))


def the_producer_is_kept_after_an_abort(patch: Patch) -> None:
    """The transaction goes on after some of its records were dropped."""

    async def forgive(self: TransactionalEngineWriter) -> None:
        transactions, produce = self._transactions, self._produce
        if transactions.state is WriterState.LOST:
            transactions.state, transactions._failure = WriterState.OPEN, None
        produce._is_stopped = produce._accumulator.is_ignoring = False

    patch.setattr(TransactionalEngineWriter, "renew", forgive)


def operators_forget_their_time(patch: Patch) -> None:
    """As in Java, operators take late records again after a restart."""
    patch.setattr(StreamTask, "resume_operator_times", lambda _self, _times: None)


def windows_are_restored_by_the_wall_clock(patch: Patch) -> None:
    """What is recent in a changelog decides which windows have expired, also if it was aborted or is a marker."""
    age_ms = 15_000

    async def first_kept(self: Restoration, task: OwnedTask, begins: Mapping[TopicPartition, int]) -> Any:
        recent_ms = self._clock.wall_ms() - age_ms // 4
        windowed = begins if task.task.keeps_windows else {}
        found = await self._plane.offsets_for_times(dict.fromkeys(windowed, recent_ms))
        return await self._plane.offsets_for_times(dict.fromkeys(found, recent_ms - age_ms))

    patch.setattr(Restoration, "_first_kept", first_kept)


def positions_outlast_rows(patch: Patch) -> None:
    """What is on disk has positions, and not the rows that were applied up to them."""
    opened = KeptEngines.open

    def forgetful(self: KeptEngines, task_id: TaskId, stores: Any) -> Any:
        engine = opened(self, task_id, stores)
        kept: Any = engine._disk if isinstance(engine, SplitEngine) else engine
        kept._tables.clear()
        return engine

    patch.setattr(KeptEngines, "open", forgetful)


def copies_answer_as_if_they_were_tasks(patch: Patch) -> None:
    """Standby tasks and tasks that are being restored answer queries."""
    readable = StreamsWorker._readable

    def everything(self: StreamsWorker, store: str, *, allows_stale: bool) -> Any:
        del allows_stale
        return readable(self, store, allows_stale=True)

    patch.setattr(StreamsWorker, "_readable", everything)
    patch.setattr(shared_memory, "check_readable", lambda *_args, **_allowed: None)


def restored_stores_keep_their_old_offsets(patch: Patch) -> None:
    """A store that is restored has the rows of its changelog, and the input offsets of before."""
    patch.setattr(StreamTask, "begin_at", lambda _self, _inputs: None)


def offsets_are_noted_before_the_rows(patch: Patch) -> None:
    """The input offsets are there a turn before the rows that belong to them."""
    logged = StreamTask.log

    def noting(self: StreamTask, changelogs: Any) -> None:
        logged(self, changelogs)
        inputs = {queue.partition: queue.position for queue in self.queues.values() if queue.position is not None}
        self.begin_at(inputs)

    patch.setattr(StreamTask, "log", noting)


MUTANTS = by_name(
    stores_are_committed_before_the_transaction,
    tasks_go_on_after_a_failure,
    changelogs_are_left_out,
    offsets_are_outside_of_the_transaction,
    changelogs_are_read_uncommitted,
    sources_are_read_uncommitted,
    records_stay_out_of_the_flush,
    the_producer_is_kept_after_an_abort,
    operators_forget_their_time,
    windows_are_restored_by_the_wall_clock,
    markers_are_lost,
    readers_are_not_told_what_was_aborted,
    *plane_mutants.OF_TRANSACTIONS,
)

KEPT_MUTANTS = by_name(stores_are_committed_before_the_transaction, positions_outlast_rows)
"""Those of stores on disk, for runs that have them."""

QUERY_MUTANTS = by_name(
    copies_answer_as_if_they_were_tasks,
    offsets_are_noted_before_the_rows,
    positions_outlast_rows,
    restored_stores_keep_their_old_offsets,
    stores_are_committed_before_the_transaction,
)
"""Those that queries see."""

SLOW_MUTANTS = frozenset({"markers_are_lost", "tasks_go_on_after_a_failure"})
"""Those that it takes minutes to catch."""

CAUGHT_BY: Mapping[str, int] = MappingProxyType({
    "failed_batches_are_queued_behind_others": 414,
    "offsets_are_outside_of_the_transaction": 416,
    "windows_are_restored_by_the_wall_clock": 423,
})  # fmt: skip
"""The seeds that catch defects which the first one does not see. They are tried first, and need not stay right."""

QUERIES_CAUGHT_BY: Mapping[str, int] = MappingProxyType({
    "copies_answer_as_if_they_were_tasks": 8,
    "stores_are_committed_before_the_transaction": 14,
})  # fmt: skip
"""The same for runs with queries."""
