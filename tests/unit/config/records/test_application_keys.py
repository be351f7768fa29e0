"""The readers and the producer of an application: which key comes first, and what the guarantee decides."""

import logging
from typing import Any

import pytest

from kafka_groups.config.clients.streams import StreamsConfig, streams_config
from kafka_groups.config.records.application_keys import log_aliases_of, producer_of, reader_of
from kafka_groups.config.records.record_producer import ProducerConfig
from kafka_groups.config.records.record_reader import ReaderConfig
from kafka_groups.errors import ConfigurationError


def config(**given: Any) -> StreamsConfig:
    return streams_config({"bootstrap.servers": "b:1", "application.id": "app", **given})


def test_without_keys_everything_has_its_default() -> None:
    assert producer_of(config()) == ProducerConfig()
    assert reader_of(config(), "main") == ReaderConfig()
    assert reader_of(config(), "restore") == ReaderConfig(isolation_level="read_committed")
    assert reader_of(config(), "global") == ReaderConfig(isolation_level="read_committed")


def test_the_applications_keys_hold_for_its_clients_and_those_with_a_prefix_come_first() -> None:
    given = {
        "client.id": "billing",
        "client.rack": "r1",
        "request.timeout.ms": 20_000,
        "retry.backoff.ms": 10,
        "metadata.max.age.ms": 60_000,
        "producer.client.id": "billing-writes",
        "producer.retry.backoff.ms": 20,
        "consumer.request.timeout.ms": 15_000,
        "restore.consumer.request.timeout.ms": 40_000,
        "restore.consumer.client.rack": "r2",
        "global.consumer.fetch.min.bytes": 2,
    }
    of_all: dict[str, Any] = {"retry_backoff_ms": 10, "metadata_max_age_ms": 60_000}
    written: dict[str, Any] = {
        **of_all,
        "client_id": "billing-writes",
        "retry_backoff_ms": 20,
        "request_timeout_ms": 20_000,
    }
    read: dict[str, Any] = {**of_all, "client_id": "billing", "client_rack": "r1", "request_timeout_ms": 15_000}
    committed: dict[str, Any] = {**read, "isolation_level": "read_committed"}
    assert producer_of(config(**given)) == ProducerConfig(**written)
    assert reader_of(config(**given), "main") == ReaderConfig(**read)
    restored: dict[str, Any] = {**committed, "client_rack": "r2", "request_timeout_ms": 40_000}
    assert reader_of(config(**given), "restore") == ReaderConfig(**restored)
    assert reader_of(config(**given), "global") == ReaderConfig(**committed, fetch_min_bytes=2)


def test_isolation_levels() -> None:
    exactly_once = config(**{"processing.guarantee": "exactly_once_v2"})
    assert reader_of(exactly_once, "main").is_committed_only
    chosen = config(**{"consumer.isolation.level": "read_committed"})
    assert reader_of(chosen, "main").is_committed_only
    nearer = config(
        **{"consumer.isolation.level": "read_committed", "main.consumer.isolation.level": "read_uncommitted"}
    )
    assert not reader_of(nearer, "main").is_committed_only
    assert reader_of(nearer, "restore").is_committed_only
    assert reader_of(nearer, "global").is_committed_only


def test_aliases_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    given = {"producer.max.in.flight": 2, "consumer.fetch.wait.max.ms": 7, "restore.consumer.fetch.wait.max.ms": 8}
    with caplog.at_level(logging.INFO, "kafka_groups.config"):
        log_aliases_of(config(**given))
        assert reader_of(config(**given), "restore").fetch_max_wait_ms == 8
        assert reader_of(config(**given), "main").fetch_max_wait_ms == 7
    assert caplog.messages == [
        "The key producer.max.in.flight is read as producer.max.in.flight.requests.per.connection",
        "The key consumer.fetch.wait.max.ms is read as consumer.fetch.max.wait.ms",
        "The key restore.consumer.fetch.wait.max.ms is read as restore.consumer.fetch.max.wait.ms",
    ]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"producer.batch.num.messages": 5}, "Set producer.batch.size."),
        ({"producer.retry.backoff.ms": 2_000}, "longer than retry_backoff_max_ms"),
        ({"producer.compression.level": 2}, "compression.type is none"),
    ],
)
def test_a_bad_key_of_the_producer_is_refused(given: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        producer_of(config(**given))


def test_bad_keys_of_a_reader_are_refused_together() -> None:
    given = config(**{"consumer.debug": "all", "main.consumer.fetch.error.backoff.ms": 5})
    with pytest.raises(ConfigurationError, match="has 2 problems") as caught:
        reader_of(given, "main")
    assert "'consumer.debug'" in str(caught.value)
    assert "'main.consumer.fetch.error.backoff.ms'" in str(caught.value)
    with pytest.raises(ConfigurationError, match=r"'consumer\.debug'"):
        reader_of(given, "restore")
