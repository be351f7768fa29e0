"""Writes that take time: what can be done with records meanwhile, and what becomes of them when a write is refused."""

import pytest
from attrs import define, field

from kafka_groups.broker.share_partitions.acknowledgement import Acknowledgement
from kafka_groups.broker.share_partitions.record_state import RecordState
from kafka_groups.broker.share_partitions.writing import StateChange, StateWriter
from kafka_groups.config.cluster.broker import ShareGroupConfig
from kafka_groups.errors import BrokerError, CoordinatorNotAvailableError, InvalidRecordStateError
from kafka_groups.protocol.messages.write_share_group_state import WriteShareStatePartition
from tests.support.broker.share_state import batch_of
from tests.unit.broker.share_partitions.scenes import Scene, acked, batches_of

ACCEPT, RELEASE = 1, 2
ACQUIRED, AVAILABLE, ACKED = RecordState.ACQUIRED, RecordState.AVAILABLE, RecordState.ACKNOWLEDGED
REFUSED = CoordinatorNotAvailableError()


@define
class Waiter:
    is_over: bool = False
    woken: int = 0

    def done(self) -> bool:
        return self.is_over

    def set_result(self, _result: None, /) -> None:
        self.is_over = True
        self.woken += 1


@define
class Bench:
    """A share-partition whose writes end when a test says so."""

    scene: Scene = field(factory=lambda: Scene(batches_of(10, 10)))
    sent: list[WriteShareStatePartition] = field(factory=list)
    changes: list[StateChange] = field(factory=list)
    writer: StateWriter = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.writer = StateWriter(self.scene.partition)

    @property
    def outcomes(self) -> list[BrokerError | None]:
        return [change.error for change in self.changes if change.has_ended]

    def planned(self, first: int, last: int, kind: int = ACCEPT, member: str = "ann") -> StateChange:
        acknowledgement = Acknowledgement(member, (acked(first, last, kind),))
        batches = self.scene.partition.begin_acknowledge(acknowledgement, self.scene.config, self.scene.now_ms)
        return StateChange(self.scene.partition, batches)

    def acknowledge(self, first: int, last: int, kind: int = ACCEPT, member: str = "ann") -> None:
        change = self.planned(first, last, kind, member)
        self.changes.append(change)
        self.write(change)

    def expire(self) -> None:
        expired = self.scene.partition.expire(self.scene.config, self.scene.now_ms)
        if expired:
            self.write(StateChange(self.scene.partition, expired, is_applied=True))

    def write(self, change: StateChange) -> None:
        self.writer.add(change)
        self.send()
        self.writer.hold(change)

    def send(self) -> None:
        if self.writer.can_begin:
            self.sent.append(self.writer.begin())

    def end(self, error: BrokerError | None = None) -> None:
        self.sent.pop(0)
        self.writer.end(error)
        self.send()


@pytest.fixture
def bench() -> Bench:
    made = Bench()
    assert made.scene.fetch(max_records=10) == [(0, 9, 1)]
    return made


def test_records_are_nobodys_while_their_acknowledgement_is_written(bench: Bench) -> None:
    bench.acknowledge(0, 4)
    assert bench.scene.fetch("bob", max_records=10) == [(10, 19, 1)]
    for member in ("ann", "bob"):
        with pytest.raises(InvalidRecordStateError, match="offset 4 is being written"):
            bench.acknowledge(4, 4, member=member)
    bench.scene.release("ann")
    assert bench.scene.states()[0] == (0, 4, ACQUIRED, 1)
    assert bench.scene.states()[1] == (5, 9, AVAILABLE, 1)


def test_an_acknowledgement_takes_effect_when_it_is_written(bench: Bench) -> None:
    bench.acknowledge(0, 4)
    assert bench.scene.partition.start_offset == 0
    bench.end()
    assert bench.scene.partition.start_offset == 5
    assert bench.outcomes == [None]


def test_locks_do_not_expire_while_an_acknowledgement_is_written(bench: Bench) -> None:
    bench.acknowledge(0, 4)
    bench.scene.now_ms += 30_000
    bench.expire()
    assert bench.scene.states() == [(0, 4, ACQUIRED, 1), (5, 9, AVAILABLE, 1)]
    bench.end()
    assert bench.scene.partition.start_offset == 5


def test_what_was_refused_is_its_owners_again(bench: Bench) -> None:
    bench.acknowledge(0, 4)
    bench.end(REFUSED)
    assert bench.outcomes == [REFUSED]
    assert bench.scene.states() == [(0, 9, ACQUIRED, 1)]
    bench.acknowledge(0, 9)
    bench.end()
    assert bench.scene.partition.start_offset == 10


def test_what_was_refused_after_its_lock_expired_is_available(bench: Bench) -> None:
    bench.acknowledge(0, 4)
    bench.scene.now_ms += 30_000
    bench.end(REFUSED)
    assert bench.scene.partition.next_deadline_ms() is not None
    bench.expire()
    assert bench.scene.states() == [(0, 9, AVAILABLE, 1)]
    assert bench.scene.fetch("bob", max_records=10) == [(0, 9, 2)]


def test_one_write_is_under_way_and_the_changes_after_it_are_one_write(bench: Bench) -> None:
    bench.acknowledge(0, 1)
    bench.acknowledge(2, 2, RELEASE)
    bench.acknowledge(4, 5)
    assert len(bench.sent) == 1
    bench.end()
    [update] = bench.sent
    assert update.start_offset == 2
    assert update.state_batches == (batch_of(2, 2, AVAILABLE, 1), batch_of(4, 5, ACKED, 1))
    assert update.delivery_complete_count == 2
    bench.end()
    assert bench.outcomes == [None, None, None]
    assert not bench.writer.is_busy
    assert bench.scene.fetch("bob", max_records=1, strict=True) == [(2, 2, 2)]


def test_what_nobody_asked_for_takes_effect_before_it_is_written(bench: Bench) -> None:
    bench.acknowledge(0, 0)
    bench.scene.now_ms += 30_000
    bench.expire()
    assert bench.scene.fetch("bob", max_records=10)[0] == (1, 9, 2)
    bench.acknowledge(1, 3, member="bob")
    bench.end()
    [update] = bench.sent
    assert update.state_batches == (batch_of(1, 9, AVAILABLE, 1), batch_of(1, 3, ACKED, 2))
    assert (update.start_offset, update.delivery_complete_count) == (1, 3)
    bench.end()
    assert bench.scene.partition.start_offset == 4


def test_a_refused_expiry_stays_in_effect(bench: Bench) -> None:
    bench.scene.now_ms += 30_000
    bench.expire()
    bench.end(REFUSED)
    assert bench.scene.states() == [(0, 9, AVAILABLE, 1)]


def test_records_that_the_log_loses_meanwhile_stay_lost(bench: Bench) -> None:
    bench.acknowledge(0, 4)
    bench.scene.partition.move_start(3)
    bench.end(REFUSED)
    assert bench.scene.states() == [(3, 9, ACQUIRED, 1)]
    bench.acknowledge(3, 4)
    bench.scene.partition.move_start(8)
    bench.end()
    assert bench.scene.partition.start_offset == 8


def test_a_write_that_ends_at_once_holds_nothing(bench: Bench) -> None:
    change = bench.planned(0, 4)
    bench.writer.add(change)
    bench.send()
    bench.end()
    assert (change.has_ended, change.error, change.held) == (True, None, ())
    assert not bench.writer.is_busy
    assert bench.scene.partition.start_offset == 5


def test_the_request_that_waits_is_woken_once_and_not_if_it_has_gone(bench: Bench) -> None:
    waits, gone = Waiter(), Waiter(is_over=True)
    for waiter, offset in ((waits, 0), (gone, 1)):
        bench.acknowledge(offset, offset)
        bench.changes[-1].waiter = waiter
    bench.end()
    bench.end()
    assert (waits.woken, gone.woken) == (1, 0)


def test_an_expiry_takes_effect_at_once_and_moves_the_start_with_the_end_of_its_write(bench: Bench) -> None:
    bench.scene.config = ShareGroupConfig(delivery_count_limit=2)
    for _ in range(2):
        bench.scene.fetch()
        bench.scene.now_ms += bench.scene.config.record_lock_duration_ms
        bench.expire()
        written = bench.sent[0]
        assert bench.scene.partition.start_offset == 0
        bench.end(REFUSED)  # also after a refused write
    assert (written.start_offset, written.delivery_complete_count) == (0, 20)
    assert bench.scene.partition.start_offset == 20
