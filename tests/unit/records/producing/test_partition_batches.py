"""The order and the numbers of the batches of one partition."""

import pytest

from kafka_groups.records.batches.building import BatchSettings, ProducerBatch
from kafka_groups.records.producing.partition_batches import PartitionBatches, SentBatch
from kafka_groups.records.producing.producer_ids import NO_PRODUCER, ProducerIdAndEpoch
from kafka_groups.types import TopicPartition

PLACE = TopicPartition("t", 0)
PRODUCER, NEXT = ProducerIdAndEpoch(5, 0), ProducerIdAndEpoch(5, 1)
A, B = 1, 2
MOST = 5


def batch_of(count: int) -> ProducerBatch:
    batch = ProducerBatch(PLACE, 1 << 20, BatchSettings())
    for _ in range(count):
        batch.add(batch.count, 0, None, b"v", [])
        batch.count += 1
    return batch


class Bench:
    """The batches of a partition whose numbers the broker knows up to 9."""

    def __init__(self, *counts: int, is_new: bool = False) -> None:
        self.batches = PartitionBatches()
        self.producer = PRODUCER
        self.batches.numbers.begin(PRODUCER)
        if not is_new:
            self.batches.numbers.confirm(PRODUCER, 9)
        self.batches.waiting.extend(map(batch_of, counts))

    def may_send(self, node_id: int = A) -> bool:
        return self.batches.next_batch(self.producer, node_id, MOST) is not None

    def awaits_epoch(self) -> bool:
        return self.batches.awaits_epoch

    def send(self, node_id: int = A) -> SentBatch:
        assert self.may_send(node_id)
        return self.batches.send(self.producer, node_id)

    def send_all(self) -> list[SentBatch]:
        sent = []
        while self.may_send():
            sent.append(self.send())
        return sent

    @property
    def numbers(self) -> list[tuple[int, int]]:
        """First and last number of the batches without final answer."""
        return [(each.batch.base_sequence, each.batch.last_sequence) for each in self.batches.sent]


def test_up_to_five_batches_are_in_flight_with_consecutive_numbers() -> None:
    bench = Bench(3, 2, 1, 1, 1, 1, 1)
    assert len(bench.send_all()) == 5
    assert bench.numbers == [(10, 12), (13, 14), (15, 15), (16, 16), (17, 17)]
    bench.batches.confirm(bench.batches.sent[0])
    assert bench.send().batch.base_sequence == 18
    assert not bench.may_send()


def test_nothing_is_to_be_done_while_all_batches_are_in_flight() -> None:
    bench = Bench(1, 1)
    assert bench.batches.may_send
    sent = bench.send_all()
    assert [bench.batches.may_send] == [False]
    bench.batches.fail(sent[1], in_doubt=True)
    assert [bench.batches.may_send] == [False], "the first one has no answer"
    bench.batches.refuse(sent[0], in_doubt=True)
    assert [bench.batches.may_send] == [True]


def test_without_an_id_nothing_is_sent() -> None:
    bench = Bench(1)
    bench.producer = NO_PRODUCER
    assert not bench.may_send()


def test_the_first_batch_of_an_epoch_is_alone() -> None:
    """A broker takes any number of a producer that it does not know: the second batch without the first one."""
    bench = Bench(1, 1, 1, is_new=True)
    [first] = bench.send_all()
    bench.batches.confirm(first)
    assert len(bench.send_all()) == 2


def test_new_batches_wait_while_one_waits_for_another_attempt() -> None:
    bench = Bench(1, 1, 1)
    first, second = bench.send(), bench.send()
    bench.batches.fail(second, in_doubt=True)
    assert not bench.may_send(), "the second one waits for the first one, and the third one for both"
    bench.batches.confirm(first)
    assert bench.send() is second


def test_a_failed_batch_is_sent_again_with_its_bytes() -> None:
    bench = Bench(3)
    sent = bench.send()
    data = sent.batch.data
    bench.batches.fail(sent, in_doubt=True)
    assert bench.send() is sent
    assert sent.batch.data is data


def test_later_batches_are_sent_again_one_after_the_other() -> None:
    bench = Bench(1, 1, 1)
    sent = bench.send_all()
    bench.batches.fail(sent[0], in_doubt=True)
    assert not bench.batches.fail_out_of_order(sent[1])
    assert not bench.batches.fail_out_of_order(sent[2])
    for each in sent:
        assert bench.send() is each
        assert not bench.may_send()
        bench.batches.confirm(each)
    assert bench.batches.numbers.expected == 13


def test_new_batches_wait_until_those_of_the_old_leader_have_answers() -> None:
    bench = Bench(1, 1)
    first = bench.send(A)
    assert not bench.may_send(B)
    bench.batches.confirm(first)
    assert bench.send(B).node_id == B


def test_an_answer_that_is_late_does_not_look_like_a_gap() -> None:
    """The second batch was refused as the first one failed. The answer arrives when the first one was confirmed."""
    bench = Bench(1, 1)
    first, second = bench.send_all()
    bench.batches.fail(first, in_doubt=True)
    bench.send(B)
    bench.batches.confirm(first)
    assert not bench.batches.fail_out_of_order(second)
    assert not bench.batches.needs_epoch


def test_numbers_that_were_confirmed_before_earlier_ones_are_not_used_again() -> None:
    """A broker that remembers them would take the new batch for a repetition, and drop it."""
    bench = Bench(3, 3, 3)
    first, second = bench.send(), bench.send()
    bench.batches.fail(first, in_doubt=True)
    assert bench.send() is first
    bench.batches.confirm(second)
    assert bench.send().batch.base_sequence == 16


def test_a_batch_gets_other_numbers_when_those_in_flight_have_answers() -> None:
    bench = Bench(2, 2, 2)
    first, second, third = bench.send_all()
    bench.batches.refuse(first, in_doubt=False)
    bench.batches.fail_out_of_order(second)
    assert not bench.may_send()
    bench.batches.fail_out_of_order(third)
    assert bench.send() is second
    assert second.batch.base_sequence == 10


def test_batches_in_doubt_are_asked_about_before_a_new_epoch() -> None:
    """Otherwise they would be written twice if the refused batch had been written."""
    bench = Bench(2, 2, 2)
    first, second, third = bench.send_all()
    bench.batches.refuse(first, in_doubt=True)
    bench.batches.fail(second, in_doubt=True)
    bench.batches.fail_out_of_order(third)
    data = second.batch.data
    assert not bench.awaits_epoch()
    assert bench.send() is second
    assert second.batch.data is data
    bench.batches.fail_out_of_order(second)
    assert bench.awaits_epoch()
    assert bench.batches.begin_epoch(NEXT) == 0


def test_at_most_four_batches_follow_one_without_an_answer() -> None:
    """A broker remembers five. Behind more, one that was written looks as if it had not been."""
    bench = Bench(*[1] * 8)
    first, second, third = bench.send(), bench.send(), bench.send()
    bench.batches.fail(first, in_doubt=True)
    assert bench.send() is first
    bench.batches.confirm(second)
    bench.batches.confirm(third)
    assert len(bench.send_all()) == 2
    bench.batches.confirm(first)
    assert len(bench.send_all()) == 3


def test_nothing_new_is_sent_behind_a_batch_whose_numbers_are_a_question() -> None:
    bench = Bench(1, 1, 1)
    first, second = bench.send(), bench.send()
    bench.batches.fail(first, in_doubt=True)
    bench.batches.confirm(second)
    assert bench.send() is first
    assert first.is_probe
    assert not bench.may_send()


# ------------------------------------------------------------------------------------------------ refusals


def test_a_refused_batch_takes_its_numbers_with_it() -> None:
    bench = Bench(3, 2, 1)
    sent = bench.send_all()
    bench.batches.refuse(sent[0], in_doubt=False)
    assert not bench.batches.fail_out_of_order(sent[1])

    assert not bench.batches.fail_out_of_order(sent[2])
    for each, numbers in ((sent[1], (10, 11)), (sent[2], (12, 12))):
        assert bench.send() is each
        assert (each.batch.base_sequence, each.batch.last_sequence) == numbers
        bench.batches.confirm(each)


def test_a_batch_that_the_broker_took_all_the_same_keeps_its_numbers() -> None:
    bench = Bench(3, 2, 1)
    sent = bench.send_all()
    bench.batches.refuse(sent[0], in_doubt=False)
    bench.batches.confirm(sent[1])
    assert not bench.batches.fail_out_of_order(sent[2])
    assert bench.send().batch.base_sequence == 15


def test_a_batch_in_doubt_is_never_renumbered_before_the_broker_has_told() -> None:
    bench = Bench(3, 2)
    first, second = bench.send_all()
    bench.batches.refuse(first, in_doubt=False)
    bench.batches.fail(second, in_doubt=True)
    data = second.batch.data
    assert bench.send().batch.data is data
    assert not bench.batches.fail_out_of_order(second), "it was not written, so it may have other numbers now"
    assert bench.send().batch.base_sequence == 10
    bench.batches.confirm(second)
    assert bench.batches.numbers.expected == 12


@pytest.mark.parametrize("was_sent_before", [False, True])
def test_numbers_of_a_refused_batch_in_doubt_are_never_used_again(was_sent_before: bool) -> None:
    """A broker that has the batch would take another one of the same numbers for its repetition."""
    bench = Bench(3, 3)
    first, second = bench.send_all()
    if was_sent_before:
        bench.batches.fail(first, in_doubt=True)
        bench.send()
    bench.batches.refuse(first, in_doubt=not was_sent_before)
    assert bench.batches.needs_epoch
    bench.batches.fail_out_of_order(second)
    assert not bench.may_send()
    assert bench.batches.begin_epoch(NEXT) == 0
    bench.producer = NEXT
    assert bench.send().batch.base_sequence == 0
    assert second.batch.epoch == NEXT.epoch


def test_halves_divide_the_numbers_of_a_batch() -> None:
    bench = Bench(4, 2)
    first, second = bench.send_all()
    halves = first.batch.halves()
    bench.batches.replace(first, halves)
    bench.batches.fail_out_of_order(second)
    data = second.batch.data
    for half, sequence in zip(halves, (10, 12), strict=True):
        sent = bench.send()
        assert sent.batch is half
        assert half.base_sequence == sequence
        bench.batches.confirm(sent)
    assert bench.send().batch.data is data, "the numbers after those of the halves are still right"


def test_halves_of_a_batch_in_doubt_need_an_epoch() -> None:
    bench = Bench(4)
    sent = bench.send()
    bench.batches.fail(sent, in_doubt=True)
    bench.send()
    bench.batches.replace(sent, sent.batch.halves())
    assert bench.batches.needs_epoch


def test_the_rest_of_a_batch_has_its_first_number() -> None:
    bench = Bench(4, 2)
    first, second = bench.send_all()
    rest = first.batch.without({1})
    assert rest is not None
    bench.batches.replace(first, (rest,))
    bench.batches.fail_out_of_order(second)
    sent = bench.send()
    assert (rest.base_sequence, rest.last_sequence) == (10, 12)
    bench.batches.confirm(sent)
    assert bench.send().batch.base_sequence == 13


# -------------------------------------------------------------------------------------------------- epochs


def test_a_gap_is_one_after_all_before_was_confirmed() -> None:
    bench = Bench(2, 2)
    first = bench.send()
    assert bench.batches.fail_out_of_order(first)
    assert bench.batches.needs_epoch
    assert not bench.may_send()
    assert bench.batches.begin_epoch(NEXT) == 0
    bench.producer = NEXT
    assert bench.send().batch.base_sequence == 0
    assert first.batch.epoch == NEXT.epoch


def test_numbers_of_a_later_batch_in_doubt_are_not_given_to_an_earlier_one() -> None:
    """The broker forgot the producer between two batches, so it took the second one without the first one."""
    bench = Bench(2, 2, 2)
    first, second, third = bench.send_all()
    bench.batches.fail(first, in_doubt=True)
    bench.batches.confirm(second)
    bench.batches.fail(third, in_doubt=True)
    bench.batches.fail_out_of_order(bench.send())
    assert bench.awaits_epoch()
    assert not bench.may_send()
    assert bench.batches.begin_epoch(NEXT) == 2
    assert not bench.awaits_epoch()
    assert bench.send() is first


def test_a_new_epoch_tells_how_many_records_are_in_doubt() -> None:
    bench = Bench(3, 2)
    first, second = bench.send_all()
    bench.batches.fail(first, in_doubt=True)
    bench.batches.fail(second, in_doubt=True)
    assert bench.batches.fail_out_of_order(bench.send())
    assert bench.batches.begin_epoch(NEXT) == 5


def test_an_epoch_of_another_partition_is_taken_when_nothing_is_left_of_the_old_one() -> None:
    bench = Bench(1, 1, 1)
    first = bench.send()
    bench.producer = NEXT
    second = bench.send()
    assert (second.batch.epoch, second.batch.base_sequence) == (PRODUCER.epoch, 11)
    bench.batches.confirm(first)
    bench.batches.confirm(second)
    third = bench.send()
    assert (third.batch.epoch, third.batch.base_sequence) == (NEXT.epoch, 0)


def test_another_log_begins_with_0() -> None:
    bench = Bench(2)
    sent = bench.send()
    bench.batches.fail(sent, in_doubt=True)
    assert bench.batches.restart() == 2
    assert bench.send().batch.base_sequence == 0
    assert sent.batch.epoch == PRODUCER.epoch


def test_numbers_wrap() -> None:
    bench = Bench(3, 3)
    bench.batches.numbers.begin(PRODUCER)
    bench.batches.numbers.confirm(PRODUCER, 2**31 - 3)
    bench.send_all()
    assert bench.numbers == [(2**31 - 2, 0), (1, 3)]


def test_all_batches_are_listed_in_order() -> None:
    bench = Bench(1, 2, 3)
    assert bench.batches
    bench.send()
    assert [batch.count for batch in bench.batches.every_batch()] == [1, 2, 3]
    assert bench.batches.is_in_flight
    assert not PartitionBatches()
