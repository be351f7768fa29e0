"""The configurations of librdkafka's clients are made from a share consumer's."""

import pickle

import pytest

from kafka_groups.errors import ConfigurationError
from kafka_groups.librdkafka.configuration import client_config, producer_config, reader_config
from kafka_groups.librdkafka.durable_producer import DurableProducer


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


def test_a_reader_has_what_all_clients_have_and_joins_no_group() -> None:
    given = {
        "bootstrap_servers": [("one", 9092)],
        "group.id": "g",
        "max_poll_records": 5,
        "auto.offset.reset": "latest",
    }
    assert client_config(given) == {"bootstrap.servers": "one:9092", "auto.offset.reset": "latest", "log_level": 3}
    assert reader_config(given, "g-peek") == {
        "bootstrap.servers": "one:9092",
        "log_level": 3,
        "group.id": "g-peek",
        "isolation.level": "read_committed",
        "allow.auto.create.topics": False,
        "auto.offset.reset": "error",
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
    }
    assert reader_config(given | {"isolation.level": "read_uncommitted"}, "g")["isolation.level"] == "read_uncommitted"


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


def oauth_cb(config: str) -> tuple[str, float]:
    return f"token-{config}", 4e9


async def async_cb(config: str) -> tuple[str, float, str, dict[str, str]]:
    return f"token-{config}", 4e9, "ann", {"pool": "p"}


JAAS = "org.apache.kafka.common.security."
AT = {"bootstrap.servers": "one:1", "security.protocol": "SASL_SSL"}


@pytest.mark.parametrize(
    "keys",
    [
        {"sasl_mechanism": "SCRAM-SHA-512", "sasl.username": "ann", "sasl.password": "hush"},
        {
            "sasl.mechanisms": "SCRAM-SHA-512",
            "sasl.jaas.config": JAAS + 'scram.ScramLoginModule required username="ann" password="hush";',
        },
    ],
)
def test_passwords_are_translated(keys: dict[str, object]) -> None:
    config = producer_config(AT | keys)
    assert {name: value for name, value in config.items() if name.startswith("sasl")} == {
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "ann",
        "sasl.password": "hush",
    }
    assert "hush" not in repr(DurableProducer(AT | keys))
    assert producer_config(config) == config


def test_an_identity_provider_is_translated() -> None:
    keys = {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.login.callback.handler.class": JAAS + "oauthbearer.OAuthBearerLoginCallbackHandler",
        "sasl.oauthbearer.token.endpoint.url": "https://idp.example/token",
        "sasl.jaas.config": JAAS + "oauthbearer.OAuthBearerLoginModule required "
        'clientId="me" clientSecret="hush" scope="kafka" extension_logicalCluster="lkc-1";',
    }
    config = producer_config(AT | keys)
    assert {name.removeprefix("sasl.oauthbearer."): value for name, value in config.items() if "oauth" in name} == {
        "method": "oidc",
        "client.id": "me",
        "client.secret": "hush",
        "scope": "kafka",
        "extensions": "logicalCluster=lkc-1",
        "token.endpoint.url": "https://idp.example/token",
    }
    assert producer_config(config) == config


@pytest.mark.parametrize("function", [oauth_cb, async_cb])
def test_functions_for_tokens_travel_and_are_called_without_await(function: object) -> None:
    keys = {"sasl.mechanism": "OAUTHBEARER", "oauth_cb": function, "sasl.oauthbearer.config": "x"}
    config = producer_config(AT | keys | {"sasl.oauthbearer.extensions": "cluster=c"})
    tokens = pickle.loads(pickle.dumps(config))["oauth_cb"]
    token, expiry_s, _, extensions = tokens("x")
    assert (token, expiry_s, extensions["cluster"]) == ("token-x", 4e9, "c")
    assert repr(tokens) == repr(config["oauth_cb"])  # so that equal ones share a producer
    assert producer_config(config) == config


def test_certificates_as_text_are_translated() -> None:
    pem = "-----BEGIN CERTIFICATE-----"
    keys = {"ssl.truststore.certificates": pem, "ssl.keystore.certificate.chain": pem, "ssl_key_pem": pem}
    config = producer_config(AT | {"security.protocol": "SSL"} | keys)
    assert [config[f"ssl.{name}.pem"] for name in ("ca", "certificate", "key")] == [pem] * 3
