"""Bytes of classic groups: all that is written is read again, and broken bytes raise nothing but the named error."""

import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kafka_groups.errors import MemberDataError, MemberDataProblem
from kafka_groups.protocol.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from kafka_groups.protocol.modified_utf8 import modified_utf8, text_of_modified_utf8
from kafka_groups.protocol.streams_user_data.assignment_info import AssignmentInfo, decode_assignment
from kafka_groups.protocol.streams_user_data.subscription_info import SubscriptionInfo, decode_subscription
from tests.support.members.user_data_golden import CAPTURED, encoded
from tests.support.members.user_data_strategies import assignment_infos, assignments, subscription_infos, subscriptions

DECODERS: list[Callable[[bytes], Any]] = [
    decode_subscription,
    decode_assignment,
    ConsumerProtocolSubscription.decode,
    ConsumerProtocolAssignment.decode,
]
GOLDEN = [each.data for structure in ("SubscriptionInfo", "AssignmentInfo") for each in encoded(structure)]
SAMPLES = [*GOLDEN, *CAPTURED.values()]
MEGABYTE = 1 << 20


@given(subscription_infos())
def test_the_user_data_of_a_subscription(info: SubscriptionInfo) -> None:
    assert decode_subscription(info.encode()) == info


@given(assignment_infos())
def test_the_user_data_of_an_assignment(info: AssignmentInfo) -> None:
    data = info.encode()
    # Pairs of UTF-16 that came as halves are characters when they are read.
    assert decode_assignment(data).encode() == data
    assert repr(decode_assignment(data)) == repr(decode_assignment(decode_assignment(data).encode()))


@given(subscriptions())
def test_a_subscription(subscription: ConsumerProtocolSubscription) -> None:
    data = subscription.encode()
    found = ConsumerProtocolSubscription.decode(data)
    assert found == subscription
    assert list(found.owned_partitions) == list(subscription.owned_partitions)


@given(assignments())
def test_an_assignment(assignment: ConsumerProtocolAssignment) -> None:
    found = ConsumerProtocolAssignment.decode(assignment.encode())
    assert found == assignment
    assert list(found.assigned_partitions) == list(assignment.assigned_partitions)


@given(st.text(st.characters()))
@example("\ud83d\ude00")
def test_java_texts(text: str) -> None:
    joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    assert text_of_modified_utf8(modified_utf8(text)) == joined


def is_refused(decode: Callable[[bytes], Any], data: bytes) -> bool:
    try:
        found = decode(data)
    except MemberDataError as error:
        if error.problem is MemberDataProblem.INVALID_VALUE:
            raise
        return True
    if isinstance(found, SubscriptionInfo | AssignmentInfo):
        # Bytes that nobody would write, such as a sub-topology that comes twice, are read as others that mean the same.
        again = found.encode()
        assert decode(again) == found
        assert decode(again).encode() == again
    return False


@given(st.sampled_from(DECODERS), st.binary(max_size=80))
def test_random_bytes(decode: Callable[[bytes], Any], data: bytes) -> None:
    is_refused(decode, data)


@given(
    st.sampled_from(DECODERS),
    st.sampled_from(SAMPLES),
    st.lists(st.tuples(st.integers(0), st.binary(min_size=1, max_size=8)), min_size=1, max_size=3),
)
def test_overwritten_bytes(decode: Callable[[bytes], Any], data: bytes, changes: list[tuple[int, bytes]]) -> None:
    changed = bytearray(data)
    for position, written in changes:
        start = position % len(data)
        changed[start : start + len(written)] = written
    is_refused(decode, bytes(changed))


@pytest.mark.parametrize("sample", SAMPLES, ids=len)
def test_no_number_in_the_bytes_sizes_memory(sample: bytes) -> None:
    largest, refused = b"\x7f\xff\xff\xff", 0
    tracemalloc.start()
    try:
        for start in range(len(sample) - 3):
            changed = sample[:start] + largest + sample[start + 4 :]
            refused += sum(is_refused(decode, changed) for decode in DECODERS)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert refused > len(sample)
    assert peak < MEGABYTE
