import pytest

from kafka_groups.config.cluster.broker import BrokerSettings
from kafka_groups.config.cluster.topic import TopicConfig, topic_config, topic_keys, validate_topic_config
from kafka_groups.errors import InvalidConfigError


def test_defaults() -> None:
    assert topic_config(BrokerSettings(), {}) == TopicConfig()


def test_largest_batch_comes_from_the_broker_unless_the_topic_says() -> None:
    settings = BrokerSettings(message_max_bytes=2_000)
    assert topic_config(settings, {}).max_message_bytes == 2_000
    assert topic_config(settings, {"max.message.bytes": "3000"}).max_message_bytes == 3_000


def test_values_are_read_from_text() -> None:
    config = topic_config(
        BrokerSettings(),
        {"cleanup.policy": "compact,delete", "retention.ms": "-1", "message.timestamp.type": "LogAppendTime"},
    )
    assert config.cleanup_policy == ("compact", "delete")
    assert config.retention_ms == -1
    assert config.message_timestamp_type == "LogAppendTime"


@pytest.mark.parametrize(
    ("name", "value"),
    [("cleanup.policy", "shred"), ("retention.ms", "-2"), ("retention_ms", "1"), ("compression.type", "brotli")],
)
def test_bad_name_or_value_is_refused(name: str, value: str) -> None:
    with pytest.raises(InvalidConfigError) as caught:
        validate_topic_config(BrokerSettings(), name, value)
    assert name in str(caught.value)


def test_every_key_is_documented() -> None:
    assert all(key.doc.endswith(".") for key in topic_keys().values())
