"""Transactional ids at the edges that no client reaches soon: used-up epochs, expiry, loading, late markers."""

from collections.abc import Iterator
from itertools import count
from typing import TypeVar

import pytest
from attrs import define, field

from kafka_groups.broker.coordinators.result import Result
from kafka_groups.broker.coordinators.transactions.effects import WriteMarkers
from kafka_groups.broker.coordinators.transactions.ending import EndRequest
from kafka_groups.broker.coordinators.transactions.records import TransactionRecord
from kafka_groups.broker.coordinators.transactions.settings import TransactionRules
from kafka_groups.broker.coordinators.transactions.shard import TransactionShard
from kafka_groups.broker.coordinators.transactions.states import TransactionState
from kafka_groups.broker.coordinators.transactions.transaction import LAST_EPOCH, Transaction
from kafka_groups.broker.log.entries import Producer
from kafka_groups.errors import (
    ConcurrentTransactionsError,
    InvalidTransactionTimeoutError,
    ProducerFencedError,
    TransactionalIdNotFoundError,
    UnknownServerError,
)
from kafka_groups.types import TopicPartition

T = TypeVar("T")

ID, NEW, OLD = "id", 2, 0
TIMEOUT_MS, EXPIRY_MS, CHECK_MS = 1_000, 60_000, 10
A, B = TopicPartition("t", 0), TopicPartition("t", 1)
LAST_GIVEN = LAST_EPOCH - 1


@define
class Ids:
    """A shard whose records are applied at once.

    Attributes:
        version: The level of transaction.version.
        records: What was written.
        effects: What is to be done.
    """

    version: int = NEW
    records: list[TransactionRecord] = field(factory=list)
    effects: list[WriteMarkers] = field(factory=list)
    _numbers: Iterator[int] = field(factory=lambda: count(100))
    shard: TransactionShard = field(init=False)

    def __attrs_post_init__(self) -> None:
        rules = TransactionRules(
            max_timeout_ms=10 * TIMEOUT_MS,
            id_expiration_ms=EXPIRY_MS,
            timeout_check_ms=CHECK_MS,
            expiration_check_ms=CHECK_MS,
            new_producer_id=lambda: next(self._numbers),
            version=lambda: self.version,
        )
        self.shard = TransactionShard(rules)

    def applied(self, result: Result[T, TransactionRecord]) -> T | None:
        for record in result.records:
            self.shard.replay(record, len(self.records))
            self.records.append(record)
        self.effects += [effect for effect in result.effects if isinstance(effect, WriteMarkers)]
        return result.response

    def known(self, epoch: int, state: TransactionState, *partitions: TopicPartition, id_: str = ID) -> None:
        """Let an id exist, as if it had been loaded."""
        value = Transaction(
            producer_id=1,
            producer_epoch=epoch,
            timeout_ms=TIMEOUT_MS,
            state=state,
            partitions=frozenset(partitions),
            start_ms=0,
            updated_ms=0,
            client_version=self.version,
        )
        self.shard.replay(TransactionRecord(id_, value), 0)

    def init(self, expected: Producer | None = None) -> object:
        return self.applied(self.shard.initialise(ID, TIMEOUT_MS, expected, 1))

    def end(self, producer: Producer, *, committed: bool = True) -> Producer | None:
        return self.applied(self.shard.end(ID, EndRequest(producer, committed, self.version), 1))

    def written(self, *partitions: TopicPartition) -> None:
        self.applied(self.shard.markers_written(self.effects[-1], partitions, 2))

    @property
    def now(self) -> Transaction:
        return self.shard.described(ID)


def test_the_last_epoch_is_only_for_the_marker_and_the_producer_gets_a_new_id() -> None:
    ids = Ids()
    ids.known(LAST_GIVEN, TransactionState.ONGOING, A)

    assert ids.end(Producer(1, LAST_GIVEN)) == Producer(100, 0)
    assert ids.effects[-1].producer == Producer(1, LAST_EPOCH)
    with pytest.raises(ConcurrentTransactionsError):
        ids.end(Producer(1, LAST_GIVEN))

    ids.written(A)
    assert (ids.now.producer, ids.now.state) == (Producer(100, 0), TransactionState.COMPLETE_COMMIT)
    written = len(ids.records)
    assert ids.end(Producer(1, LAST_GIVEN)) == Producer(100, 0)  # its answer was lost
    assert len(ids.records) == written
    with pytest.raises(ProducerFencedError):
        ids.init(Producer(1, 7))


def test_a_producer_that_begins_gets_a_new_id_when_the_epochs_are_used_up() -> None:
    ids = Ids()
    ids.known(LAST_GIVEN, TransactionState.COMPLETE_COMMIT)

    assert ids.init(Producer(1, LAST_GIVEN)) == Producer(100, 0)
    assert ids.init(Producer(1, LAST_GIVEN)) == Producer(100, 0)  # repeated


@pytest.mark.parametrize("epoch", [LAST_GIVEN - 1, 7])
def test_a_producer_with_an_older_epoch_gets_no_answer_when_the_epochs_are_used_up(epoch: int) -> None:
    ids = Ids()
    ids.known(LAST_GIVEN - 1, TransactionState.COMPLETE_COMMIT)

    assert ids.init(Producer(1, LAST_GIVEN - 1)) == Producer(1, LAST_GIVEN)
    with pytest.raises(UnknownServerError):
        ids.init(Producer(1, epoch))
    assert ids.init(Producer(1, LAST_GIVEN)) == Producer(100, 0)


def test_an_older_producer_is_fenced_with_the_last_epoch_though_there_is_none_after_it() -> None:
    ids = Ids(version=OLD)
    ids.known(LAST_GIVEN, TransactionState.ONGOING, A)

    assert isinstance(ids.init(), ConcurrentTransactionsError)
    assert ids.effects[-1].producer == Producer(1, LAST_EPOCH)
    ids.written(A)
    assert ids.init() == Producer(100, 0)


@pytest.mark.parametrize(("level", "stored"), [(0, 0), (1, 1), (2, 1)])
def test_the_level_of_the_feature_decides_the_version_of_records(level: int, stored: int) -> None:
    ids = Ids(version=level)
    ids.init()
    assert [record.version for record in ids.records] == [stored]


@pytest.mark.parametrize("timeout_ms", [0, -1, 10 * TIMEOUT_MS + 1])
def test_a_timeout_that_is_not_allowed_is_named(timeout_ms: int) -> None:
    with pytest.raises(InvalidTransactionTimeoutError, match=str(timeout_ms)):
        Ids().shard.initialise(ID, timeout_ms, None, 1)


def test_a_transaction_ends_with_its_last_marker() -> None:
    ids = Ids()
    ids.known(3, TransactionState.ONGOING, A, B)
    ids.end(Producer(1, 3))

    ids.written(B, B)
    assert (ids.now.state, ids.now.partitions) == (TransactionState.PREPARE_COMMIT, frozenset({A}))
    ids.written(A)
    assert (ids.now.state, ids.now.partitions) == (TransactionState.COMPLETE_COMMIT, frozenset())


def test_markers_of_an_earlier_transaction_do_not_count_for_the_next() -> None:
    ids = Ids()
    ids.known(3, TransactionState.ONGOING, A)
    ids.end(Producer(1, 3))
    ids.written(A)
    late = ids.effects[-1]
    ids.applied(ids.shard.add_partitions(ID, Producer(1, 4), [A], NEW, 3))
    ids.end(Producer(1, 4))

    ids.applied(ids.shard.markers_written(late, [A], 4))
    assert (ids.now.state, ids.now.partitions) == (TransactionState.PREPARE_COMMIT, frozenset({A}))


def test_only_transactions_that_have_timed_out_are_aborted() -> None:
    ids = Ids()
    ids.known(3, TransactionState.ONGOING, A)
    list(ids.shard.loaded(0, 0))

    ids.applied(ids.shard.expire(CHECK_MS, TIMEOUT_MS))
    assert ids.effects == []
    ids.applied(ids.shard.expire(2 * CHECK_MS, TIMEOUT_MS + 1))
    [effect] = ids.effects
    assert (effect.producer, effect.committed) == (Producer(1, 4), False)
    with pytest.raises(ConcurrentTransactionsError):
        ids.shard.add_partitions(ID, Producer(1, 3), [B], NEW, 3)
    ids.applied(ids.shard.markers_written(effect, [A], 3))
    with pytest.raises(ProducerFencedError):
        ids.shard.add_partitions(ID, Producer(1, 3), [B], NEW, 3)


@pytest.mark.parametrize("producer", [Producer(1, 3), Producer(1, 9), Producer(99, 0)])
def test_while_markers_are_missing_partitions_are_added_for_nobody(producer: Producer) -> None:
    ids = Ids()
    ids.known(3, TransactionState.PREPARE_COMMIT, A)
    with pytest.raises(ConcurrentTransactionsError):
        ids.shard.add_partitions(ID, producer, [B], NEW, 3)


def test_a_coordinator_that_takes_over_begins_with_the_markers_that_are_missing() -> None:
    ids = Ids()
    for number in range(2_500):
        ids.known(0, TransactionState.PREPARE_ABORT, A, id_=f"aborted {number}")
    ids.known(0, TransactionState.ONGOING, A)

    parts = list(ids.shard.loaded(0, 0))
    assert max(len(part.effects) for part in parts) <= 1_000  # no turn of the loop takes long
    assert sum(len(part.effects) for part in parts) == 2_500


def test_ids_that_nobody_has_used_for_long_are_forgotten_some_at_a_time() -> None:
    ids = Ids()
    for number in range(2_500):
        ids.known(0, TransactionState.COMPLETE_COMMIT, id_=f"idle {number}")
    ids.known(0, TransactionState.ONGOING, A)
    list(ids.shard.loaded(0, 0))

    now_ms, forgotten = CHECK_MS, []
    while len(ids.records) < 2_500:
        result = ids.shard.expire(now_ms, EXPIRY_MS)
        forgotten.append(sum(record.value is None for record in result.records))
        ids.applied(result)
        deadline_ms = ids.shard.next_deadline_ms()
        assert deadline_ms is not None
        now_ms = deadline_ms
    assert max(forgotten) <= 1_000
    with pytest.raises(TransactionalIdNotFoundError):
        ids.shard.described("idle 7")
    assert ids.now.producer.producer_id == 1  # the one whose transaction was open
