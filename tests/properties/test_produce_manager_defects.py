"""Defects in the rules of a producer, planted on purpose: random runs find each of them."""

from collections.abc import Collection, Sequence
from functools import partial

import pytest

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.records.batches.building import ProducerBatch
from kafka_groups.records.producing import idempotent, sequences
from kafka_groups.records.producing.partition_batches import PartitionBatches, SentBatch
from kafka_groups.records.producing.produce_settings import ProduceSettings
from kafka_groups.records.producing.producer_ids import NO_PRODUCER, ProducerIdAndEpoch
from kafka_groups.records.producing.refusals import Refusals
from tests.support.planted_defects import Patch, Plant, by_name
from tests.support.producing.random_runs import run_of

pytestmark = pytest.mark.slow


def new_batches_overtake_failed_ones(patch: Patch) -> None:
    def may_follow(self: PartitionBatches, producer: ProducerIdAndEpoch, _node_id: int, most: int) -> bool:
        return producer != NO_PRODUCER and len(self.sent) < (most if self.numbers.last_confirmed is not None else 1)

    patch.setattr(PartitionBatches, "_may_follow", may_follow)


def several_first_batches_of_an_epoch(patch: Patch) -> None:
    def may_follow(self: PartitionBatches, producer: ProducerIdAndEpoch, node_id: int, most: int) -> bool:
        return producer != NO_PRODUCER and len(self.sent) < most and all(each.is_in_flight for each in self.sent)

    patch.setattr(PartitionBatches, "_may_follow", may_follow)


def six_batches_in_flight(patch: Patch) -> None:
    original = PartitionBatches.next_batch
    patch.setattr("kafka_groups.records.producing.partition_batches._MOST_FOLLOWERS", 5)
    patch.setattr(PartitionBatches, "next_batch", lambda self, producer, node, most: original(self, producer, node, 6))
    patch.setattr("tests.support.producing.producer_world.ProduceSettings", partial(ProduceSettings, max_in_flight=6))


def batches_in_doubt_get_other_numbers(patch: Patch) -> None:
    def again(self: PartitionBatches) -> SentBatch:
        first = self.sent[0]
        self._encode(first.batch, self.numbers.expected)
        first.was_first = True
        return first

    patch.setattr(PartitionBatches, "_again", again)


def lost_answers_leave_no_doubt(patch: Patch) -> None:
    def fail(_self: PartitionBatches, sent: SentBatch, *, in_doubt: bool) -> None:
        sent.is_in_flight = False

    patch.setattr(PartitionBatches, "fail", fail)


def lost_answers_count_as_written(patch: Patch) -> None:
    def fail(self: PartitionBatches, sent: SentBatch, *, in_doubt: bool) -> None:
        if in_doubt:
            self.confirm(sent)
        sent.is_in_flight = False

    patch.setattr(PartitionBatches, "fail", fail)


def numbers_of_refused_batches_in_doubt_are_used_again(patch: Patch) -> None:
    patch.setattr(PartitionBatches, "_note_uncertain_numbers", lambda self, sent, in_doubt: None)


def batches_follow_a_question(patch: Patch) -> None:
    def may_follow(self: PartitionBatches, producer: ProducerIdAndEpoch, _node_id: int, most: int) -> bool:
        room = most if self.numbers.last_confirmed is not None else 1
        return producer != NO_PRODUCER and len(self.sent) < room and all(each.is_in_flight for each in self.sent)

    patch.setattr(PartitionBatches, "_may_follow", may_follow)


def refused_batches_keep_their_numbers(patch: Patch) -> None:
    def refuse(self: PartitionBatches, sent: SentBatch, *, in_doubt: bool) -> None:
        self.confirm(sent)

    patch.setattr(PartitionBatches, "refuse", refuse)


def every_number_out_of_order_is_a_gap(patch: Patch) -> None:
    def fail_out_of_order(self: PartitionBatches, sent: SentBatch) -> bool:
        sent.is_in_flight = False
        self.needs_epoch = True
        return True

    patch.setattr(PartitionBatches, "fail_out_of_order", fail_out_of_order)


def no_number_out_of_order_is_a_gap(patch: Patch) -> None:
    def fail_out_of_order(_self: PartitionBatches, sent: SentBatch) -> bool:
        sent.is_in_flight = False
        return False

    patch.setattr(PartitionBatches, "fail_out_of_order", fail_out_of_order)


def numbers_do_not_wrap(patch: Patch) -> None:
    patch.setattr(sequences, "number_after", lambda sequence, count=1: sequence + count)


def an_older_answer_moves_the_numbers_back(patch: Patch) -> None:
    patch.setattr(sequences, "_is_later", lambda sequence, other: sequence > other)


def epochs_go_on_for_ever(patch: Patch) -> None:
    patch.setattr(idempotent, "_LAST_EPOCH", 10**6)


def halves_change_places(patch: Patch) -> None:
    original = ProducerBatch.halves
    patch.setattr(ProducerBatch, "halves", lambda self: tuple(reversed(original(self))))


def a_half_is_forgotten(patch: Patch) -> None:
    original = PartitionBatches.replace

    def replace(self: PartitionBatches, sent: SentBatch, parts: Sequence[ProducerBatch]) -> None:
        original(self, sent, parts[:1])

    patch.setattr(PartitionBatches, "replace", replace)


def the_rest_of_a_refused_batch_is_forgotten(patch: Patch) -> None:
    patch.setattr(ProducerBatch, "without", lambda self, indexes: None)


def all_records_of_a_batch_are_refused(patch: Patch) -> None:
    original = Refusals.refused

    def refused(
        self: Refusals, batch: ProducerBatch, error: KafkaGroupsError, indexes: Collection[int] | None = None
    ) -> None:
        original(self, batch, error, None if indexes is None else range(batch.count))

    patch.setattr(Refusals, "refused", refused)


def a_new_epoch_keeps_old_numbers(patch: Patch) -> None:
    def begin_epoch(self: PartitionBatches, producer: ProducerIdAndEpoch) -> int:
        self.numbers.producer = producer
        self.needs_epoch = False
        return 0

    patch.setattr(PartitionBatches, "begin_epoch", begin_epoch)


def epochs_change_while_batches_are_in_flight(patch: Patch) -> None:
    patch.setattr(PartitionBatches, "is_in_flight", False)


def room_is_not_given_back(patch: Patch) -> None:
    patch.setattr("kafka_groups.records.producing.accumulator.RecordAccumulator.release", lambda self, batch: None)


PLANTS = by_name(
    new_batches_overtake_failed_ones,
    several_first_batches_of_an_epoch,
    six_batches_in_flight,
    batches_in_doubt_get_other_numbers,
    lost_answers_leave_no_doubt,
    lost_answers_count_as_written,
    numbers_of_refused_batches_in_doubt_are_used_again,
    batches_follow_a_question,
    refused_batches_keep_their_numbers,
    every_number_out_of_order_is_a_gap,
    no_number_out_of_order_is_a_gap,
    numbers_do_not_wrap,
    an_older_answer_moves_the_numbers_back,
    epochs_go_on_for_ever,
    halves_change_places,
    a_half_is_forgotten,
    the_rest_of_a_refused_batch_is_forgotten,
    all_records_of_a_batch_are_refused,
    a_new_epoch_keeps_old_numbers,
    epochs_change_while_batches_are_in_flight,
    room_is_not_given_back,
)

SEEDS = range(6_000)


def run_all() -> None:
    for seed in SEEDS:
        run_of(seed)


@pytest.mark.parametrize("plant", PLANTS.values(), ids=PLANTS.keys())
def test_a_planted_defect_is_found(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    with pytest.raises(Exception):  # noqa: B017, PT011 - whatever a run fails with
        run_all()
