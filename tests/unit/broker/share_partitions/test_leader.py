"""The leader over real logs and metadata, without requests, connections or waiting."""

import random
from collections.abc import Mapping, Sequence

import pytest
from attrs import evolve

from kafka_groups.broker.log.store import LogStore
from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.metadata.topics import BrokerEndpoint
from kafka_groups.broker.runtime.scheduling.cooperative_yield import at_once
from kafka_groups.broker.share_partitions.fetching import (
    FetchedPartition,
    FetchRequested,
    ShareFetching,
    ShareFetchLimits,
)
from kafka_groups.broker.share_partitions.leader import SharePartitionLeader
from kafka_groups.broker.share_partitions.partition import SharePartitionKey
from kafka_groups.broker.share_partitions.sessions import ShareSessionKey
from kafka_groups.broker.share_partitions.share_writers import ShareWriters
from kafka_groups.broker.share_partitions.writing import StateChange
from kafka_groups.config.cluster.broker import ShareGroupConfig
from kafka_groups.errors import (
    BrokerError,
    InvalidRecordStateError,
    InvalidRequestError,
    InvalidShareSessionEpochError,
    NotLeaderOrFollowerError,
    ShareSessionLimitReachedError,
    ShareSessionNotFoundError,
    UnknownServerError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.protocol.messages.config_resources import TOPIC_RESOURCE
from kafka_groups.protocol.messages.share_acknowledge import AcknowledgementBatch
from kafka_groups.protocol.messages.share_fetch import AcquireMode
from kafka_groups.protocol.record_batch import iter_batches
from kafka_groups.protocol.record_builder import NewRecord, build_batch
from kafka_groups.types import TopicIdPartition, TopicPartition
from tests.support.broker.held_letters import HeldLetters
from tests.support.broker.share_state import Persisted, ShareStates
from tests.unit.broker.share_partitions.scenes import acked

ACCEPT, RELEASE, RENEW = 1, 2, 4
WALL_MS = 1_700_000_000_000
ANN, BOB = ShareSessionKey("g", "ann"), ShareSessionKey("g", "bob")
BATCH_OF_10 = build_batch([NewRecord(b"v" * 10, timestamp_ms=WALL_MS) for _ in range(10)])
SIZE = len(BATCH_OF_10)

Acks = Mapping[int, Sequence[AcknowledgementBatch]]


class Cluster:
    """Two brokers that share logs and state; broker 0 leads all partitions of topic t."""

    def __init__(self, partitions: int = 1, config: ShareGroupConfig | None = None, max_sessions: int = 10) -> None:
        self.partitions = partitions
        self.config = config or ShareGroupConfig(auto_offset_reset="earliest")
        self.max_sessions = max_sessions
        self.now_ms = 1_000
        self.epochs: dict[ShareSessionKey, int] = {}
        self.outcomes: dict[TopicIdPartition, BrokerError | None] = {}
        self.metadata = ClusterMetadata(random.Random(1))
        for node_id in (0, 1):
            self.metadata.register_broker(BrokerEndpoint(node_id, "host", 9092 + node_id))
        self.topic_id = self.metadata.create_topic("t", partitions, 1).topic_id
        self.coordinator = ShareStates()
        self.logs, self.state = LogStore(), Persisted(self.coordinator)
        self.leaders = [self.new_leader(0), self.new_leader(1)]
        for partition in range(partitions):
            self.move(partition, 0)
            self.state.initialize("g", self.topic_id, partition, -1)

    def new_leader(self, node_id: int) -> SharePartitionLeader:
        return SharePartitionLeader(
            node_id,
            self.metadata,
            self.logs,
            ShareWriters(self.coordinator.coordinators.persister, HeldLetters()),
            group_config=lambda _group_id: self.config,
            max_sessions=self.max_sessions,
        )

    @property
    def leader(self) -> SharePartitionLeader:
        return self.leaders[0]

    def tip(self, partition: int = 0) -> TopicIdPartition:
        return TopicIdPartition(self.topic_id, partition, "t")

    def move(self, partition: int, node_id: int) -> None:
        if self.leader_of(partition) != node_id:
            self.metadata.move_leader(TopicPartition("t", partition), node_id)

    def leader_of(self, partition: int) -> int:
        found = self.metadata.partition(self.topic_id, partition)
        assert found is not None
        return found.leader_id

    def produce(self, count: int = 1, partition: int = 0) -> None:
        for _ in range(count):
            self.logs.get(self.topic_id, partition).append(BATCH_OF_10, 0, WALL_MS)

    def begin(
        self,
        key: ShareSessionKey = ANN,
        *,
        listed: Sequence[int] = (),
        forgotten: Sequence[int] = (),
        acks: Acks | None = None,
        epoch: int | None = None,
        connection_id: int = 1,
        renew: bool = False,
        limits: ShareFetchLimits | None = None,
        node_id: int = 0,
    ) -> ShareFetching:
        if epoch is None:
            epoch = self.epochs.get(key, 0)
            listed = listed or (range(self.partitions) if epoch == 0 else ())
        requested = FetchRequested(
            epoch,
            {self.tip(p): tuple((acks or {}).get(p, ())) for p in dict.fromkeys([*listed, *(acks or {})])},
            [self.tip(p) for p in forgotten],
            limits or ShareFetchLimits(1, 1_000_000, 500, 500),
            renew,
        )
        fetching = at_once(self.leaders[node_id].begin_fetch(key, requested, connection_id, WALL_MS))
        self.epochs[key] = epoch + 1
        self.outcomes = self.acknowledge(key, requested.acknowledgements, node_id, renew=renew)
        return fetching

    def acknowledge(
        self,
        key: ShareSessionKey,
        acks: Mapping[TopicIdPartition, tuple[AcknowledgementBatch, ...]],
        node_id: int = 0,
        *,
        renew: bool = False,
    ) -> dict[TopicIdPartition, BrokerError | None]:
        leader, outcomes = self.leaders[node_id], dict[TopicIdPartition, BrokerError | None]()
        for tip, batches in acks.items():
            planned = leader.plan(key, tip, batches, is_renew_ack=renew, now_ms=self.now_ms)
            if isinstance(planned, StateChange):
                leader.led.write(planned)
            outcomes[tip] = ended(planned) if isinstance(planned, StateChange) else planned
        return outcomes

    def close(self, key: ShareSessionKey) -> None:
        for change in self.leader.close_session(key, self.now_ms):
            assert ended(change) is None

    def fetch(
        self, key: ShareSessionKey = ANN, limits: ShareFetchLimits | None = None
    ) -> dict[int, list[tuple[int, int, int]]]:
        return acquired(at_once(self.leader.collect(self.begin(key, limits=limits), self.now_ms)))

    def ack(self, key: ShareSessionKey = ANN, partition: int = 0, *batches: AcknowledgementBatch) -> Exception | None:
        tip = self.tip(partition)
        return self.acknowledge(key, {tip: batches}, renew=True)[tip]

    def start_offset(self, partition: int = 0) -> int:
        summary = self.state.summary("g", self.topic_id, partition)
        assert summary is not None
        return summary[2]


def ended(change: StateChange) -> BrokerError | None:
    assert change.has_ended
    return change.error


def acquired(fetched: Mapping[TopicIdPartition, FetchedPartition]) -> dict[int, list[tuple[int, int, int]]]:
    return {
        tip.partition: [(r.first_offset, r.last_offset, r.delivery_count) for r in each.acquired.ranges]
        for tip, each in fetched.items()
        if each.acquired.ranges
    }


def small(max_bytes: int = 1_000_000, max_records: int = 500) -> ShareFetchLimits:
    return ShareFetchLimits(1, max_bytes, max_records, 500)


# ------------------------------------------------------------------------------------------- sessions


def test_a_session_opens_goes_on_and_closes() -> None:
    cluster = Cluster()
    cluster.produce(2)
    assert cluster.fetch(limits=small(max_records=10)) == {0: [(0, 9, 1)]}
    assert cluster.fetch(limits=small(max_records=10)) == {0: [(10, 19, 1)]}
    with pytest.raises(InvalidShareSessionEpochError):
        cluster.begin(epoch=1)
    fetching = cluster.begin(epoch=-1)
    assert fetching.order == ()
    cluster.close(ANN)
    with pytest.raises(ShareSessionNotFoundError):
        cluster.begin(epoch=-1)


def test_opening_with_acknowledgements_is_an_invalid_request_and_opens_nothing() -> None:
    cluster = Cluster()
    with pytest.raises(InvalidRequestError):
        cluster.begin(acks={0: [acked(0, 1, ACCEPT)]}, epoch=0)
    assert len(cluster.leader.sessions) == 0


def test_an_acknowledgement_cannot_open_a_session() -> None:
    cluster = Cluster()
    for epoch, error in (
        (0, InvalidShareSessionEpochError),
        (1, ShareSessionNotFoundError),
        (-1, ShareSessionNotFoundError),
    ):
        with pytest.raises(error):
            cluster.leader.begin_acknowledge(ANN, epoch)
    cluster.begin()
    cluster.leader.begin_acknowledge(ANN, 1)
    with pytest.raises(InvalidShareSessionEpochError):
        cluster.leader.begin_acknowledge(ANN, 1)


def test_the_session_limit() -> None:
    cluster = Cluster(max_sessions=1)
    cluster.begin()
    with pytest.raises(ShareSessionLimitReachedError):
        cluster.begin(BOB)


def test_closing_gives_back_what_is_held_and_keeps_the_delivery_count() -> None:
    cluster = Cluster()
    cluster.produce()
    cluster.fetch()
    cluster.close(ANN)
    assert cluster.leader.led.take_changed() == ()  # as in Kafka, releasing alone ends no wait
    assert cluster.fetch(BOB) == {0: [(0, 9, 2)]}


def test_a_closed_connection_does_the_same_for_the_sessions_that_it_opened() -> None:
    cluster = Cluster()
    cluster.produce()
    cluster.fetch()
    cluster.begin(connection_id=2)  # goes on over another connection
    assert cluster.leader.connection_closed(2, cluster.now_ms) == ()
    assert cluster.leader.connection_closed(1, cluster.now_ms) == (SharePartitionKey("g", cluster.tip()),)
    assert cluster.leader.sessions.get(ANN) is None
    assert cluster.fetch(BOB) == {0: [(0, 9, 2)]}


def test_opening_anew_gives_nothing_back() -> None:
    cluster = Cluster()
    cluster.produce()
    cluster.fetch()
    cluster.begin(epoch=0, listed=[0])
    assert cluster.ack(ANN, 0, acked(0, 9, ACCEPT)) is None


def test_a_fetch_of_a_session_that_is_gone_acquires_nothing() -> None:
    cluster = Cluster()
    cluster.produce()
    fetching = cluster.begin()
    cluster.leader.connection_closed(1, cluster.now_ms)
    assert at_once(cluster.leader.has_enough(fetching, cluster.now_ms))
    assert at_once(cluster.leader.collect(fetching, cluster.now_ms)) == {}
    assert cluster.fetch(BOB) == {0: [(0, 9, 1)]}


def test_a_partition_only_acknowledged_is_forgotten_again() -> None:
    cluster = Cluster(2)
    cluster.produce(partition=0)
    cluster.fetch()
    fetching = cluster.begin(acks={0: [acked(0, 4, ACCEPT)]}, forgotten=[0])
    assert cluster.outcomes == {cluster.tip(0): None}
    assert fetching.order == (cluster.tip(1),)
    assert cluster.begin().order == (cluster.tip(1),)


def test_what_a_response_names() -> None:
    cluster = Cluster(2)
    fetching = cluster.begin()
    assert [fetching.must_tell(tip, FetchedPartition()) for tip in fetching.order] == [True, True]
    fetching = cluster.begin()
    assert [fetching.must_tell(tip, FetchedPartition()) for tip in fetching.order] == [False, False]
    failed = FetchedPartition(error=UnknownServerError())
    assert cluster.begin().must_tell(cluster.tip(0), failed)
    assert cluster.begin().must_tell(cluster.tip(0), FetchedPartition()), "the error has gone"
    assert not cluster.begin().must_tell(cluster.tip(0), FetchedPartition())


# ------------------------------------------------------------------------------- bytes and partitions


def test_max_bytes_is_divided_and_the_first_batch_comes_in_any_case() -> None:
    cluster = Cluster(2)
    for partition in (0, 1):
        cluster.produce(4, partition)
    cluster.begin()
    assert cluster.fetch(limits=small(4 * SIZE)) == {0: [(0, 19, 1)], 1: [(0, 19, 1)]}
    assert cluster.fetch(limits=small(10)) == {1: [(20, 29, 1)]}
    assert cluster.fetch(limits=small(0)) == {}


def test_no_partition_starves_when_the_first_fills_the_response() -> None:
    cluster = Cluster(3)
    for partition in range(3):
        cluster.produce(10, partition)
    cluster.begin()
    first_served = [next(iter(cluster.fetch(limits=small(10)))) for _ in range(6)]
    assert first_served == [1, 0, 2, 0, 1, 2]


def test_max_records_is_for_all_partitions_together() -> None:
    cluster = Cluster(2)
    for partition in (0, 1):
        cluster.produce(3, partition)
    assert cluster.fetch(limits=small(max_records=15)) == {0: [(0, 19, 1)]}
    strict = ShareFetchLimits(1, 1_000_000, 25, 500, AcquireMode.RECORD_LIMIT)
    assert cluster.fetch(limits=strict) == {1: [(0, 24, 1)]}
    assert cluster.fetch(limits=strict) == {0: [(20, 29, 1)], 1: [(25, 29, 1)]}


def test_the_bytes_are_the_batches_from_the_first_acquired_offset_to_the_last() -> None:
    cluster = Cluster()
    cluster.produce(4)
    cluster.fetch()
    cluster.ack(ANN, 0, acked(12, 14, RELEASE), acked(23, 24, RELEASE))
    fetched = at_once(cluster.leader.collect(cluster.begin(), cluster.now_ms))[cluster.tip()]
    assert [batch.header.base_offset for batch in iter_batches(fetched.acquired.records)] == [10, 20]
    assert acquired({cluster.tip(): fetched}) == {0: [(12, 14, 2), (23, 24, 2)]}


def test_min_bytes_are_waited_for() -> None:
    cluster = Cluster(2)
    cluster.produce(partition=0)
    fetching = cluster.begin(limits=ShareFetchLimits(2 * SIZE, 1_000_000, 500, 500))
    assert not at_once(cluster.leader.has_enough(fetching, cluster.now_ms))
    cluster.produce(partition=1)
    assert at_once(cluster.leader.has_enough(fetching, cluster.now_ms))


def test_without_min_bytes_or_partitions_there_is_nothing_to_wait_for() -> None:
    cluster = Cluster()
    assert at_once(cluster.leader.has_enough(cluster.begin(limits=ShareFetchLimits(0, 1_000, 1, 1)), cluster.now_ms))
    assert at_once(cluster.leader.has_enough(cluster.begin(forgotten=[0]), cluster.now_ms))


def test_at_the_in_flight_limit_a_fetch_waits_until_something_is_done() -> None:
    cluster = Cluster(config=ShareGroupConfig(auto_offset_reset="earliest", partition_max_record_locks=100))
    cluster.produce(20)
    assert cluster.fetch() == {0: [(0, 99, 1)]}
    fetching = cluster.begin(BOB)
    assert not at_once(cluster.leader.has_enough(fetching, cluster.now_ms))
    cluster.ack(ANN, 0, acked(0, 9, ACCEPT))
    assert cluster.leader.led.take_changed()
    assert at_once(cluster.leader.has_enough(fetching, cluster.now_ms))


def test_a_renewing_fetch_reads_nothing() -> None:
    cluster = Cluster()
    cluster.produce(2)
    cluster.fetch(limits=small(max_records=10))
    assert cluster.begin(acks={0: [acked(0, 9, RENEW)]}, renew=True).order == ()
    assert cluster.outcomes == {cluster.tip(): None}


# -------------------------------------------------------------------------------- start offset and log


@pytest.mark.parametrize(
    ("reset", "start"), [("earliest", 0), ("latest", 30), ("by_duration:PT0S", 30), ("by_duration:PT1H", 0)]
)
def test_where_a_group_begins(reset: str, start: int) -> None:
    cluster = Cluster(config=ShareGroupConfig(auto_offset_reset=reset))
    for minutes in (30, 20, 10):
        batch = build_batch([NewRecord(b"", timestamp_ms=WALL_MS - minutes * 60_000) for _ in range(10)])
        cluster.logs.get(cluster.topic_id, 0).append(batch, 0, WALL_MS)
    cluster.begin()
    at_once(cluster.leader.has_enough(cluster.begin(), cluster.now_ms))
    cluster.produce()
    assert cluster.fetch()[0][0][0] == start
    assert cluster.start_offset() == -1, "nothing is persisted before the first change"
    cluster.ack(ANN, 0, acked(start, start, ACCEPT))
    assert cluster.start_offset() == start


def test_a_duration_finds_its_place_in_the_middle() -> None:
    cluster = Cluster(config=ShareGroupConfig(auto_offset_reset="by_duration:PT15M"))
    for minutes in (30, 20, 10):
        batch = build_batch([NewRecord(b"", timestamp_ms=WALL_MS - minutes * 60_000) for _ in range(10)])
        cluster.logs.get(cluster.topic_id, 0).append(batch, 0, WALL_MS)
    assert cluster.fetch() == {0: [(20, 29, 1)]}


def test_deleted_records_are_not_acquired_and_their_holder_is_not_troubled() -> None:
    cluster = Cluster()
    cluster.produce(2)
    cluster.fetch(limits=small(max_records=10))
    cluster.ack(ANN, 0, acked(0, 4, RELEASE))
    cluster.logs.get(cluster.topic_id, 0).delete_records(7)
    assert cluster.fetch() == {}  # as in Kafka, the fetch that finds out
    assert cluster.fetch() == {0: [(10, 19, 1)]}
    assert cluster.ack(ANN, 0, acked(5, 9, ACCEPT)) is None


def test_everything_may_be_deleted() -> None:
    cluster = Cluster()
    cluster.produce(2)
    cluster.fetch()
    cluster.logs.get(cluster.topic_id, 0).delete_records(-1)
    assert cluster.fetch() == {}
    cluster.produce()
    assert cluster.fetch() == {0: [(20, 29, 1)]}


def test_what_compaction_took_before_the_first_batch_is_archived() -> None:
    cluster = Cluster()
    later = build_batch([NewRecord(b"v") for _ in range(5)], 20)
    cluster.logs.get(cluster.topic_id, 0).append_as_is(later)
    assert cluster.fetch() == {0: [(20, 24, 1)]}
    # Kafka writes nothing for it. The next write counts what is gone, with the start offset before it.
    summary = cluster.state.summary("g", cluster.topic_id, 0)
    assert summary is not None
    assert summary[2:] == (-1, -1)
    assert cluster.ack(ANN, 0, acked(20, 23, ACCEPT)) is None
    summary = cluster.state.summary("g", cluster.topic_id, 0)
    assert summary is not None
    assert summary[2:] == (0, 24)
    assert cluster.ack(ANN, 0, acked(24, 24, ACCEPT)) is None
    assert cluster.start_offset() == 24


def test_records_archived_with_the_expiry_of_their_locks_move_the_start_with_the_next_write() -> None:
    cluster = Cluster()
    cluster.config = evolve(cluster.config, delivery_count_limit=2)
    cluster.produce()
    for _ in range(2):
        cluster.fetch()
        cluster.now_ms += cluster.config.record_lock_duration_ms
        cluster.leader.expire(cluster.now_ms)
    summary = cluster.state.summary("g", cluster.topic_id, 0)
    assert summary is not None
    assert summary[2:] == (0, 10)
    cluster.produce()
    assert cluster.fetch() == {0: [(10, 19, 1)]}
    assert cluster.ack(ANN, 0, acked(10, 10, RELEASE)) is None
    assert cluster.start_offset() == 10


# ------------------------------------------------------------------------------------- locks and time


def test_locks_end_at_their_deadline() -> None:
    cluster = Cluster()
    cluster.produce()
    cluster.fetch()
    deadline_ms = cluster.now_ms + cluster.config.record_lock_duration_ms
    assert cluster.leader.led.next_deadline_ms() == deadline_ms
    assert cluster.leader.expire(deadline_ms - 1) == ()
    assert cluster.leader.expire(deadline_ms) == (SharePartitionKey("g", cluster.tip()),)
    assert cluster.leader.led.next_deadline_ms() is None
    cluster.now_ms = deadline_ms
    assert isinstance(cluster.ack(ANN, 0, acked(0, 9, ACCEPT)), InvalidRecordStateError)


def test_a_late_acknowledgement_is_refused_also_before_the_sweep() -> None:
    cluster = Cluster()
    cluster.produce()
    cluster.fetch()
    cluster.now_ms += cluster.config.record_lock_duration_ms
    assert isinstance(cluster.ack(ANN, 0, acked(0, 9, ACCEPT)), InvalidRecordStateError)
    assert cluster.leader.led.take_changed(), "the sweep that came with it is told"


def test_partitions_are_acknowledged_independently() -> None:
    cluster = Cluster(2)
    for partition in (0, 1):
        cluster.produce(partition=partition)
    cluster.fetch()
    outcomes = cluster.acknowledge(
        ANN, {cluster.tip(0): (acked(0, 99, ACCEPT),), cluster.tip(1): (acked(0, 9, ACCEPT),)}
    )
    assert isinstance(outcomes[cluster.tip(0)], InvalidRequestError)
    assert outcomes[cluster.tip(1)] is None


def test_two_groups_do_not_know_of_each_other() -> None:
    cluster = Cluster()
    cluster.state.initialize("h", cluster.topic_id, 0, 0)
    cluster.produce()
    assert cluster.fetch() == {0: [(0, 9, 1)]}
    assert cluster.fetch(ShareSessionKey("h", "ann")) == {0: [(0, 9, 1)]}


# ----------------------------------------------------------------------------------- errors, leadership


def test_errors_of_partitions() -> None:
    cluster = Cluster(3)
    cluster.move(1, 1)
    cluster.state.delete("g", cluster.topic_id, 2)
    fetching = cluster.begin(listed=[0, 1, 2, 9], epoch=0)
    fetched = at_once(cluster.leader.collect(fetching, cluster.now_ms))
    errors = {tip.partition: type(each.error) for tip, each in fetched.items()}
    assert errors == {
        0: type(None),
        1: NotLeaderOrFollowerError,
        2: UnknownServerError,
        9: UnknownTopicOrPartitionError,
    }


def test_what_is_waited_for_and_what_is_not() -> None:
    cluster = Cluster(3)
    cluster.state.delete("g", cluster.topic_id, 2)
    assert not at_once(cluster.leader.has_enough(cluster.begin(listed=[0, 9], epoch=0), cluster.now_ms))
    assert not at_once(cluster.leader.has_enough(cluster.begin(listed=[2], epoch=0), cluster.now_ms)), (
        "not initialised yet"
    )
    assert at_once(cluster.leader.has_enough(cluster.begin(listed=[9], epoch=0), cluster.now_ms))
    fetching = cluster.begin(listed=[0, 1], epoch=0)
    assert not at_once(cluster.leader.has_enough(fetching, cluster.now_ms))
    cluster.move(1, 1)
    assert at_once(cluster.leader.has_enough(fetching, cluster.now_ms))


def test_a_deleted_topic_is_unknown_and_its_locks_are_dropped() -> None:
    cluster = Cluster()
    cluster.produce()
    cluster.fetch()
    cluster.metadata.delete_topic("t")
    assert isinstance(cluster.ack(ANN, 0, acked(0, 9, ACCEPT)), UnknownTopicOrPartitionError)
    assert cluster.leader.led.next_deadline_ms() is None


def test_acknowledging_what_was_never_fetched_here() -> None:
    assert isinstance(Cluster().ack(ANN, 0, acked(0, 9, ACCEPT)), UnknownTopicOrPartitionError)


def test_the_next_leader_goes_on_from_what_was_persisted() -> None:
    cluster = Cluster()
    cluster.produce(3)
    cluster.fetch()
    cluster.ack(ANN, 0, acked(0, 4, ACCEPT), acked(10, 12, RELEASE), acked(20, 29, ACCEPT))
    cluster.move(0, 1)
    assert isinstance(cluster.ack(ANN, 0, acked(5, 9, ACCEPT)), NotLeaderOrFollowerError)
    fetching = cluster.begin(BOB, node_id=1)
    assert acquired(at_once(cluster.leaders[1].collect(fetching, cluster.now_ms))) == {
        0: [(5, 9, 1), (10, 12, 2), (13, 19, 1)]
    }


def test_a_leader_that_lost_and_won_reads_the_state_again() -> None:
    cluster = Cluster()
    cluster.produce()
    cluster.fetch()
    cluster.move(0, 1)
    at_once(cluster.leaders[1].collect(cluster.begin(BOB, node_id=1), cluster.now_ms))
    cluster.acknowledge(BOB, {cluster.tip(): (acked(0, 9, ACCEPT),)}, 1)
    cluster.move(0, 0)
    assert isinstance(cluster.ack(ANN, 0, acked(0, 9, RELEASE)), UnknownTopicOrPartitionError)
    assert cluster.fetch() == {}


def test_a_leader_that_does_not_know_that_it_is_replaced_is_fenced() -> None:
    cluster = Cluster()
    cluster.produce()
    cluster.fetch()
    # Another leader, of a newer epoch, has read the state; this one's metadata is behind.
    cluster.state.read("g", cluster.topic_id, 0, 99)
    assert isinstance(cluster.ack(ANN, 0, acked(0, 9, ACCEPT)), NotLeaderOrFollowerError)
    assert cluster.start_offset() == -1


def test_lost_leadership_forgets_and_tells_the_waiting() -> None:
    cluster = Cluster()
    cluster.produce()
    cluster.fetch()
    told: list[tuple[SharePartitionKey, ...]] = []
    cluster.metadata.on_change(lambda _, delta: told.append(cluster.leader.metadata_changed(delta)))
    cluster.move(0, 1)
    assert told == [(SharePartitionKey("g", cluster.tip()),)]
    assert cluster.leader.led.next_deadline_ms() is None


def test_partitions_that_are_lost_together_are_told_in_their_order() -> None:
    cluster = Cluster(partitions=3)
    for partition in (2, 0, 1):
        cluster.produce(partition=partition)
    cluster.fetch()
    told: list[tuple[SharePartitionKey, ...]] = []
    cluster.metadata.on_change(lambda _, delta: told.append(cluster.leader.metadata_changed(delta)))
    cluster.metadata.create_partitions("t", 4)
    cluster.metadata.alter_configs(TOPIC_RESOURCE, "t", {"retention.ms": "1"})
    cluster.metadata.delete_topic("t")
    assert told == [(), (), tuple(SharePartitionKey("g", cluster.tip(partition)) for partition in range(3))]


@pytest.mark.parametrize("closes_first", [False, True])
def test_a_state_that_was_initialised_again_is_read_when_the_last_connection_is_gone(*, closes_first: bool) -> None:
    cluster = Cluster()
    cluster.produce(2)
    cluster.fetch()
    if closes_first:
        cluster.close(ANN)
    cluster.leader.connection_closed(1, cluster.now_ms)
    cluster.epochs.clear()
    cluster.coordinator.initialize(("g", cluster.topic_id, 0), 1, 15)
    assert cluster.fetch() == {0: [(15, 19, 1)]}
