"""Records of transactions: pending until a marker says how the transaction ended, also after loading."""

import random
from typing import Any
from uuid import UUID

import pytest

from kafka_groups.broker.coordinators.groups.classic.joining import ClassicSources
from kafka_groups.broker.coordinators.groups.settings import GroupConfigSources
from kafka_groups.broker.coordinators.groups.shard import GroupShard
from kafka_groups.broker.coordinators.result import Result
from kafka_groups.broker.coordinators.share_state.shard import ShareStateShard
from kafka_groups.broker.log.entries import EndMarker, LogEntry, Producer, TransactionEnd
from kafka_groups.broker.runtime.outcome import PendingOutcome
from kafka_groups.config.cluster.broker import BrokerSettings, ConsumerGroupConfig, ShareGroupConfig
from kafka_groups.config.cluster.streams_group import StreamsGroupConfig
from kafka_groups.errors import (
    CoordinatorNotAvailableError,
    IllegalStateError,
    InvalidProducerEpochError,
    InvalidTxnStateError,
    NotCoordinatorError,
    TransactionCoordinatorFencedError,
)
from kafka_groups.protocol.coordinator_records.share_group import ShareGroupMetadata
from kafka_groups.protocol.coordinator_records.share_group_state import ShareSnapshot
from kafka_groups.protocol.record_builder import build_control_batch
from tests.support.broker.share_state import AllTopics
from tests.unit.broker.runtime.scenes import Brokers, Number, SlowLog, error_of, is_pending

COMMITTING, ABORTING, OPEN = Producer(1, 0), Producer(2, 3), Producer(3, 0)
LARGE = 1_000_000
CONFIGS = GroupConfigSources(
    lambda _: ShareGroupConfig(), lambda _: ConsumerGroupConfig(), lambda _: StreamsGroupConfig()
)
SOURCES = ClassicSources(lambda: 1, lambda: UUID(int=1), lambda: 0)


def put(brokers: Brokers, name: str, producer: Producer | None, node_id: int = 0) -> None:
    result: Result[None, Number] = Result(None, (Number(name, 1),), producer=producer)
    runtime, outcome = brokers.runtimes[node_id], PendingOutcome[None]()
    verification = None if producer is None else runtime.begin_verification(0, producer, adds=True)
    runtime.run(0, lambda _shard: result, outcome, verification=verification)
    outcome.now()


def end(brokers: Brokers, producer: Producer, *, committed: bool, node_id: int = 0) -> PendingOutcome[None]:
    outcome: PendingOutcome[None] = PendingOutcome()
    brokers.runtimes[node_id].end_transaction(0, EndMarker(producer, committed), outcome)
    return outcome


def with_transactions() -> Brokers:
    """Three transactions whose records stand between each other: committed, aborted, and still open."""
    brokers = Brokers()
    for number in range(2):
        for name, producer in (("c", COMMITTING), ("a", ABORTING), ("o", OPEN), ("plain", None)):
            put(brokers, f"{name}{number}", producer)
    end(brokers, ABORTING, committed=False).now()
    end(brokers, COMMITTING, committed=True).now()
    put(brokers, "o2", OPEN)
    return brokers


def shard_of(brokers: Brokers, node_id: int = 0) -> Any:
    shard = brokers.runtimes[node_id].active_shard(0)
    assert shard is not None
    return shard


def test_records_count_when_their_transaction_is_committed_and_not_before() -> None:
    brokers = Brokers()
    put(brokers, "c", COMMITTING)
    put(brokers, "a", ABORTING)
    assert shard_of(brokers).values == {}
    end(brokers, COMMITTING, committed=True).now()
    end(brokers, ABORTING, committed=False).now()
    assert shard_of(brokers).values == {"c": 1}
    assert shard_of(brokers).pending == {}
    assert shard_of(brokers).ended == [TransactionEnd(2, COMMITTING, True), TransactionEnd(3, ABORTING, False)]


@pytest.mark.parametrize("is_read_first", [False, True])
def test_the_next_leader_loads_committed_aborted_and_open_transactions(is_read_first: bool) -> None:
    brokers = with_transactions()
    if is_read_first:
        assert brokers.logs[0].read(0, LARGE).records  # so it is bytes now
    before = shard_of(brokers)
    brokers.move(0, 1)
    brokers.turns.run()
    loaded = shard_of(brokers, 1)
    assert loaded.values == before.values == dict.fromkeys(("c0", "c1", "plain0", "plain1"), 1)
    assert loaded.ended == before.ended
    assert [record.name for record in loaded.pending[OPEN.producer_id]] == ["o0", "o1", "o2"]
    end(brokers, Producer(OPEN.producer_id, OPEN.epoch + 1), committed=True, node_id=1).now()
    assert loaded.values.keys() == {"c0", "c1", "plain0", "plain1", "o0", "o1", "o2"}


def test_batches_and_markers_are_those_that_kafka_writes() -> None:
    log = SlowLog()
    log.append_records([Number("n", 1)], 7, 1_000, COMMITTING)
    log.append_end(EndMarker(COMMITTING, committed=True), 7, 2_000)
    as_objects = log.entries(0)
    read = log.read(0, LARGE)
    data, marker = read.batches
    assert (data.is_transactional, data.is_control, data.producer_id) == (True, False, COMMITTING.producer_id)
    assert (marker.is_transactional, marker.is_control, marker.leader_epoch) == (True, True, 7)
    assert log.entries(0) == as_objects
    assert as_objects[0] == [LogEntry(0, Number("n", 1), COMMITTING), TransactionEnd(1, COMMITTING, True)]
    assert log.slice(0)[0] == [(0, Number("n", 1))]
    kafkas = build_control_batch(1, is_commit=True, producer_id=COMMITTING.producer_id, timestamp_ms=2_000)
    after_epoch = 16  # the batch begins with offset, length and leader epoch
    assert bytes(read.records)[data.size_bytes :][after_epoch:] == kafkas[after_epoch:]


def test_the_end_of_a_transaction_without_records_here_says_nothing() -> None:
    brokers = Brokers()
    end(brokers, COMMITTING, committed=True).now()
    assert shard_of(brokers).ended == []
    assert brokers.logs[0].end_offset == 1  # the marker stands in the log all the same


def test_a_marker_is_answered_when_it_is_committed() -> None:
    brokers = Brokers()
    put(brokers, "c", COMMITTING)
    brokers.logs[0].commits_at_once = False
    ended = end(brokers, COMMITTING, committed=True)
    assert is_pending(ended)
    brokers.logs[0].committed = 2
    brokers.runtimes[0].log_committed(0)
    assert ended.now() is None


def test_a_marker_that_the_log_refuses_leaves_the_transaction_open(monkeypatch: pytest.MonkeyPatch) -> None:
    brokers = Brokers()
    put(brokers, "c", COMMITTING)

    def refuse(*_arguments: Any, **_keywords: Any) -> int:
        raise CoordinatorNotAvailableError

    with monkeypatch.context() as patch:
        patch.setattr(brokers.logs[0], "append_end", refuse)
        assert error_of(end(brokers, COMMITTING, committed=True)) is CoordinatorNotAvailableError
    brokers.turns.run()
    assert shard_of(brokers).pending.keys() == {COMMITTING.producer_id}
    assert error_of(end(brokers, COMMITTING, committed=True, node_id=1)) is NotCoordinatorError


def test_records_of_a_transaction_that_nobody_verified_are_refused() -> None:
    brokers = Brokers()
    result: Result[None, Number] = Result(None, (Number("n", 1),), producer=COMMITTING)
    assert error_of(brokers.run(lambda _shard: result, 0)) is InvalidTxnStateError
    assert brokers.logs[0].end_offset == 0


def test_an_older_coordinator_and_an_older_producer_are_refused_without_harm() -> None:
    brokers = Brokers()
    put(brokers, "a", ABORTING)
    older = Producer(ABORTING.producer_id, ABORTING.epoch - 1)
    assert error_of(end(brokers, older, committed=True)) is InvalidProducerEpochError
    outcome: PendingOutcome[None] = PendingOutcome()
    brokers.runtimes[0].end_transaction(0, EndMarker(ABORTING, committed=False, coordinator_epoch=7), outcome)
    outcome.now()
    assert error_of(end(brokers, ABORTING, committed=False)) is TransactionCoordinatorFencedError
    assert shard_of(brokers).pending == {}


def test_shards_without_transactions_refuse_them() -> None:
    states = ShareStateShard(AllTopics(random.Random(1)), 500)
    groups = GroupShard(AllTopics(random.Random(1)), CONFIGS, BrokerSettings(), SOURCES)
    with pytest.raises(IllegalStateError, match="got one of the producer 1"):
        states.replay(ShareSnapshot("g", UUID(int=7), 0), 0, COMMITTING)
    with pytest.raises(IllegalStateError, match="Only offsets may belong to a transaction"):
        groups.replay(ShareGroupMetadata("g", None), 0, COMMITTING)
    with pytest.raises(IllegalStateError):
        states.end_transaction(COMMITTING, 1, committed=True)
