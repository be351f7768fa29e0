"""A durable producer is a value: it shows no secrets, travels, and makes its client on first use."""

import pickle

import pytest

from kafka_groups.errors import ConfigurationError
from kafka_groups.librdkafka.durable_producer import DurableProducer


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
