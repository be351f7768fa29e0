"""What every client is made of: put together without connecting, and shared only where that is meant."""

import random
from typing import Any

import pytest

from kafka_groups.client.assembly import Assembly, Environment
from kafka_groups.client.background import BackgroundErrors
from kafka_groups.config.clients.admin import admin_config
from kafka_groups.config.clients.share import share_consumer_config
from kafka_groups.errors import ConfigurationError, TlsError
from kafka_groups.net.memory import MemoryNetwork

SASL: dict[str, Any] = {
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_mechanism": "PLAIN",
    "sasl_username": "u",
    "sasl_password": "p",
}


def assembly(**keys: Any) -> Assembly:
    config = admin_config(bootstrap_servers="b:1", **keys)
    return Assembly(config, Environment(MemoryNetwork(), rng=random.Random(1)), BackgroundErrors())


def test_another_one_has_its_own_state_and_the_same_login() -> None:
    first = assembly(**SASL)
    second = first.another()
    assert second.metadata is not first.metadata
    assert second.errors is not first.errors
    assert second.reachability is not first.reachability
    assert (second.clock, second.rng) == (first.clock, first.rng)
    assert first._login is not None
    assert second._login is first._login


def test_back_off_takes_the_configured_waits() -> None:
    backoff = assembly(retry_backoff_ms=10, retry_backoff_max_ms=20).backoff()
    for _ in range(5):
        backoff.failed(0)
    assert 16 <= backoff.remaining_ms(0) <= 24


def test_a_share_consumers_configuration_serves_as_well() -> None:
    config = share_consumer_config(bootstrap_servers="b:1", group_id="g")
    made = Assembly(config, Environment(), BackgroundErrors())
    assert "connected to nothing" in repr(made)
    assert made.coordinator("g").node_id is None
    assert made.metadata_manager(max_age_ms=1, allow_auto_create=False).metadata is made.metadata


def test_a_lost_data_connection_is_told_to_whoever_listens_then() -> None:
    made, lost = assembly(), []
    made._data_lost("b", 1)
    made.on_data_lost = lambda host, port: lost.append((host, port))
    made._data_lost("b", 1)
    assert lost == [("b", 1)]


def test_tls_is_read_at_once() -> None:
    config = admin_config(bootstrap_servers="b:1", security_protocol="SSL", ssl_ca_location="/nowhere.pem")
    with pytest.raises((ConfigurationError, TlsError), match="nowhere"):
        Assembly(config, Environment(), BackgroundErrors())
