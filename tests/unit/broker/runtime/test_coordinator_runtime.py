"""Shards on brokers: leading, loading, moving, committing late, parked requests; how long the logs get."""

import random
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from kafka_groups.broker.coordinators.result import Reply, Result
from kafka_groups.broker.coordinators.share_state.share_partition_state import StateKey
from kafka_groups.broker.log.store import LogStore
from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.metadata.placement import SHARE_STATE_TOPIC
from kafka_groups.broker.runtime.outcome import PendingOutcome
from kafka_groups.broker.runtime.scheduling.full_collections import FULL_COLLECTIONS
from kafka_groups.broker.runtime.share_state.share_coordinator import share_state_topic
from kafka_groups.config.cluster.broker import broker_settings
from kafka_groups.errors import (
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    GroupIdNotFoundError,
    InvalidRequestError,
    NotCoordinatorError,
)
from kafka_groups.protocol.messages.share_state import StateBatch
from kafka_groups.protocol.messages.write_share_group_state import WriteShareStatePartition
from kafka_groups.types import random_uuid
from tests.support.broker.share_state import ShareStates, change_of, cluster_of
from tests.unit.broker.runtime.scenes import (
    TOPIC,
    Brokers,
    Number,
    Numbers,
    SlowLog,
    Wish,
    error_of,
    error_of_or_none,
    is_pending,
)

STATE_TOPIC_ID = random_uuid(random.Random(3))


class TestLeading:
    def test_only_the_leader_answers(self) -> None:
        brokers = Brokers()
        assert brokers.put("a", 1).now() is None
        assert brokers.get("a").now() == 1
        assert error_of(brokers.get("a", 1)) is NotCoordinatorError

    def test_without_the_topic_nobody_answers(self) -> None:
        brokers = Brokers()
        brokers.metadata.delete_topic(TOPIC)
        assert brokers.runtimes[0].index_of("a") == -1
        assert error_of(brokers.get("a")) is NotCoordinatorError

    def test_a_topic_that_was_made_anew_begins_empty(self) -> None:
        brokers = Brokers(1)
        brokers.put("a", 1)
        brokers.metadata.delete_topic(TOPIC)
        brokers.logs = {0: SlowLog(), 1: SlowLog()}
        brokers.metadata.create_topic(TOPIC, 2)
        assert error_of(brokers.get("a")) is GroupIdNotFoundError

    def test_records_have_the_epoch_of_the_leader(self) -> None:
        brokers = Brokers()
        brokers.put("a", 1)
        epoch = brokers.metadata.image.topics()[0].partitions[0].leader_epoch
        brokers.move(0, 1)
        brokers.turns.run()
        brokers.put("a", 2, 1)
        batches = brokers.logs[0].read(0, 1_000_000).batches
        assert [batch.leader_epoch for batch in batches] == [epoch, epoch + 1]

    def test_a_refused_operation_changes_nothing(self) -> None:
        brokers = Brokers()
        assert error_of(brokers.get("a")) is GroupIdNotFoundError
        assert brokers.logs[0].end_offset == 0


def are_postponed() -> bool:
    return FULL_COLLECTIONS.is_postponed


class TestLoading:
    def brokers_with(self, records: int) -> Brokers:
        brokers = Brokers()
        for number in range(records):
            brokers.put(f"n{number}", number)
        brokers.move(0, 1)
        return brokers

    def test_until_all_records_are_read_the_answer_is_that_they_are_being_read(self) -> None:
        brokers = self.brokers_with(2_000)
        assert error_of(brokers.get("n0", 0)) is NotCoordinatorError
        turns = 0
        while error_of_or_none(brokers.get("n0", 1)) is CoordinatorLoadInProgressError:
            with pytest.raises(CoordinatorLoadInProgressError):
                brokers.runtimes[1].shards()
            assert brokers.turns.turn()
            turns += 1
        assert turns > 2
        assert brokers.get("n1999", 1).now() == 1_999
        assert len(brokers.runtimes[1].shards()) == 1

    def test_other_shards_answer_meanwhile(self) -> None:
        brokers = self.brokers_with(2_000)
        brokers.move(1, 1)
        outcome: PendingOutcome[Any] = PendingOutcome()
        brokers.runtimes[1].run(1, lambda shard: shard.put("other", 1), outcome)
        assert outcome.now() is None
        assert error_of(brokers.get("n0", 1)) is CoordinatorLoadInProgressError

    def test_a_partition_that_moves_while_it_is_loaded_is_loaded_by_the_next(self) -> None:
        brokers = self.brokers_with(2_000)
        brokers.turns.turn()
        brokers.move(0, 0)
        assert error_of(brokers.get("n0", 1)) is NotCoordinatorError
        brokers.turns.run()
        assert error_of(brokers.get("n0", 1)) is NotCoordinatorError
        assert brokers.get("n1999", 0).now() == 1_999

    @pytest.mark.parametrize("end", ["loaded", "moved", "stopped", "killed"])
    def test_full_collections_are_postponed_while_it_takes(self, end: str) -> None:
        brokers = self.brokers_with(2_000)
        brokers.turns.turn()
        brokers.turns.turn()
        assert are_postponed()
        if end == "moved":
            brokers.move(0, 0)
        elif end != "loaded":
            brokers.runtimes[1].stop(answers=end == "stopped")
            assert not are_postponed(), "there may be no more turns"
        brokers.turns.run()
        assert not are_postponed()

    def test_what_was_outstanding_is_performed_by_the_next(self) -> None:
        brokers = Brokers()
        brokers.put("open", -1)
        brokers.put("done", 1)
        brokers.move(0, 1)
        brokers.turns.run()
        [(effect, _address)] = brokers.performed
        assert effect == Wish("open")

    def test_a_large_state_begins_with_a_part_in_each_turn(self) -> None:
        brokers = self.brokers_with(0)
        for number in range(10):
            brokers.put(f"n{number}", -number, 1)
        brokers.move(0, 0)
        for _ in range(5):
            assert brokers.turns.turn()
            assert error_of(brokers.get("n9")) is CoordinatorLoadInProgressError
            assert brokers.performed == []
        brokers.turns.run()
        assert brokers.get("n9").now() == -9
        assert [effect for effect, _ in brokers.performed] == [Wish(f"n{number}") for number in range(1, 10)]

    def test_a_state_that_has_begun_in_part_begins_anew_when_topics_are_deleted(self) -> None:
        brokers = self.brokers_with(0)
        for number in range(10):
            brokers.put(f"n{number}", -number, 1)
        brokers.move(0, 0)
        brokers.turns.turn()
        brokers.turns.turn()
        begun = brokers.runtimes[0]._led[0].shard
        begun.values["n1"] = 1
        brokers.runtimes[0].topics_deleted()
        brokers.turns.run()
        assert [effect for effect, _ in brokers.performed] == [Wish(f"n{number}") for number in range(2, 10)]

    def test_a_log_that_refuses_what_a_beginning_state_writes_is_loaded_again(self) -> None:
        brokers = self.brokers_with(0)
        brokers.put("forgotten", 0, 1)
        brokers.logs[0].refuses = True
        brokers.move(0, 0)
        brokers.turns.turn()
        assert error_of(brokers.get("forgotten")) is CoordinatorLoadInProgressError
        brokers.logs[0].refuses = False
        brokers.turns.run()
        assert error_of(brokers.get("forgotten")) is GroupIdNotFoundError


class TestCommitting:
    def test_nothing_is_answered_or_performed_before_the_records_are_committed(self) -> None:
        brokers = Brokers()
        log = brokers.logs[0]
        log.commits_at_once = False
        wished = brokers.run(lambda shard: Result("done", (Number("a", 1),), (Wish("now"),)))
        read = brokers.get("a")
        assert is_pending(wished)
        assert is_pending(read)
        assert brokers.performed == []
        log.committed = 1
        brokers.runtimes[0].log_committed(0)
        assert (wished.now(), read.now()) == ("done", 1)
        assert [effect for effect, _ in brokers.performed] == [Wish("now")]

    def test_readers_hear_of_records_when_they_are_committed(self) -> None:
        brokers = Brokers()
        brokers.put("a", 1)
        assert [partition.partition for partition in brokers.grown] == [0]
        brokers.get("a").now()
        log = brokers.logs[0]
        log.commits_at_once, log.committed = False, 1
        brokers.put("b", 2)
        assert len(brokers.grown) == 1
        assert log.read(0, 1_000_000).batches[-1].last_offset == 0  # nobody reads what may be lost
        log.committed = 2
        brokers.runtimes[0].log_committed(0)
        assert len(brokers.grown) == 2
        assert log.read(0, 1_000_000).batches[-1].last_offset == 1

    def test_a_shard_that_moves_answers_those_who_wait(self) -> None:
        brokers = Brokers()
        brokers.logs[0].commits_at_once = False
        written = brokers.put("a", 1)
        brokers.move(0, 1)
        assert error_of(written) is NotCoordinatorError

    def test_a_dead_broker_answers_nobody(self) -> None:
        brokers = Brokers()
        brokers.logs[0].commits_at_once = False
        written = brokers.put("a", 1)
        parked = brokers.run(lambda shard: Result(None, (), (), 7))
        brokers.runtimes[0].stop(answers=False)
        assert is_pending(written)
        assert is_pending(parked)

    def test_a_shard_whose_log_refuses_records_is_loaded_again(self) -> None:
        brokers = Brokers()
        brokers.put("a", 1)
        parked = brokers.run(lambda shard: Result(None, (), (), 7))
        brokers.logs[0].refuses = True
        assert error_of(brokers.put("a", 2)) is CoordinatorNotAvailableError
        assert error_of(parked) is NotCoordinatorError
        assert error_of(brokers.get("a")) is CoordinatorLoadInProgressError
        brokers.logs[0].refuses = False
        brokers.turns.run()
        assert brokers.get("a").now() == 1


class TestParking:
    def test_a_later_operation_answers(self) -> None:
        brokers = Brokers()
        parked = brokers.run(lambda shard: Result(None, (Number("a", 1),), (), 7))
        assert is_pending(parked)
        brokers.run(lambda shard: Result(None, (), (Reply(7, "there"),)))
        assert parked.now() == "there"

    def test_an_answer_that_nobody_waits_for_is_dropped(self) -> None:
        assert Brokers().run(lambda shard: Result(None, (), (Reply(7, "there"),))).now() is None

    def test_a_shard_that_moves_answers_not_coordinator(self) -> None:
        brokers = Brokers()
        parked = brokers.run(lambda shard: Result(None, (), (), 7))
        brokers.move(0, 1)
        assert error_of(parked) is NotCoordinatorError

    def test_what_comes_back_to_an_earlier_epoch_is_dropped(self) -> None:
        brokers = Brokers()
        brokers.run(lambda shard: Result(None, (), (Wish("now"),)))
        [(_effect, address)] = brokers.performed
        assert brokers.run(lambda shard: shard.put("a", 1), epoch=address.epoch).now() is None
        brokers.move(0, 1)
        brokers.move(0, 0)
        brokers.turns.run()
        assert error_of(brokers.run(lambda shard: shard.put("a", 2), epoch=address.epoch)) is NotCoordinatorError
        assert brokers.get("a").now() == 1


class TestDeadlines:
    def test_the_earliest_of_all_shards_counts_and_expiry_makes_records(self) -> None:
        brokers = Brokers()
        runtime = brokers.runtimes[0]
        assert runtime.next_deadline_ms() is None

        def wake_at(deadline_ms: int) -> Callable[[Numbers], Result[None, Number]]:
            def operation(shard: Numbers) -> Result[None, Number]:
                shard.deadline_ms = deadline_ms
                return Result(None)

            return operation

        runtime.run(0, wake_at(500), lambda _: None)
        runtime.run(1, wake_at(300), lambda _: None)
        assert runtime.next_deadline_ms() == 300
        runtime.expire(400)
        assert brokers.logs[1].end_offset == 1
        assert runtime.next_deadline_ms() == 500
        brokers.move(0, 1)
        assert runtime.next_deadline_ms() is None


# ------------------------------------------------------------------------------------ with states of shares


def key(partition: int) -> StateKey:
    return ("g", STATE_TOPIC_ID, partition)


def accepted(first: int, last: int) -> WriteShareStatePartition:
    batch = StateBatch(first_offset=first, last_offset=last, delivery_state=2, delivery_count=1)
    return change_of(0, 0, 0, last + 1, (batch,))


@pytest.mark.parametrize(("brokers", "replicas"), [(1, 1), (2, 2), (5, 3)])
def test_internal_topics_have_a_replica_on_each_broker_up_to_three(brokers: int, replicas: int) -> None:
    topic = share_state_topic(broker_settings(), cluster_of(brokers)).ensured()
    assert topic.is_internal
    assert (topic.num_partitions, len(topic.partitions[0].replicas)) == (50, replicas)


def test_without_a_broker_there_is_no_topic() -> None:
    with pytest.raises(CoordinatorNotAvailableError):
        share_state_topic(broker_settings(), cluster_of(0)).ensured()


def test_what_was_written_is_there_after_loading() -> None:
    metadata, logs = cluster_of(1), LogStore()
    before = ShareStates(metadata, logs)
    for partition in range(20):
        before.initialize(key(partition), 0, 5)
        before.write(key(partition), accepted(5, 5 + partition))
    before.delete(key(3))
    after = ShareStates(metadata, logs)
    assert after.state(key(3)) is None
    for partition in (0, 19):
        state = after.read(key(partition), 0)
        [batch] = state.batches
        assert (state.start_offset, batch.first_offset, batch.last_offset) == (5, 5, 5 + partition)


def test_logs_of_states_stay_short_however_many_changes_there_are() -> None:
    metadata, logs = cluster_of(1), LogStore()
    settings = broker_settings({"share.coordinator.state.topic.num.partitions": 1})
    states = ShareStates(metadata, logs, settings)
    for partition in range(3):
        states.initialize(key(partition), 0, 0)
    log = logs.get(_topic_id(metadata), 0)
    for offset in range(20_000):
        states.write(key(0), accepted(offset, offset))
        assert log.end_offset - log.log_start_offset <= 3_010
    assert log.size_bytes < 500_000
    loaded = ShareStates(metadata, logs, settings)
    assert loaded.read(key(0), 0).batches == states.read(key(0), 0).batches


def test_a_state_that_does_not_exist_cannot_be_read() -> None:
    with pytest.raises(InvalidRequestError, match="has no state"):
        ShareStates().read(key(0), 0)


def _topic_id(metadata: ClusterMetadata) -> UUID:
    topic = metadata.topic(SHARE_STATE_TOPIC)
    assert topic is not None
    return topic.topic_id
