"""A bootstrap list with servers of two clusters is refused, whichever of them answers first."""

from kafka_groups import KafkaShareConsumer
from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.errors import ConfigurationError, GroupIdNotFoundError, KafkaGroupsError
from kafka_groups.testing import FAST_SETTINGS
from tests.support.conditions import wait_until

ENDS = (ConfigurationError, GroupIdNotFoundError)
"""A heartbeat may reach the other cluster before its metadata does."""


def test_servers_of_two_clusters_end_a_client() -> None:
    with EmbeddedCluster(settings=FAST_SETTINGS) as one, EmbeddedCluster(settings=FAST_SETTINGS, seed=7) as other:
        servers = f"{one.bootstrap_servers},{other.bootstrap_servers}"
        for cluster in (one, other):
            cluster.create_topic("orders", 1)
        with KafkaShareConsumer(bootstrap_servers=servers, group_id="g", metadata_max_age_ms=50) as consumer:
            consumer.subscribe(["orders"])
            found: list[KafkaGroupsError] = []
            wait_until(lambda: _ends(consumer, found), 30)
        assert "bootstrap" in str(found[0])


def _ends(consumer: KafkaShareConsumer[bytes, bytes], found: list[KafkaGroupsError]) -> bool:
    try:
        consumer.poll(0.1)
    except ENDS as error:
        found.append(error)
    return bool(found)
