"""Committed offsets as a part of their own: what they need of groups, and how transactions hold them back."""

import random
from collections.abc import Collection, Iterator, Mapping

import pytest

from kafka_groups.broker.coordinators.groups.offsets.commits import OffsetCommitter
from kafka_groups.broker.coordinators.groups.offsets.retention import RetentionPolicy
from kafka_groups.broker.coordinators.groups.offsets.shard_offsets import UNSTABLE, ShardOffsets, Unstable
from kafka_groups.broker.coordinators.result import Result
from kafka_groups.broker.log.entries import Producer
from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.metadata.topics import BrokerEndpoint
from kafka_groups.errors import IllegalGenerationError
from kafka_groups.protocol.coordinator_records.offsets import OffsetCommit, OffsetCommitValue
from kafka_groups.types import TopicPartition

FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)
PRODUCER = Producer(1, 0)


class AnyGroups:
    """Groups that allow everything, except for commits with the generation 13. All groups that are asked for exist."""

    def __init__(self) -> None:
        self.made: dict[str, None] = {}

    def with_offsets(self) -> Iterator[str]:
        return iter(self.made)

    def ensure_with_offsets(self, group_id: str) -> None:
        self.made[group_id] = None

    def check_commit(
        self,
        group_id: str,
        committer: OffsetCommitter,
        version: int,
        offsets: Mapping[TopicPartition, OffsetCommitValue],
        now_ms: int,
    ) -> None:
        if committer.generation == 13:
            raise IllegalGenerationError

    def check_fetch(self, group_id: str, member_id: str | None, epoch: int) -> None:
        """Allow it."""

    def check_offset_delete(self, group_id: str, topics: Collection[str]) -> None:
        """Allow it."""

    def expiry_base(self, group_id: str, topic: str, committed: OffsetCommitValue) -> int | None:
        return committed.commit_timestamp_ms


class Bench:
    def __init__(self) -> None:
        self.metadata = ClusterMetadata(random.Random(1))
        self.metadata.register_broker(BrokerEndpoint(0, "host", 9092))
        self.metadata.create_topic("t", 2)
        self.groups = AnyGroups()
        self.offsets = ShardOffsets(self.metadata, RetentionPolicy(1_000, 100), self.groups)

    def store(self, result: Result[None, OffsetCommit] | tuple[OffsetCommit, ...]) -> None:
        for record in result.records if isinstance(result, Result) else result:
            self.offsets.replay(record, 0)

    def commit(self, *partitions: TopicPartition, generation: int = -1) -> None:
        offsets = dict.fromkeys(
            partitions, OffsetCommitValue(offset=5, leader_epoch=0, metadata="", commit_timestamp_ms=0)
        )
        self.store(self.offsets.commit("g", OffsetCommitter(generation=generation), 9, offsets, 0))

    def replay_of(self, producer: Producer | None, offset: int, at: int = 0) -> None:
        value = OffsetCommitValue(offset=offset, leader_epoch=0, metadata="", commit_timestamp_ms=0)
        self.offsets.replay(OffsetCommit("g", FIRST.topic, FIRST.partition, value), at, producer)

    def fetch_stable(self) -> tuple[int | Unstable | None, ...]:
        fetched = self.offsets.fetch("g", [FIRST], require_stable=True).response
        return tuple(each.offset if isinstance(each, OffsetCommitValue) else each for each in fetched)

    def committed(self) -> tuple[TopicPartition, ...]:
        return self.offsets.partitions_of("g").response


def test_a_commit_counts_when_its_records_are_replayed() -> None:
    bench = Bench()
    result = bench.offsets.commit(
        "g",
        OffsetCommitter(),
        9,
        {FIRST: OffsetCommitValue(offset=5, leader_epoch=0, metadata="", commit_timestamp_ms=0)},
        0,
    )
    assert bench.offsets.fetch("g", [FIRST]).response == (None,)
    assert not bench.groups.made
    bench.store(result)
    assert bench.offsets.fetch("g", [FIRST, SECOND]).response == (
        OffsetCommitValue(offset=5, leader_epoch=0, metadata="", commit_timestamp_ms=0),
        None,
    )
    assert list(bench.groups.made) == ["g"]


def test_groups_decide_who_may_commit() -> None:
    bench = Bench()
    with pytest.raises(IllegalGenerationError):
        bench.commit(FIRST, generation=13)
    assert bench.committed() == ()


def test_deletions_concern_offsets_that_exist() -> None:
    bench = Bench()
    bench.commit(FIRST)
    assert len(bench.offsets.delete("g", [FIRST, SECOND]).records) == 1
    bench.store(bench.offsets.delete("g", [FIRST, SECOND]))
    assert bench.committed() == ()


@pytest.mark.parametrize("is_loaded_first", [True, False])
def test_offsets_of_deleted_topics_are_forgotten(*, is_loaded_first: bool) -> None:
    bench = Bench()
    bench.commit(FIRST, SECOND)
    assert bench.offsets.metadata_changed() == ()
    bench.metadata.delete_topic("t")
    if is_loaded_first:
        for result in bench.offsets.loaded(0):
            bench.store(result)
    else:
        bench.store(bench.offsets.metadata_changed())
    assert bench.committed() == ()


def test_offsets_expire_with_the_next_look_after_their_retention() -> None:
    bench = Bench()
    assert list(bench.offsets.loaded(0)) == []
    assert bench.offsets.next_deadline_ms() is None
    bench.commit(FIRST)
    assert bench.offsets.next_deadline_ms() == 100
    assert [each.records for each in bench.offsets.expire(100, 999)] == [()]
    [expired] = bench.offsets.expire(200, 1_000)
    assert expired.is_all
    bench.store(expired.records)
    assert bench.committed() == ()


def test_offsets_of_a_transaction_count_when_it_is_committed_and_are_unstable_before() -> None:
    bench = Bench()
    bench.replay_of(PRODUCER, offset=5)
    assert bench.committed() == ()
    assert bench.groups.made
    assert bench.fetch_stable() == (UNSTABLE,)
    bench.offsets.end_transaction(PRODUCER, 1, committed=True)
    assert bench.fetch_stable() == (5,)


def test_aborted_offsets_never_count() -> None:
    bench = Bench()
    bench.replay_of(PRODUCER, offset=5)
    bench.offsets.end_transaction(PRODUCER, 1, committed=False)
    assert bench.fetch_stable() == (None,)


def test_the_later_record_counts_whichever_transaction_ends_first() -> None:
    other = Producer(PRODUCER.producer_id + 1, 0)
    for order in ((PRODUCER, other), (other, PRODUCER)):
        bench = Bench()
        bench.replay_of(PRODUCER, offset=5, at=10)
        bench.replay_of(other, offset=7, at=11)
        for producer in order:
            assert bench.fetch_stable() == (UNSTABLE,)
            bench.offsets.end_transaction(producer, 12, committed=True)
        assert bench.fetch_stable() == (7,)


def test_a_plain_commit_after_a_record_of_a_transaction_stays() -> None:
    bench = Bench()
    bench.replay_of(PRODUCER, offset=5, at=10)
    bench.replay_of(None, offset=9, at=11)
    assert bench.fetch_stable() == (UNSTABLE,)
    bench.offsets.end_transaction(PRODUCER, 12, committed=True)
    assert bench.fetch_stable() == (9,)


def test_what_a_transaction_may_change_does_not_expire_and_is_deleted_with_its_group() -> None:
    bench = Bench()
    bench.commit(FIRST)
    bench.replay_of(PRODUCER, offset=5, at=10)
    bench.offsets.expire(100, 999)
    [expired] = bench.offsets.expire(200, 1_000_000)
    assert (expired.records, expired.is_all) == ((), False)
    bench.store(bench.offsets.delete_all("g"))
    assert bench.fetch_stable() == (None,)
    bench.offsets.end_transaction(PRODUCER, 12, committed=True)
    assert bench.fetch_stable() == (None,)
