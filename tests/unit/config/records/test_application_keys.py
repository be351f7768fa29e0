"""The readers and the producer of an application: which key comes first, and what the guarantee decides."""

import logging
from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve

from kafka_groups.config.clients.streams import StreamsConfig, streams_config
from kafka_groups.config.records.application_keys import log_aliases_of, producer_of, restorer_of, sources_of
from kafka_groups.config.records.record_producer import ProducerConfig
from kafka_groups.config.records.record_reader import ReaderConfig
from kafka_groups.errors import ConfigurationError


def config(**given: Any) -> StreamsConfig:
    return streams_config({"bootstrap.servers": "b:1", "application.id": "app", **given})


def test_without_keys_everything_has_its_default() -> None:
    assert producer_of(config()) == ProducerConfig()
    assert sources_of(config()) == ReaderConfig()
    assert restorer_of(config()) == ReaderConfig(isolation_level="read_committed")


def test_the_applications_keys_hold_for_its_clients_and_those_with_a_prefix_come_first() -> None:
    given = {
        "client.rack": "r1",
        "request.timeout.ms": 20_000,
        "metadata.max.age.ms": 60_000,
        "producer.metadata.max.age.ms": 50_000,
        "consumer.request.timeout.ms": 15_000,
        "restore.consumer.request.timeout.ms": 40_000,
        "restore.consumer.client.rack": "r2",
        "global.consumer.fetch.min.bytes": 2,
    }
    written = ProducerConfig(request_timeout_ms=20_000, metadata_max_age_ms=50_000)
    read = ReaderConfig(request_timeout_ms=15_000, metadata_max_age_ms=60_000, client_rack="r1")
    assert producer_of(config(**given)) == written
    assert sources_of(config(**given)) == read
    assert restorer_of(config(**given)) == evolve(
        read, isolation_level="read_committed", client_rack="r2", request_timeout_ms=40_000, fetch_min_bytes=2
    )


def test_isolation_levels() -> None:
    exactly_once = config(**{"processing.guarantee": "exactly_once_v2"})
    assert sources_of(exactly_once).is_committed_only
    chosen = config(**{"consumer.isolation.level": "read_committed"})
    assert sources_of(chosen).is_committed_only
    nearer = config(
        **{"consumer.isolation.level": "read_committed", "main.consumer.isolation.level": "read_uncommitted"}
    )
    assert not sources_of(nearer).is_committed_only
    assert restorer_of(nearer).is_committed_only


def test_aliases_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    given = {"producer.max.in.flight": 2, "consumer.fetch.wait.max.ms": 7, "restore.consumer.fetch.wait.max.ms": 8}
    with caplog.at_level(logging.INFO, "kafka_groups.config"):
        log_aliases_of(config(**given))
        assert restorer_of(config(**given)).fetch_max_wait_ms == 8
        assert sources_of(config(**given)).fetch_max_wait_ms == 7
    assert caplog.messages == [
        "The key producer.max.in.flight is read as producer.max.in.flight.requests.per.connection",
        "The key consumer.fetch.wait.max.ms is read as consumer.fetch.max.wait.ms",
        "The key restore.consumer.fetch.wait.max.ms is read as restore.consumer.fetch.max.wait.ms",
    ]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"producer.batch.num.messages": 5}, "Set producer.batch.size."),
        (
            {"producer.retry.backoff.ms": 2_000},
            "'producer.retry.backoff.ms'.*Write it without prefix: retry.backoff.ms",
        ),
        ({"producer.compression.level": 2}, r"producer\.compression\.level .*: producer\.compression\.type is none"),
    ],
)
def test_a_bad_key_of_the_producer_is_refused(given: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        producer_of(config(**given))


def test_bad_keys_of_a_reader_are_refused_together() -> None:
    given = config(**{"consumer.debug": "all", "main.consumer.fetch.error.backoff.ms": 5})
    with pytest.raises(ConfigurationError, match="has 2 problems") as caught:
        sources_of(given)
    assert "'consumer.debug'" in str(caught.value)
    assert "'main.consumer.fetch.error.backoff.ms'" in str(caught.value)
    with pytest.raises(ConfigurationError, match=r"'consumer\.debug'"):
        restorer_of(given)


def test_one_key_has_no_two_values_for_changelogs_and_global_topics() -> None:
    given = {"consumer.fetch.min.bytes": 1, "restore.consumer.fetch.min.bytes": 2}
    assert restorer_of(config(**given, **{"global.consumer.fetch.min.bytes": "2"})).fetch_min_bytes == 2
    with pytest.raises(ConfigurationError) as caught:
        restorer_of(config(**given, **{"global.consumer.fetch.min.bytes": 3}))
    assert str(caught.value) == (
        "restore.consumer.fetch.min.bytes=2 and global.consumer.fetch.min.bytes=3 differ, but one reader has the "
        "changelogs and the global topics. Remove one of them, or give both the same value."
    )


@pytest.mark.parametrize("reader", [sources_of, restorer_of])
def test_a_wait_at_brokers_is_shorter_than_the_timeout_of_requests(
    reader: Callable[[StreamsConfig], ReaderConfig],
) -> None:
    assert reader(config(**{"request.timeout.ms": 600})).fetch_max_wait_ms == 300
    assert reader(config(**{"request.timeout.ms": 600, "consumer.fetch.max.wait.ms": 599})).fetch_max_wait_ms == 599
    with pytest.raises(ConfigurationError, match=r"fetch\.max\.wait\.ms=600 .* request\.timeout\.ms=600"):
        reader(config(**{"request.timeout.ms": 600, "consumer.fetch.wait.max.ms": 600}))
