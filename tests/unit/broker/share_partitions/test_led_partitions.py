"""Share-partitions whose state is read and written late: over the network, or by a coordinator that is away."""

import random
from collections.abc import Callable

import pytest
from attrs import define, evolve, field

from kafka_groups.broker.coordinators.share_state.share_partition_state import StateKey
from kafka_groups.broker.log.store import LogStore
from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.metadata.topics import BrokerEndpoint
from kafka_groups.broker.share_partitions.acknowledgement import Acknowledgement
from kafka_groups.broker.share_partitions.acquisition import AcquisitionLimits
from kafka_groups.broker.share_partitions.dead_letters import DeadLetterReason, DeadLetterRun
from kafka_groups.broker.share_partitions.history import DeliveryHistory, DeliveryOutcome
from kafka_groups.broker.share_partitions.led_partitions import LedSharePartitions
from kafka_groups.broker.share_partitions.partition import SharePartition, SharePartitionKey
from kafka_groups.broker.share_partitions.persisted_state import PersistedState
from kafka_groups.broker.share_partitions.share_writers import ShareWriters
from kafka_groups.broker.share_partitions.writing import StateChange
from kafka_groups.config.cluster.broker import ShareGroupConfig
from kafka_groups.errors import (
    BrokerError,
    CoordinatorNotAvailableError,
    FencedLeaderEpochError,
    GroupIdNotFoundError,
    InvalidRequestError,
    NotLeaderOrFollowerError,
    UnknownServerError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.protocol.messages.write_share_group_state import WriteShareStatePartition
from kafka_groups.types import TopicIdPartition, TopicPartition
from tests.support.broker.held_letters import HeldLetters
from tests.support.broker.share_state import batch_of
from tests.unit.broker.share_partitions.scenes import acked, batches_of

CONFIG = ShareGroupConfig(auto_offset_reset="earliest")
STATE = PersistedState(0, 0, 0, 0, ())


@define
class LatePersister:
    """Answers when a test says so."""

    history: DeliveryHistory = field(factory=DeliveryHistory)
    reads: list[Callable[[PersistedState | BrokerError], None]] = field(factory=list)
    writes: list[tuple[WriteShareStatePartition, Callable[[BrokerError | None], None]]] = field(factory=list)
    refuses_with: BrokerError | None = None

    def read(self, key: StateKey, leader_epoch: int, done: Callable[[PersistedState | BrokerError], None]) -> None:
        self.reads.append(done)

    def write(
        self, key: StateKey, change: WriteShareStatePartition, done: Callable[[BrokerError | None], None]
    ) -> None:
        if self.refuses_with is not None:
            done(self.refuses_with)
        else:
            self.writes.append((change, done))


class Bench:
    """The share-partitions of broker 0, of one topic with one partition."""

    def __init__(self) -> None:
        self.metadata = ClusterMetadata(random.Random(1))
        for node_id in (0, 1):
            self.metadata.register_broker(BrokerEndpoint(node_id, "host", 9092 + node_id))
        topic_id = self.metadata.create_topic("t").topic_id
        self.key = SharePartitionKey("g", TopicIdPartition(topic_id, 0, "t"))
        self.persister = LatePersister()
        self.late_changes = 0
        self.letters = HeldLetters()
        self.config = CONFIG
        writers = ShareWriters(self.persister, self.letters)
        self.led = LedSharePartitions(0, self.metadata, LogStore(), writers, lambda _group_id: self.config)
        self.led.on_late_change = self.count_late_change
        self.metadata.on_change(lambda _image, delta: self.led.drop_partitions(tuple(delta.lost_partitions())))
        self.changes: list[StateChange] = []

    @property
    def outcomes(self) -> list[BrokerError | None]:
        return [change.error for change in self.changes if change.has_ended]

    def count_late_change(self) -> None:
        self.late_changes += 1

    def load(self, now_ms: int = 1_000) -> SharePartition | None:
        return self.led.load(self.key, 0, now_ms)

    def loaded(self) -> SharePartition:
        assert self.load() is None
        self.persister.reads.pop()(STATE)
        found = self.load()
        assert found is not None
        self.led.take_changed()
        return found

    def acknowledge(self, share_partition: SharePartition) -> None:
        share_partition.acquire("ann", batches_of(10), AcquisitionLimits(10, 10), CONFIG, 1_000)
        batches = share_partition.begin_acknowledge(Acknowledgement("ann", (acked(0, 9, 1),)), CONFIG, 1_000)
        self.write(StateChange(share_partition, batches))

    def write(self, change: StateChange) -> None:
        self.changes.append(change)
        self.led.write(change)

    def move(self, node_id: int) -> None:
        self.metadata.move_leader(TopicPartition("t", 0), node_id)


@pytest.fixture
def bench() -> Bench:
    return Bench()


class TestReading:
    def test_nobody_has_it_before_it_is_read_and_it_is_read_once(self, bench: Bench) -> None:
        assert bench.load() is None
        assert bench.load() is None
        [done] = bench.persister.reads
        assert bench.led.take_changed() == ()
        done(STATE)
        assert bench.led.take_changed() == (bench.key,)
        assert bench.late_changes == 1
        assert bench.load() is not None
        assert len(bench.persister.reads) == 1

    @pytest.mark.parametrize(
        ("error", "told"),
        [
            (CoordinatorNotAvailableError(), CoordinatorNotAvailableError),
            (FencedLeaderEpochError(), NotLeaderOrFollowerError),
            (UnknownTopicOrPartitionError("deleted"), UnknownTopicOrPartitionError),
            (GroupIdNotFoundError("deleted"), GroupIdNotFoundError),
            (InvalidRequestError("no state"), UnknownServerError),
        ],
    )
    def test_a_failure_is_told_and_then_it_is_read_again(
        self, bench: Bench, error: BrokerError, told: type[BrokerError]
    ) -> None:
        assert bench.load() is None
        bench.persister.reads.pop()(error)
        assert bench.led.take_changed() == (bench.key,)
        for _ in range(2):
            with pytest.raises(told):
                bench.load()
        assert bench.persister.reads == []
        bench.led.forget_failure(bench.key)
        assert bench.load() is None
        assert len(bench.persister.reads) == 1

    def test_a_state_that_was_not_there_is_read_again_after_a_while(self, bench: Bench) -> None:
        assert bench.load() is None
        bench.persister.reads.pop()(InvalidRequestError("no state"))
        with pytest.raises(UnknownServerError):
            bench.load(1_099)
        assert bench.load(1_100) is None
        bench.persister.reads.pop()(STATE)
        assert bench.load(1_100) is not None

    def test_what_comes_after_the_leader_moved_is_dropped(self, bench: Bench) -> None:
        assert bench.load() is None
        bench.move(1)
        bench.move(0)
        assert bench.load() is None
        old, new = bench.persister.reads
        old(STATE)
        assert bench.load() is None
        new(STATE)
        found = bench.load()
        assert found is not None
        assert found.leader_epoch == bench.led.led_epoch(bench.key.partition)

    def test_what_comes_after_the_group_was_dropped_is_dropped(self, bench: Bench) -> None:
        assert bench.load() is None
        bench.led.drop_group("g")
        bench.persister.reads.pop()(STATE)
        assert bench.load() is None
        assert len(bench.persister.reads) == 1


class TestWriting:
    def test_the_outcome_comes_with_the_write(self, bench: Bench) -> None:
        share_partition = bench.loaded()
        bench.acknowledge(share_partition)
        assert bench.outcomes == []
        assert bench.led.next_deadline_ms() is None
        bench.persister.writes.pop()[1](None)
        assert bench.outcomes == [None]
        assert share_partition.start_offset == 10
        assert bench.led.take_changed() == (bench.key,)
        assert bench.late_changes == 2
        assert len(bench.persister.history.of("g")) == 1

    def test_a_coordinator_that_is_away_costs_the_write_alone(self, bench: Bench) -> None:
        share_partition = bench.loaded()
        bench.acknowledge(share_partition)
        bench.persister.writes.pop()[1](CoordinatorNotAvailableError())
        assert [type(error) for error in bench.outcomes] == [CoordinatorNotAvailableError]
        assert bench.load() is share_partition
        assert bench.led.next_deadline_ms() is not None
        assert bench.persister.history.of("g") == ()

    @pytest.mark.parametrize(
        ("error", "told"),
        [(FencedLeaderEpochError(), NotLeaderOrFollowerError), (InvalidRequestError("no state"), UnknownServerError)],
    )
    def test_a_leader_that_was_replaced_forgets_it(
        self, bench: Bench, error: BrokerError, told: type[BrokerError]
    ) -> None:
        bench.acknowledge(bench.loaded())
        bench.persister.writes.pop()[1](error)
        assert [type(error) for error in bench.outcomes] == [told]
        assert len(bench.led) == 0
        assert bench.load() is None
        assert len(bench.persister.reads) == 1

    def test_the_answer_follows_the_write_and_not_the_leader(self, bench: Bench) -> None:
        bench.acknowledge(bench.loaded())
        bench.move(1)
        assert bench.outcomes == []
        bench.persister.writes.pop()[1](None)
        assert bench.outcomes == [None]

    def test_nothing_is_read_before_the_last_write_has_ended(self, bench: Bench) -> None:
        share_partition = bench.loaded()
        bench.acknowledge(share_partition)
        bench.led.drop_group("g")
        bench.led.take_changed()
        assert bench.load() is None
        assert bench.persister.reads == []
        bench.persister.writes.pop()[1](None)
        assert bench.led.take_changed() == (bench.key,)
        assert bench.load() is None
        assert len(bench.persister.reads) == 1

    def test_fetches_learn_of_a_write_that_ends_at_once_after_one_that_ended_late(self, bench: Bench) -> None:
        share_partition = bench.loaded()
        share_partition.acquire("ann", batches_of(10), AcquisitionLimits(10, 10), CONFIG, 1_000)
        for offset in (0, 1):
            acknowledgement = Acknowledgement("ann", (acked(offset, offset, 1),))
            batches = share_partition.begin_acknowledge(acknowledgement, CONFIG, 1_000)
            bench.write(StateChange(share_partition, batches))
        learnt = bench.late_changes
        bench.persister.refuses_with = FencedLeaderEpochError()
        bench.persister.writes.pop()[1](None)
        assert [type(error) for error in bench.outcomes] == [type(None), NotLeaderOrFollowerError]
        assert bench.late_changes == learnt + 2

    def test_what_was_dropped_has_no_deadline(self, bench: Bench) -> None:
        share_partition = bench.loaded()
        share_partition.acquire("bob", batches_of(5), AcquisitionLimits(5, 5), CONFIG, 1_000)
        bench.persister.refuses_with = FencedLeaderEpochError()
        batches = share_partition.begin_acknowledge(Acknowledgement("bob", (acked(0, 1, 1),)), CONFIG, 1_000)
        bench.write(StateChange(share_partition, batches))
        assert len(bench.led) == 0
        assert bench.led.next_deadline_ms() is None

    def test_an_expiry_that_is_refused_at_once_is_an_error(self, bench: Bench) -> None:
        share_partition = bench.loaded()
        share_partition.acquire("ann", batches_of(10), AcquisitionLimits(10, 10), CONFIG, 1_000)
        bench.persister.refuses_with = FencedLeaderEpochError()
        with pytest.raises(NotLeaderOrFollowerError):
            bench.led.load(bench.key, 0, 100_000)
        assert len(bench.led) == 0


class TestDeadLetters:
    @pytest.fixture
    def queued(self, bench: Bench) -> Bench:
        bench.config = evolve(CONFIG, errors_deadletterqueue_topic_name="dlq.x")
        return bench

    def reject(self, bench: Bench, share_partition: SharePartition) -> None:
        share_partition.acquire("ann", batches_of(10), AcquisitionLimits(10, 10), bench.config, 1_000)
        acknowledged = (acked(0, 9, 3),)
        batches = share_partition.begin_acknowledge(Acknowledgement("ann", acknowledged), bench.config, 1_000)
        bench.write(StateChange(share_partition, batches, acknowledged))

    def outcomes(self, bench: Bench) -> list[DeliveryOutcome]:
        return [each.outcome for each in bench.persister.history.of("g")]

    def test_a_letter_is_asked_for_when_state_3_is_written_and_state_4_is_written_after_it(self, queued: Bench) -> None:
        share_partition = queued.loaded()
        self.reject(queued, share_partition)
        change, done = queued.persister.writes.pop()
        assert change.state_batches == (batch_of(0, 9, 3, 1),)
        assert queued.letters.runs == []
        done(None)
        assert queued.outcomes == [None]  # the acknowledgement does not wait for the letter
        [(key, run)] = queued.letters.runs
        assert (key, run) == (queued.key, DeadLetterRun(0, 9, 1, DeadLetterReason.REJECTED))
        assert share_partition.start_offset == 0
        assert queued.persister.writes == []
        queued.letters.end()
        change, done = queued.persister.writes.pop()
        assert (change.start_offset, change.delivery_complete_count) == (0, 10)
        assert change.state_batches == (batch_of(0, 9, 4, 1),)
        assert self.outcomes(queued) == [DeliveryOutcome.REJECTED]
        done(None)
        assert share_partition.start_offset == 10
        assert self.outcomes(queued) == [DeliveryOutcome.REJECTED, DeliveryOutcome.DEAD_LETTERED]

    def test_a_letter_that_can_not_be_written_stops_nothing(self, queued: Bench) -> None:
        share_partition = queued.loaded()
        self.reject(queued, share_partition)
        queued.persister.writes.pop()[1](None)
        queued.letters.end(are_written=False)
        queued.persister.writes.pop()[1](None)
        assert share_partition.start_offset == 10
        assert self.outcomes(queued) == [DeliveryOutcome.REJECTED]

    def test_an_acknowledgement_that_is_refused_has_no_letters(self, queued: Bench) -> None:
        share_partition = queued.loaded()
        self.reject(queued, share_partition)
        queued.persister.writes.pop()[1](CoordinatorNotAvailableError())
        assert queued.letters.runs == []

    @pytest.mark.parametrize(
        ("error", "letters"), [(None, 1), (CoordinatorNotAvailableError(), 1), (FencedLeaderEpochError(), 0)]
    )
    def test_expired_locks_at_the_limit_have_letters_unless_another_leader_has_the_records(
        self, queued: Bench, error: BrokerError | None, letters: int
    ) -> None:
        share_partition = queued.loaded()
        queued.config = evolve(queued.config, delivery_count_limit=2)
        for now_ms in (1_000, 100_000):
            share_partition.acquire("ann", batches_of(10), AcquisitionLimits(10, 10), queued.config, now_ms)
            queued.led.reschedule(share_partition)
            queued.led.expire(now_ms + queued.config.record_lock_duration_ms)
            assert queued.letters.runs == []
            queued.persister.writes.pop()[1](error if now_ms > 1_000 else None)
        assert [run for _, run in queued.letters.runs] == [DeadLetterRun(0, 9, 2, DeadLetterReason.EXHAUSTED)] * letters

    def test_a_new_leader_has_the_letters_written_again(self, queued: Bench) -> None:
        assert queued.load() is None
        queued.persister.reads.pop()(evolve(STATE, batches=(batch_of(2, 3, 3, 1),)))
        found = queued.load()
        assert found is not None
        assert [run for _, run in queued.letters.runs] == [DeadLetterRun(2, 3, 1, DeadLetterReason.REJECTED)]
        acquired = found.acquire("ann", batches_of(10), AcquisitionLimits(10, 10), queued.config, 1_000)
        assert [(each.first_offset, each.last_offset) for each in acquired] == [(0, 1), (4, 9)]
        queued.letters.end()
        assert queued.persister.writes.pop()[0].state_batches == (batch_of(2, 3, 4, 1),)

    def test_a_group_that_is_dropped_meanwhile_still_has_state_4_written(self, queued: Bench) -> None:
        self.reject(queued, queued.loaded())
        queued.persister.writes.pop()[1](None)
        queued.led.drop_group("g")
        queued.letters.end()
        change, done = queued.persister.writes.pop()
        assert change.state_batches == (batch_of(0, 9, 4, 1),)
        assert queued.load() is None
        assert queued.persister.reads == []  # not before the write has ended
        done(None)
        assert queued.load() is None
        assert len(queued.persister.reads) == 1

    def test_what_was_loaded_again_meanwhile_is_archived_by_its_own_letters(self, queued: Bench) -> None:
        self.reject(queued, queued.loaded())
        queued.persister.writes.pop()[1](None)
        queued.led.drop_group("g")
        assert queued.load() is None
        queued.persister.reads.pop()(evolve(STATE, batches=(batch_of(0, 9, 3, 1),)))
        queued.letters.end()
        assert queued.persister.writes == []
        queued.letters.end()
        assert queued.persister.writes.pop()[0].state_batches == (batch_of(0, 9, 4, 1),)
