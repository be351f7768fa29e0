"""What a constructor takes in place of keywords: a dictionary or a finished configuration."""

from typing import Any

import pytest

from kafka_groups.admin import AsyncKafkaAdmin, KafkaAdmin
from kafka_groups.config.clients.admin import admin_config
from kafka_groups.errors import ConfigurationError
from kafka_groups.share import AsyncKafkaShareConsumer, KafkaShareConsumer
from kafka_groups.streams import AsyncStreamsGroupMember, GroupTopologyBuilder, StreamsGroupMember

TOPOLOGY = GroupTopologyBuilder().add_subtopology("0", sources=["in"]).build()


def made(client: Any, *given: Any) -> None:
    more: Any = {"topology": TOPOLOGY} if "Streams" in client.__name__ else {}
    client(*given, **more)


@pytest.mark.parametrize(
    "client",
    [
        KafkaShareConsumer,
        AsyncKafkaShareConsumer,
        StreamsGroupMember,
        AsyncStreamsGroupMember,
        KafkaAdmin,
        AsyncKafkaAdmin,
    ],
)
@pytest.mark.parametrize(
    ("given", "remedy"),
    [
        ("localhost:9092", r"Use bootstrap_servers='localhost:9092' for the brokers, and keywords for the rest\."),
        (["a:1"], r"Use bootstrap_servers=\['a:1'\] for the brokers"),
        (9092, r"Use keywords, or a dictionary such as \{'bootstrap\.servers': 'localhost:9092'\}\."),
    ],
)
def test_what_is_not_a_configuration_is_refused_with_its_value(client: Any, given: Any, remedy: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"is not a dictionary of configuration keys of an? .*\. {remedy}"):
        made(client, given)


def test_the_configuration_of_another_client_is_refused() -> None:
    other: Any = admin_config({"bootstrap.servers": "b:1"})
    with pytest.raises(
        ConfigurationError, match=r"of a share consumer\. Use keywords, a dictionary or a ShareConsumerC"
    ):
        KafkaShareConsumer(other)
