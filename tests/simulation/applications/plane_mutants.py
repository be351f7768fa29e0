"""Defects planted in the rules of our data plane: numbers and retries of batches, ends of transactions, visibility."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from kafka_groups.records.batches.reading import read_batches
from kafka_groups.records.fetching import fetch, partition
from kafka_groups.records.fetching.validating import FetchOutcome, outcome_of
from kafka_groups.records.producing.partition_batches import PartitionBatches, SentBatch
from kafka_groups.records.producing.producer_ids import NO_PRODUCER, ProducerIdAndEpoch
from kafka_groups.records.transactions.manager import TransactionManager
from kafka_groups.streams.runtime.commits import Commits
from tests.support.planted_defects import Patch, Plant, by_name

__all__ = ["CAUGHT_AT_LEAST_ONCE", "OF_PRODUCERS", "OF_TRANSACTIONS", "OF_TRUNCATED_LOGS"]

# ------------------------------------------------------------------------------------------ numbers and retries


def batches_without_answer_get_new_numbers(patch: Patch) -> None:
    """A batch that was sent and perhaps written is sent again as if it were the next one."""

    def fail(self: PartitionBatches, sent: SentBatch, *, in_doubt: bool) -> None:
        sent.is_in_flight = False
        if in_doubt and sent.was_first:
            self.numbers.confirm(self.numbers.producer, sent.batch.last_sequence)

    patch.setattr(PartitionBatches, "fail", fail)


def failed_batches_are_queued_behind_others(patch: Patch) -> None:
    """A batch that failed is sent again after those that wait."""

    def fail(self: PartitionBatches, sent: SentBatch, *, in_doubt: bool) -> None:
        del in_doubt
        self.sent.remove(sent)
        self.waiting.append(sent.batch)

    patch.setattr(PartitionBatches, "fail", fail)


def batches_without_answer_count_as_written(patch: Patch) -> None:
    """A batch is given up when its connection breaks."""
    failed = PartitionBatches.fail

    def fail(self: PartitionBatches, sent: SentBatch, *, in_doubt: bool) -> None:
        if in_doubt:
            self.confirm(sent)
        else:
            failed(self, sent, in_doubt=in_doubt)

    patch.setattr(PartitionBatches, "fail", fail)


def new_batches_overtake_failed_ones(patch: Patch) -> None:
    """A batch that was not sent yet does not wait until those before it are sent again."""

    def may_follow(self: PartitionBatches, producer: ProducerIdAndEpoch, _node_id: int, most: int) -> bool:
        return producer != NO_PRODUCER and len(self.sent) < most

    def next_batch(self: PartitionBatches, producer: ProducerIdAndEpoch, node_id: int, most: int) -> Any:
        if self.waiting and self._may_follow(producer, node_id, most):
            return self.waiting[0]
        return self.sent[0].batch if self.sent and not self.sent[0].is_in_flight else None

    def send(self: PartitionBatches, producer: ProducerIdAndEpoch, node_id: int) -> SentBatch:
        sending = self._new(producer) if self.waiting else self._again()
        sending.node_id, sending.is_in_flight = node_id, True
        return sending

    patch.setattr(PartitionBatches, "_may_follow", may_follow)
    patch.setattr(PartitionBatches, "next_batch", next_batch)
    patch.setattr(PartitionBatches, "send", send)


def numbers_begin_anew_after_a_failure(patch: Patch) -> None:
    """A partition begins again with the number 0 when a batch has failed."""
    failed = PartitionBatches.fail

    def fail(self: PartitionBatches, sent: SentBatch, *, in_doubt: bool) -> None:
        failed(self, sent, in_doubt=in_doubt)
        self.numbers.begin(self.numbers.producer)
        sent.in_doubt = False

    patch.setattr(PartitionBatches, "fail", fail)


def offsets_are_committed_before_batches_are_confirmed(patch: Patch) -> None:
    """A commit does not wait for the records of the tasks."""

    async def answered(_self: Commits) -> bool:
        return True

    patch.setattr(Commits, "_is_answered", answered)


# ----------------------------------------------------------------------------------------- ends of transactions


def transactions_end_before_their_offsets_are_stored(patch: Patch) -> None:
    """The end of a transaction is asked for as soon as its batches are confirmed."""
    patch.setattr(TransactionManager, "_is_complete", property(lambda self: self._attached.are_flushed()))


# -------------------------------------------------------------------------------------------------- visibility


def aborted_records_are_seen(patch: Patch) -> None:
    """The list of aborted transactions in a response is ignored."""

    def unfiltered(place: Any, offset: int, records: Any, _aborted: Any) -> Iterator[Any]:
        return read_batches(place, offset, records, ())

    patch.setattr(partition, "read_batches", unfiltered)


def positions_do_not_move_over_aborted_records(patch: Patch) -> None:
    """A reader asks again from where the last record was that it has seen."""

    def visible(place: Any, offset: int, records: Any, aborted: Any) -> Iterator[Any]:
        return (each for each in read_batches(place, offset, records, aborted) if each.is_visible)

    patch.setattr(partition, "read_batches", visible)


# ---------------------------------------------------------------------------------------------- truncated logs


def epochs_of_fetched_records_are_not_sent(patch: Patch) -> None:
    """Leaders are not told the epoch of the last record, so they cannot say where their log diverges."""
    patch.setattr(fetch, "_FIRST_WITH_LAST_EPOCH", 1_000)


def diverging_logs_are_read_on(patch: Patch) -> None:
    """A reader asks again where the leader's log diverges."""

    def deaf(data: Any) -> FetchOutcome:
        found = outcome_of(data)
        return FetchOutcome.ASK_AGAIN if found is FetchOutcome.DIVERGED else found

    patch.setattr(fetch, "outcome_of", deaf)


OF_TRANSACTIONS: tuple[Plant, ...] = (
    batches_without_answer_count_as_written,
    batches_without_answer_get_new_numbers,
    failed_batches_are_queued_behind_others,
    new_batches_overtake_failed_ones,
    numbers_begin_anew_after_a_failure,
    transactions_end_before_their_offsets_are_stored,
    aborted_records_are_seen,
    positions_do_not_move_over_aborted_records,
)
"""Those that runs exactly once see."""

OF_PRODUCERS = by_name(
    batches_without_answer_count_as_written,
    failed_batches_are_queued_behind_others,
    offsets_are_committed_before_batches_are_confirmed,
)
"""Those that runs at least once see."""

CAUGHT_AT_LEAST_ONCE: Mapping[str, int] = MappingProxyType({
    "offsets_are_committed_before_batches_are_confirmed": 414,
})  # fmt: skip
"""The seeds that catch defects which the first one does not see. They are tried first, and need not stay right."""

OF_TRUNCATED_LOGS = by_name(epochs_of_fetched_records_are_not_sent, diverging_logs_are_read_on)
"""Those that runs see whose sources are truncated."""
