"""The configuration of share groups as share-partitions have it: a queue counts only if the cluster has queues."""

from attrs import evolve

from kafka_groups.broker.runtime.parts import ClusterParts
from kafka_groups.broker.share_partitions.led_partitions import ShareConfigLookup
from kafka_groups.config.cluster.broker import ShareGroupConfig

__all__ = ["share_group_configs"]


def share_group_configs(cluster: ClusterParts) -> ShareConfigLookup:
    """Return a function for the configuration of a group.

    With `share.version` 1 the configs of queues can be set and described, and have no effect. An upgrade counts at
    once.
    """
    configs, metadata = cluster.group_configs.share, cluster.metadata

    def config_of(group_id: str) -> ShareGroupConfig:
        config = configs(group_id)
        if config.errors_deadletterqueue_topic_name and not metadata.has_dead_letter_queues:
            return evolve(config, errors_deadletterqueue_topic_name="")
        return config

    return config_of
