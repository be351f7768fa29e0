"""The configuration of a producer: its defaults and bounds, and the level of each codec."""

import re
from typing import Any

import pytest

from kafka_groups.config.records.record_producer import ProducerConfig
from kafka_groups.errors import ConfigurationError

DEFAULTS = {
    "batch_size": 131_072,
    "buffer_memory": 33_554_432,
    "compression_type": "none",
    "linger_ms": 5,
    "max_in_flight_requests_per_connection": 5,
    "max_request_size": 1_048_576,
    "metadata_max_age_ms": 300_000,
    "request_timeout_ms": 30_000,
    "transaction_timeout_ms": 10_000,
}


def test_the_defaults() -> None:
    config = ProducerConfig()
    assert {name: getattr(config, name) for name in DEFAULTS} == DEFAULTS


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"linger_ms": -1}, "Invalid value -1 for linger_ms (linger.ms): below the minimum of 0."),
        ({"linger_ms": 0.5}, "not a whole number"),
        ({"batch_size": 0}, "below the minimum of 1"),
        ({"buffer_memory": 2**63}, "above the maximum of"),
        ({"max_request_size": 999}, "below the minimum of 1000"),
        ({"compression_type": "brotli"}, "Use none or gzip or snappy or lz4 or zstd"),
        ({"compression_gzip_level": 0}, "it would not compress. Use a whole number from 1 to 9, or -1"),
        ({"compression_lz4_level": 18}, "above the maximum of 17"),
        ({"compression_zstd_level": 23}, "above the maximum of 22"),
        ({"transaction_timeout_ms": 0}, "below the minimum of 1"),
        ({"max_in_flight_requests_per_connection": 6}, "above the maximum of 5"),
        ({"max_in_flight_requests_per_connection": 0}, "below the minimum of 1"),
    ],
)
def test_bad_values_are_refused(given: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(why)):
        ProducerConfig(**given)


@pytest.mark.parametrize(
    ("given", "level"),
    [
        ({}, None),
        ({"compression_type": "snappy"}, None),
        ({"compression_type": "snappy", "compression_level": 0}, None),
        ({"compression_type": "gzip"}, 6),
        ({"compression_type": "gzip", "compression_level": 0}, 0),
        ({"compression_type": "gzip", "compression_gzip_level": 9}, 9),
        ({"compression_type": "lz4"}, 0),
        ({"compression_type": "lz4", "compression_lz4_level": 9}, 0),  # Java's name for the fast compressor
        ({"compression_type": "lz4", "compression_lz4_level": 10}, 10),
        ({"compression_type": "lz4", "compression_level": 9}, 9),
        ({"compression_type": "zstd"}, 3),
        ({"compression_type": "zstd", "compression_zstd_level": -7}, -7),
        ({"compression_type": "zstd", "compression_level": 22}, 22),
        ({"compression_type": "zstd", "compression_gzip_level": 9}, 3),  # of another codec, as in Java
    ],
)
def test_the_level_of_the_codec(given: dict[str, Any], level: int | None) -> None:
    assert ProducerConfig(**given).codec_level == level


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({}, "compression.type is none. Set compression.type to gzip, lz4, zstd, snappy, or remove compression.level."),
        ({"compression_type": "gzip", "compression_level": 10}, "gzip has no such level. Use a whole number from 0"),
        (
            {"compression_type": "lz4", "compression_level": 13},
            "lz4 has no such level. Use a whole number from 0 to 12",
        ),
        ({"compression_type": "snappy"}, "snappy has no such level. Use a whole number from 0 to 0, or -1"),
        ({"compression_type": "zstd", "compression_level": 23}, "above the maximum of 22"),
        (
            {"compression_type": "gzip", "compression_gzip_level": 2},
            "compression.gzip.level is set, too. Remove one of",
        ),
    ],
)
def test_a_level_that_would_be_ignored_is_refused(given: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(why)):
        ProducerConfig(**{"compression_level": 5, **given})


def test_a_level_that_is_refused_is_named_with_its_prefix() -> None:
    def refusal(**given: Any) -> str:
        with pytest.raises(ConfigurationError) as caught:
            ProducerConfig(**given, compression_level=5, prefix="producer.")
        return str(caught.value)

    assert refusal() == (
        "Invalid value 5 for producer.compression.level (compression.level): producer.compression.type is none. Set "
        "producer.compression.type to gzip, lz4, zstd, snappy, or remove producer.compression.level."
    )
    assert "for producer.compression.level (compression.level): snappy has" in refusal(compression_type="snappy")
    assert "producer.compression.gzip.level is set, too" in refusal(compression_type="gzip", compression_gzip_level=2)
    assert ProducerConfig(prefix="producer.") == ProducerConfig()
