"""Defects in the rules of a writer with outcomes, planted on purpose: random runs find each of them."""

from collections.abc import Callable, Collection, Sequence

import pytest

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.records.batches.building import ProducerBatch
from kafka_groups.records.confirmed.room import PendingRecords, PendingWrite, WriterRoom, is_over
from kafka_groups.records.confirmed.topic_channels import TopicChannels
from kafka_groups.records.confirmed.topic_producer import TopicProducer
from kafka_groups.records.confirmed.write_manager import WriteManager
from kafka_groups.records.producing.partition_batches import PartitionBatches, SentBatch
from kafka_groups.records.producing.produce import ProduceManager
from tests.support.planted_defects import Patch, Plant, by_name
from tests.support.producing.confirmed_runs import confirmed_run_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]


def all_topics_share_a_connection(patch: Patch) -> None:
    original = TopicChannels.take
    patch.setattr(TopicChannels, "take", lambda self, node_id, topic: original(self, node_id, topic) and 0)


def a_channel_is_free_before_all_its_answers_are_there(patch: Patch) -> None:
    original = TopicChannels.take

    def take(self: TopicChannels, node_id: int, topic: str) -> int:
        channel = original(self, node_id, topic)
        others = [each for name, each in self._used[node_id].items() if name != topic]
        return others[0][0] if others and len(others) > 1 else channel

    patch.setattr(TopicChannels, "take", take)


def the_leader_alone_confirms(patch: Patch) -> None:
    patch.setattr("kafka_groups.records.producing.produce_requests.ALL_ACKS", 1)


def withdrawn_writes_are_sent_all_the_same(patch: Patch) -> None:
    def withdraw(_self: ProduceManager, _is_withdrawn: Callable[[object], bool], _now_ms: int) -> None:
        """Do nothing."""

    patch.setattr(ProduceManager, "withdraw", withdraw)


def withdrawn_writes_still_wait_for_their_topic(patch: Patch) -> None:
    def drop_ended(self: TopicProducer, now_ms: int) -> None:
        self.drops_ended = False
        self._produce.withdraw(is_over, now_ms)

    patch.setattr(TopicProducer, "_drop_ended", drop_ended)


def what_was_sent_can_be_withdrawn(patch: Patch) -> None:
    patch.setattr(PendingWrite, "was_sent", False)


def the_others_of_a_batch_are_withdrawn_too(patch: Patch) -> None:
    original = ProducerBatch.drop
    patch.setattr(ProducerBatch, "drop", lambda self, _indexes: original(self, range(self.count)))


def withdrawn_records_get_another_batch(patch: Patch) -> None:
    """What is left is sent, although the writes know only the batch that is not sent."""

    def drop(self: ProducerBatch, indexes: Collection[int]) -> None:
        rest = self.without(indexes)
        for _, write in rest.origins if rest is not None else ():
            if isinstance(write, tuple):
                continue
            assert isinstance(write, PendingWrite)
            write.batches = [ProducerBatch(self.partition, 100, self._settings)]
        original(self, indexes)

    original = ProducerBatch.drop
    patch.setattr(ProducerBatch, "drop", drop)


def some_outcomes_are_lost(patch: Patch) -> None:
    def note_news(self: WriteManager, room: WriterRoom) -> None:
        if not self._telling:
            self._on_news()
            self._telling[room] = None

    patch.setattr(WriteManager, "note_news", note_news)


def a_refused_write_is_confirmed_too(patch: Patch) -> None:
    def confirmed(_self: WriteManager, batch: ProducerBatch) -> None:
        for _, write in batch.origins:
            if isinstance(write, tuple):
                write[0].confirm(write[1])
                continue
            assert isinstance(write, PendingWrite)
            write.left -= 1
            if not write.left or write.is_over:
                write.room._confirmed.append(write.token)
                if not write.is_over:
                    write.room.confirm(write)

    patch.setattr(WriteManager, "confirmed", confirmed)


def a_write_is_confirmed_with_its_first_record(patch: Patch) -> None:
    def confirmed(_self: WriteManager, batch: ProducerBatch) -> None:
        for _, write in batch.origins:
            if isinstance(write, tuple):
                write[0].confirm(write[1])
                continue
            assert isinstance(write, PendingWrite)
            if not write.is_over:
                write.room.confirm(write)

    patch.setattr(WriteManager, "confirmed", confirmed)


def several_records_are_confirmed_with_the_first(patch: Patch) -> None:
    original = PendingRecords.confirm

    def confirm(self: PendingRecords, position: int) -> None:
        if not self.parts:
            self.left = min(self.left, 1)
        if self.parts or not self.is_over:
            original(self, position)

    patch.setattr(PendingRecords, "confirm", confirm)


def a_division_forgets_what_is_confirmed(patch: Patch) -> None:
    original = PendingRecords.divide

    def divide(self: PendingRecords, parts: Sequence[PendingWrite]) -> Sequence[PendingWrite]:
        self._confirmed = bytearray(self.count)
        return original(self, parts)

    patch.setattr(PendingRecords, "divide", divide)


def a_division_forgets_what_was_sent(patch: Patch) -> None:
    original = PendingRecords.divide

    def divide(self: PendingRecords, parts: Sequence[PendingWrite]) -> Sequence[PendingWrite]:
        self.batches.clear()
        return original(self, parts)

    patch.setattr(PendingRecords, "divide", divide)


def a_division_forgets_what_is_refused(patch: Patch) -> None:
    patch.setattr(PendingRecords, "refusals_of", lambda _self, _part: ())


def a_refusal_of_one_of_several_is_not_told(patch: Patch) -> None:
    patch.setattr(WriterRoom, "refuse_one", lambda _self, _pending, _error: None)


def a_refusal_of_one_refuses_all(patch: Patch) -> None:
    def refuse_one(self: WriterRoom, pending: PendingRecords, error: KafkaGroupsError) -> None:
        self.refuse(pending, error, may_be_written=False)

    patch.setattr(WriterRoom, "refuse_one", refuse_one)


def lost_answers_are_forgotten(patch: Patch) -> None:
    original = PartitionBatches.fail

    def fail(self: PartitionBatches, sent: SentBatch, *, in_doubt: bool) -> None:
        original(self, sent, in_doubt=in_doubt)
        sent.batch.may_be_written = False

    patch.setattr(PartitionBatches, "fail", fail)


def other_records_of_a_refused_write_are_forgotten(patch: Patch) -> None:
    original = WriterRoom.refuse

    def refuse(self: WriterRoom, write: PendingWrite, error: KafkaGroupsError, *, may_be_written: bool) -> None:
        alone = may_be_written and any(batch.may_be_written for batch in write.batches)
        original(self, write, error, may_be_written=alone)

    patch.setattr(WriterRoom, "refuse", refuse)


def a_missing_right_refuses(patch: Patch) -> None:
    patch.setattr("kafka_groups.records.producing.produce.DENIED", frozenset())


def holds_are_told_again_and_again(patch: Patch) -> None:
    original = TopicProducer._look

    def look(self: TopicProducer, now_ms: int) -> None:
        original(self, now_ms)
        if self._held is not None:
            for room in self.rooms:
                room.hold(self._topic, self._held)

    patch.setattr(TopicProducer, "_look", look)


def holds_have_no_end(patch: Patch) -> None:
    original = WriterRoom.hold

    def hold(self: WriterRoom, topic: str, error: KafkaGroupsError | None) -> None:
        if error is not None:
            original(self, topic, error)

    patch.setattr(WriterRoom, "hold", hold)


PLANTS = by_name(
    all_topics_share_a_connection,
    a_channel_is_free_before_all_its_answers_are_there,
    the_leader_alone_confirms,
    withdrawn_writes_are_sent_all_the_same,
    withdrawn_writes_still_wait_for_their_topic,
    what_was_sent_can_be_withdrawn,
    the_others_of_a_batch_are_withdrawn_too,
    withdrawn_records_get_another_batch,
    some_outcomes_are_lost,
    a_refused_write_is_confirmed_too,
    a_write_is_confirmed_with_its_first_record,
    several_records_are_confirmed_with_the_first,
    a_division_forgets_what_is_confirmed,
    a_division_forgets_what_was_sent,
    a_division_forgets_what_is_refused,
    a_refusal_of_one_of_several_is_not_told,
    a_refusal_of_one_refuses_all,
    lost_answers_are_forgotten,
    other_records_of_a_refused_write_are_forgotten,
    a_missing_right_refuses,
    holds_are_told_again_and_again,
    holds_have_no_end,
)

SEEDS = range(3_000)


def run_all() -> None:
    for seed in SEEDS:
        confirmed_run_of(seed)


@pytest.mark.parametrize("plant", PLANTS.values(), ids=PLANTS.keys())
def test_a_planted_defect_is_found(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    with pytest.raises(Exception):  # noqa: B017, PT011 - whatever a run fails with
        run_all()
