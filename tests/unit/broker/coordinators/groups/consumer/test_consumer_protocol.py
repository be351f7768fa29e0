"""Subscriptions and assignments of Kafka's consumer protocol."""

import pytest

from kafka_groups.broker.coordinators.groups.consumer.consumer_protocol import (
    read_assignment,
    read_subscription,
    subscription_version,
    written_assignment,
)
from tests.support.members.classic_member import subscription

OWNED = b"\x00\x00\x00\x01\x00\x01t\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x00\x03"
GENERATION, RACK, NO_RACK = b"\x00\x00\x00\x05", b"\x00\x01r", b"\xff\xff"


def test_a_subscription_of_the_first_version() -> None:
    found = read_subscription(subscription("a", "b"))
    assert (found.version, found.topics, found.owned) == (0, ("a", "b"), {})


def later(version: int, *fields: bytes) -> bytes:
    return version.to_bytes(2, "big") + subscription("t")[2:] + b"".join(fields)


@pytest.mark.parametrize(
    ("version", "fields", "rack"),
    [
        (1, (OWNED,), None),
        (2, (OWNED, GENERATION), None),
        (3, (OWNED, GENERATION, RACK), "r"),
        (3, (OWNED, GENERATION, NO_RACK), None),
        (9, (OWNED, GENERATION, RACK), "r"),
    ],
)
def test_later_versions_say_what_is_owned(version: int, fields: tuple[bytes, ...], rack: str | None) -> None:
    found = read_subscription(later(version, *fields, b"what newer versions have"))
    assert (found.version, found.owned, found.rack) == (version, {"t": (1, 3)}, rack)


@pytest.mark.parametrize("version", range(4))
def test_an_assignment_is_read_as_it_was_written(version: int) -> None:
    partitions = {"t": (0, 2), "ü": (1,)}
    written = written_assignment(partitions, version)
    assert written[:2] == version.to_bytes(2, "big")
    assert read_assignment(written) == partitions
    assert read_assignment(b"") == {}


def test_damaged_data_are_refused() -> None:
    for whole in (subscription("t"), later(1, OWNED), later(2, OWNED, GENERATION), later(3, OWNED, GENERATION, RACK)):
        for size in range(len(whole)):
            with pytest.raises(ValueError):  # noqa: PT011 - any way of ending too early
                read_subscription(whole[:size])
    assignment = written_assignment({"t": (1,)}, 0)
    for size in range(1, len(assignment)):
        with pytest.raises(ValueError):  # noqa: PT011 - any way of ending too early
            read_assignment(assignment[:size])
    for negative in (b"\xff\xff" + subscription("t")[2:], b"\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff"):
        with pytest.raises(ValueError, match="-1"):
            read_subscription(negative)
    with pytest.raises(ValueError, match="bytes at"):
        read_subscription(b"\x00\x00\x00\x00\x00\x01\xff\xfft")
    with pytest.raises(ValueError, match="invalid start byte"):
        read_subscription(b"\x00\x00\x00\x00\x00\x01\x00\x01\xff")


def test_the_version_of_a_subscription_is_known_even_if_it_is_damaged() -> None:
    assert subscription_version(later(3)) == 3
    assert subscription_version(b"?") == ord("?")
    assert subscription_version(b"") == 0
