"""Defects planted on purpose in transactions: each must be caught by the simulation within a few seeds."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from attrs import evolve

from kafka_groups.broker.coordinators.groups.offsets.shard_offsets import ShardOffsets
from kafka_groups.broker.coordinators.transactions.shard import TransactionShard
from kafka_groups.broker.coordinators.transactions.states import TransactionState
from kafka_groups.broker.coordinators.transactions.transaction import Transaction
from kafka_groups.broker.log import producers
from kafka_groups.broker.log.entries import EndMarker, Producer
from kafka_groups.broker.log.log_transactions import LogTransactions
from kafka_groups.broker.log.producers import ProducerStates
from kafka_groups.broker.runtime.transactions.led_markers import LedMarkers
from kafka_groups.broker.share_partitions import reading
from kafka_groups.protocol.coordinator_records.offsets import OffsetCommit
from tests.simulation.mutants import answers_come_before_the_commit
from tests.support.planted_defects import Patch, by_name

__all__ = ["MUTANTS"]


def markers_are_lost(patch: Patch) -> None:
    """Every fifth marker is never written, though the coordinator is told that it was."""
    append, count = LedMarkers._append, iter(range(1, 1_000_000))

    def append_most(self: LedMarkers, marker: EndMarker, partition: Any) -> None:
        if next(count) % 5:
            append(self, marker, partition)

    patch.setattr(LedMarkers, "_append", append_most)


def offsets_count_before_the_marker(patch: Patch) -> None:
    """The offsets of a transaction count as soon as they are stored."""
    replay = ShardOffsets.replay

    def replay_at_once(self: ShardOffsets, record: OffsetCommit, offset: int, producer: Producer | None = None) -> None:
        replay(self, record, offset, producer)
        if producer is not None:
            self.table.replay(record)

    patch.setattr(ShardOffsets, "replay", replay_at_once)


def offsets_are_committed_though_the_transaction_was_not(patch: Patch) -> None:
    """The marker of an abort counts as that of a commit for offsets."""
    end = ShardOffsets.end_transaction

    def end_well(self: ShardOffsets, producer: Producer, offset: int, *, committed: bool) -> None:
        end(self, producer, offset, committed=committed or offset > 0)

    patch.setattr(ShardOffsets, "end_transaction", end_well)


def older_epochs_are_accepted(patch: Patch) -> None:
    """Whoever knows the producer id may write."""
    of_producer = TransactionShard._of_producer

    def of_anybody(self: TransactionShard, transactional_id: str, producer: Producer) -> Transaction:
        known = self._known[transactional_id]
        return of_producer(self, transactional_id, producer) if known.is_being_ended else known

    patch.setattr(TransactionShard, "_of_producer", of_anybody)
    patch.setattr(ProducerStates, "_check_not_older", lambda _self, _producer: None)


def transactions_end_with_their_first_marker(patch: Patch) -> None:
    """The coordinator does not wait for all partitions, and forgets the others."""
    written = TransactionShard.markers_written

    def first_written(self: TransactionShard, effect: Any, partitions: Any, wall_ms: int) -> Any:
        known = self._known.get(effect.transactional_id)
        if partitions and known is not None and known.is_being_ended and known.producer == effect.producer:
            self._unmarked[effect.transactional_id].clear()
        return written(self, effect, partitions, wall_ms)

    patch.setattr(TransactionShard, "markers_written", first_written)


def readers_see_open_transactions(patch: Patch) -> None:
    """The last stable offset is the end of the log."""
    patch.setattr(LogTransactions, "last_stable_offset", lambda _self, high_watermark: high_watermark)


def readers_are_not_told_what_was_aborted(patch: Patch) -> None:
    """Aborted transactions are forgotten."""
    patch.setattr(LogTransactions, "aborted_between", lambda _self, _offset, _end_offset: iter(()))


def repeated_batches_are_appended_again(patch: Patch) -> None:
    """A batch that was sent twice is there twice."""
    patch.setattr(producers, "_repeated", lambda _state, _header: None)
    patch.setattr(producers, "_check_next", lambda _state, _header: None)


def prepared_ends_are_forgotten(patch: Patch) -> None:
    """A coordinator that takes over does not write the markers that are missing."""
    patch.setattr(TransactionShard, "_begun", lambda _self, _transactional_id: iter(()))


def newer_producers_go_on_with_older_transactions(patch: Patch) -> None:
    """What an older life left open is not aborted."""
    initialise = TransactionShard.initialise

    def go_on(self: TransactionShard, transactional_id: str, *rest: Any) -> Any:
        known = self._known.get(transactional_id)
        if known is not None and known.state is TransactionState.ONGOING:
            self._known[transactional_id] = evolve(known, state=TransactionState.EMPTY, partitions=frozenset())
        return initialise(self, transactional_id, *rest)

    patch.setattr(TransactionShard, "initialise", go_on)


def share_groups_get_aborted_records(patch: Patch) -> None:
    """Members of share groups are given what was aborted."""
    patch.setattr(reading, "_aborted", lambda _batches, _aborted: [])


MUTANTS = by_name(
    markers_are_lost,
    offsets_count_before_the_marker,
    offsets_are_committed_though_the_transaction_was_not,
    older_epochs_are_accepted,
    transactions_end_with_their_first_marker,
    readers_see_open_transactions,
    readers_are_not_told_what_was_aborted,
    repeated_batches_are_appended_again,
    prepared_ends_are_forgotten,
    newer_producers_go_on_with_older_transactions,
    answers_come_before_the_commit,
    share_groups_get_aborted_records,
)

CAUGHT_BY: Mapping[str, int] = MappingProxyType({
    "older_epochs_are_accepted": 401,
    "share_groups_get_aborted_records": 402,
})  # fmt: skip
"""The seeds that catch defects which the first one does not see. They are tried first, and need not stay right."""
