"""The records of groups in the logs of `__consumer_offsets`: where they stand, and how long the logs get."""

import random

from kafka_groups.broker.coordinators.groups.group_logs import GroupLogs
from kafka_groups.broker.coordinators.groups.records import (
    GroupEpoch,
    GroupRecord,
    ShareGroupMetadata,
    ShareGroupTargetAssignmentMetadata,
)
from kafka_groups.broker.coordinators.internal_topic import internal_topics
from kafka_groups.broker.log.store import LogStore
from kafka_groups.broker.metadata.placement import GROUP_TOPIC, partition_of_key
from kafka_groups.config.broker import BrokerSettings, broker_settings
from kafka_groups.types import TopicPartition
from tests.support.share_state import WALL_MS, cluster_of_one

ONE_PARTITION = broker_settings({"offsets.topic.num.partitions": 1})


class World:
    def __init__(self, settings: BrokerSettings | None = None) -> None:
        self.metadata, self.store = cluster_of_one(), LogStore()
        self.topic = internal_topics(settings or broker_settings(), self.metadata)[GROUP_TOPIC]
        self.logs = GroupLogs(self.topic, self.store, lambda: WALL_MS)

    def log_of(self, group_id: str) -> list[int]:
        """The leader epochs of the batches with a group's records."""
        topic = self.topic.ensured()
        index = partition_of_key(group_id, topic.num_partitions)
        return [batch.leader_epoch for batch in self.store.get(topic.topic_id, index).read(0, 1_000_000).batches]


def epoch(group_id: str, number: int) -> GroupRecord:
    return ShareGroupMetadata(group_id, GroupEpoch(number, 0))


def test_nothing_is_created_before_the_first_record() -> None:
    world = World()
    assert list(world.logs) == []
    world.logs.append([])
    assert world.topic.known() is None
    world.logs.append([epoch("g", 1)])
    topic = world.topic.known()
    assert topic is not None
    assert topic.num_partitions == 50
    assert topic.is_internal


def test_each_group_has_its_partition_and_each_operation_its_batch() -> None:
    world = World()
    expired = [epoch("g", 1), ShareGroupTargetAssignmentMetadata("g", 1), epoch("h", 5)]
    world.logs.append(expired)
    world.logs.append([epoch("g", 2)])
    assert [len(world.log_of(group_id)) for group_id in ("g", "h")] == [2, 1]
    assert sorted(world.logs, key=repr) == sorted([*expired, epoch("g", 2)], key=repr)


def test_batches_have_the_epoch_of_the_leader() -> None:
    world = World()
    world.logs.append([epoch("g", 1)])
    index = partition_of_key("g", 50)
    world.metadata.move_leader(TopicPartition(GROUP_TOPIC, index), 0)
    world.logs.append([epoch("g", 2)])
    assert world.log_of("g") == [0, 1]


def test_a_log_is_compacted_and_nothing_that_is_needed_is_lost() -> None:
    world = World(ONE_PARTITION)
    rng = random.Random(1)
    last: dict[str, GroupRecord] = {}
    for number in range(20_000):
        group_id = f"g{rng.randrange(300)}"
        record = ShareGroupMetadata(group_id, None) if rng.random() < 0.2 else epoch(group_id, number)
        world.logs.append([record])
        last[group_id] = record
        if number % 5_000 == 0:
            world.log_of("g")  # as a reader does: records become bytes
    topic = world.topic.ensured()
    log = world.store.internal(topic.topic_id, 0, world.logs._codec)
    assert log.record_count <= 1_000 + 2 * 300
    assert log.end_offset == 20_000
    found = {record.group_id: record for record in world.logs}
    assert {name: record for name, record in found.items() if record.value is not None} == {
        name: record for name, record in last.items() if record.value is not None
    }
