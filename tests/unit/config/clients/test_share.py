import json
from collections.abc import Mapping
from pathlib import Path

import attrs
import pytest

from kafka_groups.config.clients.foreign import FORBIDDEN
from kafka_groups.config.clients.share import ShareConsumerConfig, share_consumer_config, share_consumer_keys
from kafka_groups.errors import ConfigurationError

NEEDED: dict[str, object] = {"bootstrap_servers": "localhost:9092", "group_id": "g"}


def refused(mapping: Mapping[str, object] | None = None, **keywords: object) -> str:
    with pytest.raises(ConfigurationError) as caught:
        share_consumer_config(mapping, **(NEEDED | keywords))
    return str(caught.value)


def test_defaults_are_those_of_kafka() -> None:
    config = share_consumer_config(bootstrap_servers="localhost:9092", group_id="g")
    assert config.bootstrap_servers == (("localhost", 9092),)
    assert (config.acknowledgement_mode, config.acquire_mode) == ("implicit", "batch_optimized")
    assert (config.max_poll_records, config.fetch_min_bytes, config.fetch_max_bytes) == (500, 1, 52_428_800)
    assert (config.fetch_max_wait_ms, config.max_poll_interval_ms) == (500, 300_000)
    assert (config.default_api_timeout_ms, config.request_timeout_ms) == (60_000, 30_000)
    assert (config.check_crcs, config.allow_auto_create_topics, config.client_rack) == (True, False, "")
    assert config.fetch_max_records == "adaptive"
    assert (config.prefetch_batches, config.auto_renew, config.on_deserialization_error) == (1, False, "release")
    assert config.key_deserializer is None


def test_dotted_names_and_keywords_go_together() -> None:
    config = share_consumer_config(
        {"bootstrap.servers": "a:1,b:2", "share.acknowledgement.mode": "explicit", "max.poll.records": "10"},
        group_id="g",
        auto_renew="true",
    )
    assert config.bootstrap_servers == (("a", 1), ("b", 2))
    assert (config.acknowledgement_mode, config.max_poll_records, config.auto_renew) == ("explicit", 10, True)


@pytest.mark.parametrize(
    ("name", "value", "attribute", "expected"),
    [
        ("metadata.broker.list", "a:1", "bootstrap_servers", (("a", 1),)),
        ("fetch.wait.max.ms", 7, "fetch_max_wait_ms", 7),
        ("socket.timeout.ms", 9, "request_timeout_ms", 9),
        ("share_acknowledgement_mode", "explicit", "acknowledgement_mode", "explicit"),
        ("ssl_endpoint_identification_algorithm", "", "ssl_endpoint_identification_algorithm", "none"),
        ("security.protocol", "ssl", "security_protocol", "SSL"),
    ],
)
def test_other_spellings(name: str, value: object, attribute: str, expected: object) -> None:
    needed = {"group.id": "g"} if attribute == "bootstrap_servers" else NEEDED
    assert getattr(share_consumer_config({**needed, name: value}), attribute) == expected


@pytest.mark.parametrize("name", FORBIDDEN)
def test_forbidden_key_says_why_and_what_to_do(name: str) -> None:
    why, remedy = FORBIDDEN[name]
    told = f"{why}. {remedy[0].upper()}{remedy[1:]}."
    assert refused({name: "x"}) == f"Unsupported configuration key {name!r} ('x'): {told}"
    underscored = name.replace(".", "_")
    assert refused({underscored: "x"}) == f"Unsupported configuration key {underscored!r} ('x'): {told}"


def test_forbidden_keys_are_those_of_kafka() -> None:
    assert set(FORBIDDEN) == {
        "auto.offset.reset",
        "enable.auto.commit",
        "group.instance.id",
        "isolation.level",
        "partition.assignment.strategy",
        "interceptor.classes",
        "session.timeout.ms",
        "heartbeat.interval.ms",
        "group.protocol",
        "group.remote.assignor",
    }


def test_forbidden_key_names_the_group_configuration() -> None:
    assert "share.auto.offset.reset" in refused({"auto.offset.reset": "earliest"})


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("max_pol_records", "max_poll_records"),
        ("max.pol.records", "max.poll.records"),
        ("bootstrap_server", "bootstrap_servers"),
        ("bootstrapServers", "bootstrap_servers"),
        ("max-poll-records", "max_poll_records"),
        ("fetch.max.wait", "fetch.max.wait.ms"),
    ],
)
def test_unknown_key_suggests_the_nearest_in_the_same_manner(name: str, near: str) -> None:
    message = refused({name: 5})
    assert message.startswith(f"Unknown configuration key {name!r} (5) for a share consumer. Did you mean ")
    assert near in message


def test_unknown_key_with_nothing_near() -> None:
    assert "the configuration reference lists all keys" in refused({"frobnicate": 1})


def test_unknown_secret_is_not_shown() -> None:
    assert "hunter2" not in refused({"sasl.password": "hunter2"})


@pytest.mark.parametrize("name", ["max.partition.fetch.bytes", "ssl.truststore.location"])
def test_key_that_has_no_meaning_here_says_so(name: str) -> None:
    assert refused({name: "x"}).startswith(f"Unsupported configuration key {name!r}")


@pytest.mark.parametrize("missing", ["bootstrap_servers", "group_id"])
def test_missing_key(missing: str) -> None:
    given = {name: value for name, value in NEEDED.items() if name != missing}
    with pytest.raises(
        ConfigurationError, match=rf"^Missing configuration key {missing} \({missing.replace('_', '.')}\): use "
    ):
        share_consumer_config(given)


def test_same_key_twice_with_the_same_value_is_fine() -> None:
    config = share_consumer_config({"group.id": "g", "max.poll.records": "5"}, **NEEDED, max_poll_records=5)
    assert config.max_poll_records == 5


def test_same_key_twice_with_other_values_is_an_error() -> None:
    message = refused({"max.poll.records": "6"}, max_poll_records=5)
    assert message.startswith("Invalid value 5 for max_poll_records (max.poll.records): ")
    assert "the same key is given as max.poll.records with 6. Give the key once." in message
    assert "given as metadata.broker.list" in refused({"metadata.broker.list": "other:1"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_poll_records", 0),
        ("max_poll_records", 2**31),
        ("fetch_min_bytes", -1),
        ("fetch_max_wait_ms", "soon"),
        ("check_crcs", "maybe"),
        ("acknowledgement_mode", "Explicit"),
        ("acquire_mode", "strict"),
        ("security_protocol", "KERBEROS"),
        ("sasl_mechanism", "GSSAPI"),
        ("prefetch_batches", 2),
        ("on_deserialization_error", "ignore"),
        ("value_deserializer", "json"),
        ("group_id", ""),
        ("bootstrap_servers", "localhost"),
        ("client_id", 5),
        ("max_poll_interval_ms", None),
    ],
)
def test_bad_value_names_key_value_and_remedy(name: str, value: object) -> None:
    with pytest.raises(ConfigurationError) as caught:
        share_consumer_config(NEEDED | {name: value})
    message = str(caught.value)
    assert name in message
    assert repr(value) in message
    assert ". Use " in message


def test_values_are_checked_however_the_object_is_built() -> None:
    with pytest.raises(ConfigurationError, match=r"Invalid value 0 for max_poll_records \(max\.poll\.records\)"):
        attrs.evolve(share_consumer_config(NEEDED), max_poll_records=0)


def test_renewal_needs_the_explicit_mode() -> None:
    message = refused(auto_renew=True)
    assert message.startswith("Invalid value True for auto_renew (auto.renew): locks are renewed only in explicit mode")
    assert message.endswith(". Set acknowledgement_mode to 'explicit', or auto_renew to False.")
    assert share_consumer_config(NEEDED, auto_renew=True, acknowledgement_mode="explicit").auto_renew


@pytest.mark.parametrize("name", ["retry_backoff_ms", "reconnect_backoff_ms"])
def test_first_wait_is_not_longer_than_the_longest(name: str) -> None:
    assert refused({name: 1_001}).startswith(f"Invalid value 1001 for {name} ({name.replace('_', '.')}): longer than ")


def test_tls_keys_without_tls_are_an_error() -> None:
    assert "nothing would be encrypted; set security_protocol to 'SSL'" in refused(ssl_ca_location="/ca.pem")
    config = share_consumer_config(NEEDED, ssl_ca_location="/ca.pem", security_protocol="SSL")
    assert config.ssl_ca_location == "/ca.pem"
    assert share_consumer_config(NEEDED, ssl_ca_location=Path("/ca.pem"), security_protocol="SSL") == config


def test_client_certificate_needs_both_of_its_files() -> None:
    message = refused(security_protocol="SSL", ssl_certificate_location="/c.pem")
    assert message.startswith("ssl_key_location (ssl.key.location) is missing")


def test_secrets_are_hidden_in_the_repr() -> None:
    config = share_consumer_config(NEEDED, security_protocol="SSL", ssl_key_password="hunter2")
    assert config.ssl_key_password == "hunter2"
    assert "hunter2" not in repr(config)
    assert "ssl_key_password='[hidden]'" in repr(config)
    assert "ssl_key_password=None" in repr(share_consumer_config(NEEDED))


def test_deserializer_is_any_function() -> None:
    config = share_consumer_config(NEEDED, value_deserializer=json.loads)
    assert config.value_deserializer is not None
    assert config.value_deserializer(b"[1]") == [1]


def test_every_key_is_documented() -> None:
    keys = share_consumer_keys()
    assert set(keys) == {field.name for field in attrs.fields(ShareConsumerConfig)}
    for attribute, key in keys.items():
        assert key.doc.endswith("."), attribute
        assert (key.unit is not None) == attribute.endswith(("_ms", "_bytes")), attribute
        if not key.required and key.default is not None:
            assert key.parse(key.default) == key.default
