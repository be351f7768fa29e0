"""A configuration made for another client: every key that a share consumer does not have says what to do."""

import logging
import re
from pathlib import Path

import pytest

from kafka_groups import KafkaShareConsumer
from kafka_groups.config.clients.foreign import FORBIDDEN, FOREIGN, advice
from kafka_groups.config.clients.share import ShareConsumerConfig, share_consumer_config
from kafka_groups.config.settings import KeyTable
from kafka_groups.errors import ConfigurationError
from tests.support.librdkafka_properties import KEYS_OF_LIBRDKAFKA, installed_keys

OF_CONFLUENT_KAFKA: dict[str, object] = {
    "bootstrap.servers": "localhost:9092",
    "group.id": "orders",
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "socket.keepalive.enable": True,
    "log_level": 4,
    "statistics.interval.ms": 5_000,
    "error_cb": print,
    "max.poll.interval.ms": 600_000,
    "fetch.wait.max.ms": 100,
}
UNSUPPORTED = (
    "auto.offset.reset",
    "enable.auto.commit",
    "enable.partition.eof",
    "socket.keepalive.enable",
    "log_level",
    "statistics.interval.ms",
    "error_cb",
)
JAVA = (Path(__file__).parent / "java-consumer-keys.txt").read_text().split()
"""`ConsumerConfig.configNames()` of Kafka 4.4.0."""
CALLBACKS_OF_CONFLUENT_KAFKA = ("error_cb", "stats_cb", "throttle_cb", "on_commit", "logger", "oauth_cb")

TABLE = KeyTable(ShareConsumerConfig)


def test_a_dictionary_made_for_confluent_kafka_fails_with_all_its_keys_at_once() -> None:
    with pytest.raises(ConfigurationError) as caught:
        KafkaShareConsumer(OF_CONFLUENT_KAFKA)
    message = str(caught.value)
    assert message.startswith(f"The configuration of a share consumer has {len(UNSUPPORTED)} problems:\n")
    lines = message.splitlines()[1:]
    assert len(lines) == len(UNSUPPORTED)
    for line, name in zip(lines, UNSUPPORTED, strict=True):
        assert line.startswith(f"  - Unsupported configuration key {name!r} (")
        assert re.search(r": \S.*\. [A-Z].*\.$", line), line
    assert "Set the group configuration share.auto.offset.reset." in lines[0]
    assert "choose acknowledgement_mode='implicit' or 'explicit'" in lines[1]


def test_or_passes_with_a_warning_for_each_key(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "kafka_groups.config"):
        consumer = KafkaShareConsumer(OF_CONFLUENT_KAFKA, unknown_config="warn")
    consumer.close()
    assert len(caplog.messages) == len(UNSUPPORTED)
    for message, name in zip(caplog.messages, UNSUPPORTED, strict=True):
        assert message.startswith(f"Ignoring a key: Unsupported configuration key {name!r}")


def test_bad_values_of_known_keys_fail_all_the_same() -> None:
    with pytest.raises(ConfigurationError, match=r"Invalid value 0 for max\.poll\.records"):
        share_consumer_config(OF_CONFLUENT_KAFKA | {"max.poll.records": 0}, unknown_config="warn")


def test_unknown_and_bad_and_missing_keys_are_told_together() -> None:
    with pytest.raises(ConfigurationError) as caught:
        share_consumer_config({"max.poll.records": "many", "bootstrap.server": "b:1", "check.crcs": 7, "log_level": 1})
    lines = str(caught.value).splitlines()
    assert lines[0] == "The configuration of a share consumer has 6 problems:"
    assert "Did you mean 'bootstrap.servers'?" in lines[1]
    assert "'log_level'" in lines[2]
    assert "Invalid value 'many' for max.poll.records: not a whole number." in lines[3]
    assert "Invalid value 7 for check.crcs: not true or false." in lines[4]
    assert "Missing configuration key bootstrap_servers" in lines[5]
    assert "Missing configuration key group_id" in lines[6]


def test_the_list_is_that_of_the_installed_librdkafka() -> None:
    assert sorted(set(installed_keys())) == KEYS_OF_LIBRDKAFKA


def test_every_property_of_librdkafka_is_supported_or_advised() -> None:
    assert len(KEYS_OF_LIBRDKAFKA) > 150
    assert [name for name in KEYS_OF_LIBRDKAFKA if TABLE.attribute(name) is None and advice(name) is None] == []


@pytest.mark.parametrize("names", [JAVA, CALLBACKS_OF_CONFLUENT_KAFKA], ids=["java", "confluent-kafka"])
def test_every_key_of_other_clients_is_supported_or_advised(names: list[str]) -> None:
    assert [name for name in names if TABLE.attribute(name) is None and advice(name) is None] == []


def test_no_advice_for_keys_that_are_supported() -> None:
    supported = [name for name in (*FORBIDDEN, *FOREIGN) if TABLE.attribute(name) is not None]
    assert supported == [], "remove them from kafka_groups/config/clients/foreign.py"


@pytest.mark.parametrize("spelling", ["enable.auto.commit", "enable_auto_commit"])
def test_advice_is_found_with_dots_and_with_underscores(spelling: str) -> None:
    assert advice(spelling) == FORBIDDEN["enable.auto.commit"]
    assert advice("no.such.key") is None
