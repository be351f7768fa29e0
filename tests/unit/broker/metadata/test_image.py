"""Images: an old one stays as it was, whatever is changed later."""

import random

from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.metadata.topics import BrokerEndpoint
from kafka_groups.protocol.messages.config_resources import TOPIC_RESOURCE
from kafka_groups.types import TopicPartition


def test_an_old_image_stays_as_it_was() -> None:
    metadata = ClusterMetadata(random.Random(1))
    for node_id in (1, 2):
        metadata.register_broker(BrokerEndpoint(node_id, "host", 9092))
    kept = metadata.create_topic("kept", 2, configs={"retention.ms": "1"})
    gone = metadata.create_topic("go.ne")
    old = metadata.image

    metadata.move_leader(TopicPartition("kept", 0), 2)
    metadata.create_partitions("kept", 3)
    metadata.alter_configs(TOPIC_RESOURCE, "kept", {"retention.ms": "2"})
    metadata.delete_topic("go.ne")
    metadata.create_topic("later")
    metadata.unregister_broker(2)

    assert old.topics() == (kept, gone)
    assert (old.topic("kept"), old.topic_by_id(kept.topic_id)) == (kept, kept)
    assert (old.topic("go.ne"), old.topic_by_id(gone.topic_id), old.topic("later")) == (gone, gone, None)
    assert old.colliding_topic("go_ne") == "go.ne"
    assert old.partition(kept.topic_id, 1) is kept.partitions[1]
    assert old.partition(kept.topic_id, 2) is None
    assert old.configs.overrides(TOPIC_RESOURCE, "kept") == {"retention.ms": "1"}
    assert sorted(old.brokers) == [1, 2]

    new = metadata.image
    assert [topic.name for topic in new.topics()] == ["kept", "later"]
    assert (new.topic("go.ne"), new.topic_by_id(gone.topic_id), new.colliding_topic("go_ne")) == (None, None, None)
    assert new.configs.overrides(TOPIC_RESOURCE, "kept") == {"retention.ms": "2"}
    assert (sorted(new.brokers), new.node_ids) == ([1], (1, 2))
    assert new.version == old.version + 6


def test_a_change_shares_all_other_topics_with_the_image_before() -> None:
    metadata = ClusterMetadata(random.Random(1))
    metadata.register_broker(BrokerEndpoint(1, "host", 9092))
    topics = [metadata.create_topic(f"t{number}", 3) for number in range(20)]
    metadata.move_leader(TopicPartition("t0", 1), 1)
    assert all(metadata.topic(topic.name) is topic for topic in topics[1:])
    moved = metadata.topic("t0")
    assert moved is not None
    assert moved.partitions[0] is topics[0].partitions[0]
    assert moved.partitions[2] is topics[0].partitions[2]
