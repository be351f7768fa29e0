"""Share-partitions whose state is read and written late: over the network, or by a coordinator that is away."""

import random
from collections.abc import Callable

import pytest
from attrs import define, field

from kafka_groups.broker.coordinators.share_state.share_partition_state import StateKey
from kafka_groups.broker.log.store import LogStore
from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.metadata.topics import BrokerEndpoint
from kafka_groups.broker.share_partitions.acknowledgement import Acknowledgement
from kafka_groups.broker.share_partitions.acquisition import AcquisitionLimits
from kafka_groups.broker.share_partitions.history import DeliveryHistory
from kafka_groups.broker.share_partitions.led_partitions import LedSharePartitions
from kafka_groups.broker.share_partitions.partition import SharePartition, SharePartitionKey
from kafka_groups.broker.share_partitions.persisted_state import PersistedState
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
        self.led = LedSharePartitions(0, self.metadata, LogStore(), self.persister, lambda _group_id: CONFIG)
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
