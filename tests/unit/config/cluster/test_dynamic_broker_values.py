"""Values of a broker's dynamic configs. Kafka 4.4.0 wrote these texts."""

import re

import pytest

from kafka_groups.config.cluster.dynamic_broker_values import check_dynamic_value
from kafka_groups.errors import InvalidConfigError

WRONG = [
    ("log.cleaner.threads", "x", "x: Not a number of type INT"),
    (
        "unclean.leader.election.enable",
        "maybe",
        "maybe: Expected value to be either true or false",
    ),
    (
        "log.cleaner.min.cleanable.ratio",
        "2",
        "2.0: Value must be no more than 1",
    ),
    (
        "log.cleaner.min.cleanable.ratio",
        "x",
        "x: Not a number of type DOUBLE",
    ),
    (
        "compression.type",
        "foo",
        "foo: String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer",
    ),
    (
        "log.cleanup.policy",
        "delete,foo",
        "foo: String must be one of: compact, delete",
    ),
    (
        "log.message.timestamp.type",
        "foo",
        "foo: String must be one of: CreateTime, LogAppendTime",
    ),
    ("log.segment.bytes", "10", "10: Value must be at least 1048576"),
    ("max.connections", "-1", "-1: Value must be at least 0"),
    (
        "message.max.bytes",
        "99999999999",
        "99999999999: Not a number of type INT",
    ),
    (
        "compression.gzip.level",
        "77",
        "77: Value must be between 1 and 9 or equal to -1",
    ),
    ("log.retention.ms", "abc", "abc: Not a number of type LONG"),
    ("log.roll.ms", "-1", "requirement failed: log.roll.ms must be greater than or equal to 1"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value", "text"), WRONG)
def test_values_that_are_refused(name: str, value: str, text: str) -> None:
    shown, _, reason = text.partition(": ")
    whole = f"Invalid value {shown} for configuration {name}: {reason}"
    with pytest.raises(InvalidConfigError, match=f"^{re.escape(text if 'failed' in text else whole)}$"):
        check_dynamic_value(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("log.retention.ms", " -5 "),
        ("log.preallocate", "TRUE"),
        ("log.cleaner.min.cleanable.ratio", "0.25"),
        ("compression.gzip.level", "-1"),
        ("log.cleanup.policy", "compact, delete"),
        ("sasl.login.refresh.buffer.seconds", "32767"),
        ("ssl.keystore.password", "anything"),
        ("max.decompressed.message.bytes", "2147483639"),
    ],
)
def test_values_that_fit(name: str, value: str) -> None:
    check_dynamic_value(name, value)
