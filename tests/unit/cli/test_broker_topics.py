import click
import pytest

from kafka_groups.cli.broker_topics import FirstTopic, first_topics
from kafka_groups.config.cluster.broker import BrokerSettings

SETTINGS = BrokerSettings(num_partitions=5)


def test_topics_with_partitions_and_configs() -> None:
    configs = ["orders:retention.ms=60000", "orders:cleanup.policy=compact"]
    assert first_topics(["orders:2", "bills"], configs, SETTINGS, 1) == [
        FirstTopic("orders", 2, 1, {"retention.ms": "60000", "cleanup.policy": "compact"}),
        FirstTopic("bills", 5, 1, {}),
    ]


@pytest.mark.parametrize(
    ("topics", "configs", "said"),
    [
        (["a b"], [], "'a b' contains one or more characters other than ASCII alphanumerics"),
        ([""], [], "the empty string is not allowed"),
        (["orders:0"], [], "'orders:0': the number of partitions is 1 or more, as in orders:2."),
        (["orders:"], [], "the number of partitions is 1 or more"),
        (["orders:-1"], [], "the number of partitions is 1 or more"),
        (["orders", "orders:2"], [], "'orders' is given more than once."),
        (["a.b", "a_b"], [], "'a_b' and 'a.b' differ in '.' and '_' only, which Kafka refuses."),
        (["orders:9999", "bills:2"], [], "They have more than 10,000 partitions together."),
        (["orders"], ["bills:a=b"], "NAME is a topic of --topic"),
        (["orders"], ["retention.ms=1"], "is not of the form NAME:KEY=VALUE"),
        (["orders"], ["orders:retention.ms"], "'retention.ms' is not of the form KEY=VALUE."),
        (["orders"], ["orders:retention.ms=soon"], "Invalid value 'soon' for retention.ms"),
        (["orders"], ["orders:retention=1"], "Unknown configuration key 'retention'"),
        (["orders"], ["orders:retention.ms=1", "orders:retention.ms=2"], "'retention.ms' is given more than once."),
    ],
)
def test_what_no_cluster_could_create_is_refused(topics: list[str], configs: list[str], said: str) -> None:
    with pytest.raises(click.BadParameter) as refused:
        first_topics(topics, configs, SETTINGS, 1)
    assert said in refused.value.message


def test_replicas_need_brokers() -> None:
    settings = BrokerSettings(default_replication_factor=3)
    assert first_topics(["orders"], [], settings, 3) == [FirstTopic("orders", 1, 3, {})]
    with pytest.raises(click.BadParameter, match="add --brokers 3"):
        first_topics(["orders"], [], settings, 2)
