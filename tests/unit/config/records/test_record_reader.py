"""The configuration of a reader: its defaults and bounds, and the sizes that follow from it."""

import re
from typing import Any

import pytest
from attrs.exceptions import FrozenInstanceError

from kafka_groups.config.records.record_reader import ReaderConfig, default_fetch_wait_ms
from kafka_groups.errors import ConfigurationError

DEFAULTS = {
    "check_crcs": True,
    "client_rack": "",
    "fetch_buffer_bytes": 33_554_432,
    "fetch_max_bytes": 16_777_216,
    "fetch_max_wait_ms": 500,
    "fetch_min_bytes": 1,
    "isolation_level": "read_uncommitted",
    "max_partition_fetch_bytes": 1_048_576,
    "metadata_max_age_ms": 300_000,
    "request_timeout_ms": 30_000,
}


def test_the_defaults() -> None:
    config = ReaderConfig()
    assert {name: getattr(config, name) for name in DEFAULTS} == DEFAULTS
    with pytest.raises(FrozenInstanceError):
        config.fetch_min_bytes = 2  # type: ignore[misc]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"fetch_min_bytes": -1}, "Invalid value -1 for fetch_min_bytes (fetch.min.bytes): below the minimum of 0."),
        ({"fetch_max_bytes": 2**31}, "above the maximum of 2147483647"),
        ({"fetch_max_wait_ms": "soon"}, "not a whole number"),
        ({"fetch_buffer_bytes": 0}, "below the minimum of 1"),
        ({"max_partition_fetch_bytes": 0.5}, "not a whole number"),
        ({"request_timeout_ms": 0}, "below the minimum of 1"),
        ({"isolation_level": "committed"}, "Use read_committed or read_uncommitted"),
        ({"check_crcs": "no"}, "not true or false"),
    ],
)
def test_bad_values_are_refused(given: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(why)):
        ReaderConfig(**given)


def test_a_response_fits_into_the_buffer_and_a_partition_into_a_response() -> None:
    assert ReaderConfig().response_bytes == 16_777_216
    assert ReaderConfig().partition_bytes == 1_048_576
    small = ReaderConfig(fetch_buffer_bytes=1_000)
    assert (small.response_bytes, small.partition_bytes) == (1_000, 1_000)
    narrow = ReaderConfig(max_partition_fetch_bytes=10)
    assert (narrow.response_bytes, narrow.partition_bytes) == (16_777_216, 10)


def test_the_isolation_level_as_a_flag() -> None:
    assert ReaderConfig(isolation_level="read_committed").is_committed_only
    assert not ReaderConfig().is_committed_only


def test_a_fetch_is_answered_before_it_times_out() -> None:
    assert ReaderConfig(fetch_max_wait_ms=4_999, request_timeout_ms=5_000).fetch_max_wait_ms == 4_999
    with pytest.raises(ConfigurationError) as caught:
        ReaderConfig(fetch_max_wait_ms=5_000, request_timeout_ms=5_000)
    assert str(caught.value) == (
        "fetch.max.wait.ms=5000 of a consumer is not below its request.timeout.ms=5000, so fetches would time out "
        "while brokers wait for records. Set consumer.fetch.max.wait.ms to less, or consumer.request.timeout.ms to "
        "more."
    )


@pytest.mark.parametrize(("timeout_ms", "wait_ms"), [(30_000, 500), (1_000, 500), (999, 499), (1, 0)])
def test_without_a_key_the_wait_is_shorter_than_a_short_timeout(timeout_ms: int, wait_ms: int) -> None:
    assert default_fetch_wait_ms(timeout_ms) == wait_ms
