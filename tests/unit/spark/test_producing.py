"""The producer's configuration is made from a consumer's."""

import pickle

import pytest

from kafka_groups.errors import ConfigurationError
from kafka_groups.spark.producing import DurableProducer, producer_config


def test_a_consumers_configuration_is_translated() -> None:
    given = {
        "bootstrap_servers": [("one", 9092), "[::1]:9093"],
        "group.id": "g",
        "max_poll_records": 5,
        "request.timeout.ms": "4000",
        "security.protocol": "ssl",
        "ssl_ca_location": "/ca.pem",
        "ssl.key.password": None,
        "compression.type": "zstd",
    }
    assert producer_config(given) == {
        "bootstrap.servers": "one:9092,[::1]:9093",
        "socket.timeout.ms": 4000,
        "security.protocol": "SSL",
        "ssl.ca.location": "/ca.pem",
        "compression.type": "zstd",
        "linger.ms": 5,
        "log_level": 3,
        "acks": "all",
        "enable.idempotence": True,
    }


def test_translating_twice_changes_nothing() -> None:
    once = producer_config({"bootstrap.servers": "one:1", "request.timeout.ms": 9, "acks": "-1", "linger.ms": 0})
    assert producer_config(once) == once


@pytest.mark.parametrize(
    ("config", "named"),
    [
        ({}, "bootstrap.servers"),
        ({"bootstrap.servers": "one"}, "host:port"),
        ({"bootstrap.servers": "one:1", "acks": 1}, "acks"),
        ({"bootstrap.servers": "one:1", "request.required.acks": "0"}, "acks"),
        ({"bootstrap.servers": "one:1", "enable.idempotence": False}, "enable.idempotence"),
    ],
)
def test_what_is_bad_or_would_lose_records_is_refused(config: dict[str, object], named: str) -> None:
    with pytest.raises(ConfigurationError, match=named):
        DurableProducer(config)


def test_a_key_that_nobody_knows_is_refused_when_the_producer_is_made() -> None:
    producer = DurableProducer({"bootstrap.servers": "127.0.0.1:1", "no.such.key": 1})
    with pytest.raises(ConfigurationError, match=r"no\.such\.key"):
        producer.produce("t", key=None, value=b"v")


def test_secrets_are_not_shown() -> None:
    producer = DurableProducer(
        {"bootstrap.servers": "one:1", "security.protocol": "SSL", "ssl.key.location": "k", "ssl.key.password": "hush"}
    )
    assert "hush" not in repr(producer)
    assert "one:1" in repr(pickle.loads(pickle.dumps(producer)))
