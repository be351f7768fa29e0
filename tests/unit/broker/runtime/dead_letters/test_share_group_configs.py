import random

from attrs import evolve

from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.runtime.dead_letters.share_group_configs import share_group_configs
from kafka_groups.config.cluster.broker import ShareGroupConfig
from tests.support.broker.coordinators import parts_of


def test_a_queue_counts_from_level_2_of_share_version_on_at_once() -> None:
    metadata = ClusterMetadata(random.Random(1), features={"share.version": 1})
    parts = parts_of(metadata)
    configured = ShareGroupConfig(errors_deadletterqueue_topic_name="dlq.x", delivery_count_limit=3)
    sources = evolve(parts.group_configs, share=lambda _group_id: configured)
    config_of = share_group_configs(evolve(parts, group_configs=sources))
    assert config_of("g") == evolve(configured, errors_deadletterqueue_topic_name="")
    metadata.finalize_features({"share.version": 2})
    assert config_of("g") is configured
