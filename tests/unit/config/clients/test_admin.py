"""The configuration of an admin client: keys of a share consumer, and no others."""

import pytest

from kafka_groups.config.clients.admin import AdminConfig, admin_config, admin_keys
from kafka_groups.config.clients.share import share_consumer_keys
from kafka_groups.errors import ConfigurationError


def test_every_key_is_a_share_consumers() -> None:
    consumer = share_consumer_keys()
    assert len(admin_keys()) > 25
    assert all(key is consumer[name] for name, key in admin_keys().items())


def test_keys_by_both_names() -> None:
    config = admin_config({"bootstrap.servers": "a:1,b:2", "default.api.timeout.ms": "5000"}, client_id="ops")
    assert config.bootstrap_servers == (("a", 1), ("b", 2))
    assert (config.default_api_timeout_ms, config.client_id) == (5_000, "ops")


def test_secrets_are_hidden() -> None:
    config = admin_config(
        bootstrap_servers="b:1", security_protocol="SASL_PLAINTEXT", sasl_mechanism="PLAIN",
        sasl_username="u", sasl_password="topsecret",
    )  # fmt: skip
    assert "topsecret" not in repr(config)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, r"Missing configuration key bootstrap_servers \(bootstrap.servers\)"),
        ({"bootstrap_servers": "b:1", "group_id": "g"}, "Unknown configuration key 'group_id'"),
        ({"bootstrap_servers": "b:1", "retry_backoff_ms": 5_000}, "retry_backoff_max_ms"),
        ({"bootstrap_servers": "b:1", "request_timeout_ms": 0, "client_ids": "x"}, "has 2 problems"),
        ({"bootstrap_servers": "b:1", "sasl_username": "u"}, "would not authenticate"),
    ],
)
def test_what_is_wrong_is_named(given: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        admin_config(given)


def test_a_configuration_checks_itself_whichever_way_it_is_made() -> None:
    with pytest.raises(ConfigurationError):
        AdminConfig(bootstrap_servers=(("b", 1),), reconnect_backoff_ms=5_000)
