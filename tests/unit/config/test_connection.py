"""What all clients have: their keys, and which of them contradict each other."""

from typing import Any

import pytest

from kafka_groups.config.admin import AdminConfig, admin_keys
from kafka_groups.config.connection import ClientConfig, client_keys
from kafka_groups.config.share import ShareConsumerConfig, share_consumer_keys
from kafka_groups.errors import ConfigurationError


def test_every_client_has_them() -> None:
    assert len(client_keys()) > 25
    for keys in (admin_keys(), share_consumer_keys()):
        assert all(keys[name] is key for name, key in client_keys().items())


def test_what_must_be_given_comes_first_and_what_all_clients_have_last() -> None:
    names = list(share_consumer_keys())
    assert names[:2] == ["bootstrap_servers", "group_id"]
    shared = [name for name in client_keys() if name != "bootstrap_servers"]
    assert names[-len(shared) :] == shared


@pytest.mark.parametrize("made", [ClientConfig, AdminConfig, ShareConsumerConfig])
def test_an_error_names_all_contradictions_and_whose_they_are(made: type[ClientConfig]) -> None:
    given: dict[str, Any] = {"bootstrap_servers": "b:1", "retry_backoff_ms": 5_000, "sasl_username": "u"}
    if made is ShareConsumerConfig:
        given["group_id"] = "g"
    with pytest.raises(ConfigurationError) as caught:
        made(**given)
    assert "retry_backoff_max_ms" in str(caught.value)
    assert "would not authenticate" in str(caught.value)
    assert made.whose in str(caught.value)
