"""Defects planted on purpose in exactly-once applications: each must be caught by the simulation within a few seeds."""

from collections.abc import Iterable, Mapping
from typing import Any

from kafka_groups.admin.rules import group_offsets
from kafka_groups.admin.rules.topics import offsets_at
from kafka_groups.protocol.messages.offset_fetch import OffsetFetchRequest
from kafka_groups.streams.member.rules.group_metadata import read_group_metadata
from kafka_groups.streams.runtime.assigned import AssignedTask
from kafka_groups.streams.runtime.committing import offsets_of
from kafka_groups.streams.runtime.restoring import Restoration
from kafka_groups.streams.runtime.transactional_commits import TransactionalCommits
from kafka_groups.streams.runtime.worker import StreamsWorker
from kafka_groups.streams.tasks.task import StreamTask
from kafka_groups.testing.simulation.streams import requests
from kafka_groups.testing.simulation.streams.plane import WirePlane
from kafka_groups.testing.simulation.streams.reader import WireReader
from kafka_groups.testing.simulation.streams.writer import WireWriter
from kafka_groups.types import OffsetAndMetadata, TopicPartition
from tests.simulation.transactions.mutants import (
    markers_are_lost,
    older_epochs_are_accepted,
    prepared_ends_are_forgotten,
    readers_are_not_told_what_was_aborted,
)
from tests.support.exactly_once_defects import (
    changelogs_are_left_out,
    stores_are_committed_before_the_transaction,
    tasks_go_on_after_a_failure,
)
from tests.support.planted_defects import Patch, by_name

__all__ = ["MUTANTS"]


def offsets_are_outside_of_the_transaction(patch: Patch) -> None:
    """The offsets are committed by themselves, and the records afterwards."""
    end = WireWriter.commit

    async def records_alone(self: WireWriter, _offsets: Any, who: Any, timeout_ms: int) -> None:
        await end(self, {}, who, timeout_ms)

    end_transaction = TransactionalCommits._end_transaction

    async def offsets_first(self: TransactionalCommits, tasks: Any) -> bool:
        await self._member.commit({place: each for task in tasks for place, each in offsets_of(task).items()})
        return await end_transaction(self, tasks)

    patch.setattr(WireWriter, "commit", records_alone)
    patch.setattr(TransactionalCommits, "_end_transaction", offsets_first)


def changelogs_end_where_they_are_stable(patch: Patch) -> None:
    """A changelog is restored to its last stable offset, while a transaction of the former owner is open."""

    async def bounds(self: WirePlane, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, tuple[int, int]]:
        asked = tuple(partitions)
        begins = (await offsets_at(self._asking.within(1_000), asked, -2)).checked()
        data = (await self._asking.within(1_000)(requests.fetching(begins.values, 1, 0))).checked()
        return {each: (begins[each], data[each].last_stable_offset) for each in asked}

    patch.setattr(WirePlane, "bounds", bounds)


def tasks_begin_before_older_transactions_have_ended(patch: Patch) -> None:
    """Offsets that an open transaction may change still are taken as they are, and the changelog as far as it is."""
    patch.setattr(
        group_offsets,
        "OffsetFetchRequest",
        lambda **given: OffsetFetchRequest(**{**given, "require_stable": False}),
    )
    changelogs_end_where_they_are_stable(patch)


def changelogs_are_read_uncommitted(patch: Patch) -> None:
    """Stores get what was aborted."""
    made = WireReader.__init__

    def reading_all(self: WireReader, client: Any, clock: Any, *, is_committed_only: bool) -> None:
        made(self, client, clock, is_committed_only=False)

    patch.setattr(WireReader, "__init__", reading_all)


def records_stay_out_of_the_flush(patch: Patch) -> None:
    """The transaction is committed before its last records are written."""

    async def nothing(_self: WireWriter, _timeout_ms: int) -> None:
        pass

    patch.setattr(WireWriter, "flush", nothing)


def the_producer_is_kept_after_an_abort(patch: Patch) -> None:
    """What is queued, and the transaction, go on."""

    async def forgive(self: WireWriter) -> None:
        self._session.failure = None

    patch.setattr(WireWriter, "renew", forgive)


def operators_forget_their_time(patch: Patch) -> None:
    """As in Java, operators take late records again after a restart."""
    patch.setattr(StreamTask, "resume_operator_times", lambda _self, _times: None)


def windows_are_restored_by_the_wall_clock(patch: Patch) -> None:
    """What is recent in a changelog decides which windows have expired, also if it was aborted or is a marker."""
    age_ms = 25_000

    async def first_kept(self: Restoration, task: AssignedTask, begins: Mapping[TopicPartition, int]) -> Any:
        recent_ms = self._clock.wall_ms() - age_ms // 4
        windowed = begins if task.task.keeps_windows else {}
        found = await self._plane.offsets_for_times(dict.fromkeys(windowed, recent_ms))
        return await self._plane.offsets_for_times(dict.fromkeys(found, recent_ms - age_ms))

    patch.setattr(Restoration, "_first_kept", first_kept)


def lost_tasks_stay_in_the_transaction(patch: Patch) -> None:
    """A worker commits what it did for tasks that another one has now, with an epoch that nobody checks."""

    async def ungrouped(self: WirePlane, offsets: Mapping[TopicPartition, OffsetAndMetadata], metadata: bytes) -> None:
        who = read_group_metadata(metadata)
        nobody = type(who)(who.group_id, group_offsets.NOBODY)
        await self._writer.commit(offsets, nobody, 1_000)

    patch.setattr(WirePlane, "commit_transaction", ungrouped)
    patch.setattr(StreamsWorker, "_check_lost", lambda _self: None)


MUTANTS = by_name(
    stores_are_committed_before_the_transaction,
    tasks_go_on_after_a_failure,
    changelogs_are_left_out,
    offsets_are_outside_of_the_transaction,
    tasks_begin_before_older_transactions_have_ended,
    changelogs_are_read_uncommitted,
    records_stay_out_of_the_flush,
    the_producer_is_kept_after_an_abort,
    operators_forget_their_time,
    windows_are_restored_by_the_wall_clock,
    lost_tasks_stay_in_the_transaction,
    markers_are_lost,
    older_epochs_are_accepted,
    prepared_ends_are_forgotten,
    readers_are_not_told_what_was_aborted,
)
