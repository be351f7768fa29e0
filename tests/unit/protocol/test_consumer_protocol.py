"""Subscriptions and assignments of Kafka's consumer protocol."""

import pytest

from kafka_groups.errors import MemberDataError, MemberDataProblem
from kafka_groups.protocol.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    subscribed_topics,
    subscription_version,
)
from tests.support.members.classic_member import subscription
from tests.support.members.user_data_golden import CAPTURED

OWNED = b"\x00\x00\x00\x01\x00\x01t\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x00\x03"
GENERATION, RACK, NO_RACK = b"\x00\x00\x00\x05", b"\x00\x01r", b"\xff\xff"
COUNTS = "wcapp-counts-repartition"


def test_a_subscription_of_the_first_version() -> None:
    found = ConsumerProtocolSubscription.decode(subscription("a", "b"))
    assert found == ConsumerProtocolSubscription(("a", "b"), version=0)
    assert found.encode() == subscription("a", "b")


def later(version: int, *fields: bytes) -> bytes:
    return version.to_bytes(2, "big") + subscription("t")[2:] + b"".join(fields)


@pytest.mark.parametrize(
    ("version", "fields", "generation", "rack"),
    [
        (1, (OWNED,), -1, None),
        (2, (OWNED, GENERATION), 5, None),
        (3, (OWNED, GENERATION, RACK), 5, "r"),
        (3, (OWNED, GENERATION, NO_RACK), 5, None),
        (9, (OWNED, GENERATION, RACK), 5, "r"),
    ],
)
def test_later_versions_say_what_is_owned(
    version: int, fields: tuple[bytes, ...], generation: int, rack: str | None
) -> None:
    data = later(version, *fields)
    found = ConsumerProtocolSubscription.decode(data + b"what newer versions have")
    assert found == ConsumerProtocolSubscription(("t",), None, {"t": (1, 3)}, generation, rack, version)
    assert found.encode() == min(version, 3).to_bytes(2, "big") + data[2:]


def test_captured_subscriptions_are_read_and_written_again() -> None:
    joining = ConsumerProtocolSubscription.decode(CAPTURED["member_b_joins"])
    assert (joining.topics, joining.owned_partitions) == (("in", COUNTS), {})
    assert (joining.generation_id, joining.rack_id) == (-1, "r2")
    assert joining.encode() == CAPTURED["member_b_joins"]
    again = ConsumerProtocolSubscription.decode(CAPTURED["member_a_rejoins"])
    assert again.owned_partitions == {"in": (0, 1), COUNTS: (0, 1)}
    assert (again.generation_id, again.rack_id) == (2, "r1")
    assert again.encode() == CAPTURED["member_a_rejoins"]


def test_the_captured_assignment_is_read_and_written_again() -> None:
    found = ConsumerProtocolAssignment.decode(CAPTURED["assignment_of_b"])
    assert (found.version, found.assigned_partitions) == (3, {})
    assert found.encode() == CAPTURED["assignment_of_b"]


def test_partitions_of_a_topic_that_is_named_twice_are_added() -> None:
    twice = b"\x00\x00\x00\x02" + OWNED[4:] + OWNED[4:-1] + b"\x07"
    assert ConsumerProtocolSubscription.decode(later(1, twice)).owned_partitions == {"t": (1, 3, 1, 7)}


@pytest.mark.parametrize("version", range(4))
@pytest.mark.parametrize("user_data", [None, b"", b"data"])
def test_an_assignment_is_read_as_it_was_written(version: int, user_data: bytes | None) -> None:
    assignment = ConsumerProtocolAssignment({"t": (0, 2), "ü": (1,)}, user_data, version)
    written = assignment.encode()
    assert written[:2] == version.to_bytes(2, "big")
    assert ConsumerProtocolAssignment.decode(written) == assignment


def test_an_assignment_of_an_unknown_version_is_read_like_the_latest() -> None:
    assignment = ConsumerProtocolAssignment({"t": (0,)}, b"data")
    written = b"\x00\x04" + assignment.encode()[2:] + b"what newer versions have"
    found = ConsumerProtocolAssignment.decode(written)
    assert (found.version, found.assigned_partitions, found.user_data) == (4, {"t": (0,)}, b"data")
    assert found.encode() == assignment.encode()


def test_no_bytes_are_an_assignment_of_nothing() -> None:
    assert ConsumerProtocolAssignment.decode(b"") == ConsumerProtocolAssignment({}, None)


def refused(data: bytes) -> MemberDataError:
    with pytest.raises(MemberDataError) as caught:
        ConsumerProtocolSubscription.decode(data)
    assert caught.value.problem is MemberDataProblem.BROKEN
    return caught.value


def test_damaged_data_are_refused() -> None:
    for whole in (subscription("t"), later(1, OWNED), later(2, OWNED, GENERATION), later(3, OWNED, GENERATION, RACK)):
        for size in range(len(whole)):
            refused(whole[:size])
    assignment = ConsumerProtocolAssignment({"t": (1,)}, version=0).encode()
    for size in range(1, len(assignment)):
        with pytest.raises(MemberDataError):
            ConsumerProtocolAssignment.decode(assignment[:size])


def test_errors_name_the_field() -> None:
    assert refused(b"\xff\xff" + subscription("t")[2:]).field == "ConsumerProtocolSubscription.version"
    assert "it is -1" in str(refused(b"\xff\xff" + subscription("t")[2:]))
    assert "announces -1 items" in str(refused(b"\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff"))
    assert "needs -1 bytes, and has 1 byte left" in str(refused(b"\x00\x00\x00\x00\x00\x01\xff\xfft"))
    error = refused(b"\x00\x00\x00\x00\x00\x01\x00\x01\xff")
    assert "ConsumerProtocolSubscription.topics" in str(error)
    assert "invalid start byte" in str(error)


def test_only_the_topics_are_read_of_a_subscription_whose_rest_may_be_damaged() -> None:
    assert subscribed_topics(subscription("a", "b")[:-4]) == ("a", "b")
    assert subscribed_topics(later(-1 & 0xFFFF, b"?")) == ("t",)
    with pytest.raises(MemberDataError, match="topics"):
        subscribed_topics(subscription("a")[:-5])


def test_the_version_of_a_subscription_is_known_even_if_it_is_damaged() -> None:
    assert subscription_version(later(3)) == 3
    assert subscription_version(b"?") == ord("?")
    assert subscription_version(b"") == 0


def test_what_does_not_fit_is_not_written() -> None:
    for too_much in ({"t": (2**31,)}, {"t" * 2**15: (0,)}, {"\ud800": (0,)}):
        with pytest.raises(MemberDataError, match=r"Cannot write ConsumerProtocolAssignment\.assignedPartitions"):
            ConsumerProtocolAssignment(too_much).encode()
