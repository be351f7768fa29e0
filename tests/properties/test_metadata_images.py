"""Random changes of the metadata: each delta is the difference of two images, and old images stay as they were."""

import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.metadata.delta import BrokerChanged, GrownTopic, LeaderMoved, MetadataDelta
from kafka_groups.broker.metadata.image import MetadataImage
from kafka_groups.broker.metadata.topics import BrokerEndpoint
from kafka_groups.errors import BrokerError
from kafka_groups.protocol.messages.config_resources import GROUP_RESOURCE, TOPIC_RESOURCE
from kafka_groups.types import TopicPartition

NODES, NAMES = st.integers(0, 3), st.sampled_from(["a", "a.b", "a_b", "c"])
VALUES = st.none() | st.sampled_from(["1", "2"])
CHANGES = st.one_of(
    st.tuples(st.just("register"), NODES, st.integers(1, 2)),
    st.tuples(st.just("unregister"), NODES),
    st.tuples(st.just("create"), NAMES, st.integers(1, 4), st.integers(1, 3)),
    st.tuples(st.just("grow"), NAMES, st.integers(1, 8)),
    st.tuples(st.just("move"), NAMES, st.integers(0, 3), NODES),
    st.tuples(st.just("delete"), NAMES),
    st.tuples(st.just("configure"), st.sampled_from([GROUP_RESOURCE, TOPIC_RESOURCE]), NAMES, VALUES),
)


def change(metadata: ClusterMetadata, kind: str, *given_: Any) -> None:
    match kind, *given_:
        case "register", node_id, port:
            metadata.register_broker(BrokerEndpoint(node_id, "host", port))
        case "unregister", node_id:
            metadata.unregister_broker(node_id)
        case "create", name, partitions, factor:
            metadata.create_topic(name, partitions, factor, {"retention.ms": "1"} if factor > 1 else {})
        case "grow", name, count:
            metadata.create_partitions(name, count)
        case "move", name, partition, node_id:
            metadata.move_leader(TopicPartition(name, partition), node_id)
        case "delete", name:
            metadata.delete_topic(name)
        case "configure", kind_of_resource, name, value:
            metadata.alter_configs(kind_of_resource, name, {"key": value})


def contents(image: MetadataImage) -> dict[str, Any]:
    """All that an image says, as it is now."""
    topics = image.topics()
    resources = [(kind, name) for kind in (GROUP_RESOURCE, TOPIC_RESOURCE) for name in image.configs.names(kind)]
    assert [image.topic(topic.name) for topic in topics] == list(topics)
    assert [image.topic_by_id(topic.topic_id) for topic in topics] == list(topics)
    return {
        "version": image.version,
        "brokers": dict(image.brokers),
        "topics": {topic.topic_id: topic for topic in topics},
        "configs": {resource: dict(image.configs.overrides(*resource)) for resource in resources},
        "colliding": {name: image.colliding_topic(name) for name in ("a.b", "a_b")},
    }


def check_delta(old: dict[str, Any], new: dict[str, Any], delta: MetadataDelta) -> None:
    before, after = old["topics"], new["topics"]
    kept = [id_ for id_ in after if id_ in before]
    assert delta.version == new["version"] == old["version"] + 1
    assert delta.created == tuple(after[id_] for id_ in after if id_ not in before)
    assert delta.deleted == tuple(before[id_] for id_ in before if id_ not in after)
    assert delta.grown == tuple(
        GrownTopic(after[id_], before[id_].num_partitions)
        for id_ in kept
        if after[id_].num_partitions > before[id_].num_partitions
    )
    assert delta.leaders == tuple(
        LeaderMoved(after[id_].topic_id_partition(now.partition), was.leader_id, now.leader_id, now.leader_epoch)
        for id_ in kept
        for was, now in zip(before[id_].partitions, after[id_].partitions, strict=False)
        if (was.leader_id, was.leader_epoch) != (now.leader_id, now.leader_epoch)
    )
    nodes = sorted({*old["brokers"], *new["brokers"]})
    endpoints = [(node_id, old["brokers"].get(node_id), new["brokers"].get(node_id)) for node_id in nodes]
    assert delta.brokers == tuple(BrokerChanged(*each) for each in endpoints if each[1] != each[2])
    resources = {*old["configs"], *new["configs"]}
    assert set(delta.configs) == {each for each in resources if old["configs"].get(each) != new["configs"].get(each)}


@given(st.lists(CHANGES, max_size=40))
def test_each_delta_is_the_difference_between_two_images(made: list[tuple[Any, ...]]) -> None:
    metadata = ClusterMetadata(random.Random(1))
    images = [metadata.image]
    seen = [contents(metadata.image)]
    deltas: list[MetadataDelta] = []
    metadata.on_change(lambda _, delta: deltas.append(delta))
    for each in (("register", 0, 1), ("register", 1, 1), *made):
        try:
            change(metadata, *each)
        except (BrokerError, ValueError):
            assert metadata.image is images[-1]
            continue
        if metadata.image is not images[-1]:
            images.append(metadata.image)
            seen.append(contents(metadata.image))
    assert len(deltas) == len(images) - 1
    for old, new, delta in zip(seen, seen[1:], deltas, strict=False):
        check_delta(old, new, delta)
    assert [contents(image) for image in images] == seen


def test_the_newest_topics_come_last() -> None:
    metadata = ClusterMetadata(random.Random(1))
    metadata.register_broker(BrokerEndpoint(1, "host", 1))
    for name in ("b", "a"):
        metadata.create_topic(name)
    assert [topic.name for topic in metadata.image.topics()] == ["b", "a"]
