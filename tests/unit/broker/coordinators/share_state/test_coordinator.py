"""The share coordinator over real logs: its topic, loading, and how long the logs get."""

import random

import pytest

from kafka_groups.broker.coordinators.share_state.coordinator import ShareCoordinator
from kafka_groups.broker.coordinators.share_state.shard import StateWrite
from kafka_groups.broker.coordinators.share_state.state import StateKey
from kafka_groups.broker.log.store import LogStore
from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.metadata.placement import SHARE_STATE_TOPIC
from kafka_groups.broker.metadata.topics import BrokerEndpoint
from kafka_groups.config.broker import broker_settings
from kafka_groups.errors import CoordinatorNotAvailableError, InvalidRequestError
from kafka_groups.protocol.messages.share_state import StateBatch
from kafka_groups.types import random_uuid
from tests.support.share_state import share_coordinator

TOPIC = random_uuid(random.Random(3))


def key(partition: int) -> StateKey:
    return ("g", TOPIC, partition)


def accepted(first: int, last: int) -> StateWrite:
    batch = StateBatch(first_offset=first, last_offset=last, delivery_state=2, delivery_count=1)
    return StateWrite(0, 0, 0, last + 1, (batch,))


def metadata_of(brokers: int) -> ClusterMetadata:
    metadata = ClusterMetadata(random.Random(1))
    for node_id in range(brokers):
        metadata.register_broker(BrokerEndpoint(node_id, "host", 9092 + node_id))
    return metadata


@pytest.mark.parametrize(("brokers", "replicas"), [(1, 1), (2, 2), (5, 3)])
def test_the_first_use_creates_the_topic(brokers: int, replicas: int) -> None:
    metadata = metadata_of(brokers)
    coordinator = share_coordinator(metadata)
    assert coordinator.state(key(0)) is None
    assert metadata.topic(SHARE_STATE_TOPIC) is None
    coordinator.initialize(key(0), 0, -1)
    topic = metadata.topic(SHARE_STATE_TOPIC)
    assert topic is not None
    assert topic.is_internal
    assert (topic.num_partitions, len(topic.partitions[0].replicas)) == (50, replicas)


def test_without_a_broker_there_is_no_topic() -> None:
    with pytest.raises(CoordinatorNotAvailableError):
        share_coordinator(metadata_of(0)).initialize(key(0), 0, -1)


def test_what_was_written_is_there_after_loading() -> None:
    metadata, logs = metadata_of(1), LogStore()
    before = share_coordinator(metadata, logs)
    for partition in range(20):
        before.initialize(key(partition), 0, 5)
        before.write(key(partition), accepted(5, 5 + partition))
    before.delete(key(3))
    after = share_coordinator(metadata, logs)
    assert after.state(key(3)) is None
    for partition in (0, 19):
        state = after.read(key(partition), 0)
        [batch] = state.batches
        assert (state.start_offset, batch.first_offset, batch.last_offset) == (5, 5, 5 + partition)


def test_a_topic_that_was_deleted_and_made_anew_has_no_states() -> None:
    metadata = metadata_of(1)
    coordinator = share_coordinator(metadata)
    coordinator.initialize(key(0), 0, 5)
    metadata.delete_topic(SHARE_STATE_TOPIC)
    with pytest.raises(InvalidRequestError, match="has no state"):
        coordinator.read(key(0), 0)


def test_logs_stay_short_however_many_changes_there_are() -> None:
    metadata, logs = metadata_of(1), LogStore()
    settings = broker_settings({"share.coordinator.state.topic.num.partitions": 1})
    coordinator = share_coordinator(metadata, logs, settings)
    for partition in range(3):
        coordinator.initialize(key(partition), 0, 0)
    topic = metadata.topic(SHARE_STATE_TOPIC)
    assert topic is not None
    log = logs.get(topic.topic_id, 0)
    for offset in range(20_000):
        coordinator.write(key(0), accepted(offset, offset))
        assert log.end_offset - log.log_start_offset <= 3_010
    assert log.size_bytes < 500_000
    loaded = share_coordinator(metadata, logs, settings)
    assert loaded.read(key(0), 0).batches == coordinator.read(key(0), 0).batches


def test_questions_about_states_that_do_not_exist_are_not_remembered() -> None:
    coordinator: ShareCoordinator = share_coordinator()
    for partition in range(100):
        assert coordinator.state(key(partition)) is None
        with pytest.raises(InvalidRequestError):
            coordinator.read(key(partition), 0)
    assert coordinator._indexes == {}
    coordinator.initialize(key(0), 0, 0)
    coordinator.delete(key(0))
    assert coordinator._indexes == {}
