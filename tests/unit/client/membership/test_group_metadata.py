"""The bytes that a transactional producer takes: the same as librdkafka's own consumers give."""

from contextlib import closing

from confluent_kafka import Consumer

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.client.membership.group_metadata import AsMember, group_metadata_bytes
from tests.support.conditions import wait_until


def test_bytes_are_those_of_librdkafka() -> None:
    with EmbeddedCluster() as cluster:
        for group_id, instance_id in (("gäp", "inst-1"), ("g", None)):
            static = {} if instance_id is None else {"group.instance.id": instance_id}
            with closing(
                Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": group_id, **static})
            ) as consumer:
                before = group_metadata_bytes(group_id, AsMember("", -1, instance_id))
                assert consumer.consumer_group_metadata() == before
                cluster.create_topic(f"of-{len(group_id)}-{instance_id}")
                consumer.subscribe([f"of-{len(group_id)}-{instance_id}"])
                wait_until(lambda: consumer.poll(0.05) is None and consumer.assignment())
                joined = group_metadata_bytes(group_id, AsMember(consumer.memberid(), 1, instance_id))
                assert consumer.consumer_group_metadata() == joined
