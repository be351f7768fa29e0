"""Subscriptions and responses of foreign-key joins as bytes. The bytes are from Kafka Streams 4.3.1."""

import pytest

from kafka_groups import serdes
from kafka_groups.errors import DeserializationError
from kafka_groups.streams.processors.subscriptions import (
    SUBSCRIPTION,
    Instruction,
    Subscription,
    SubscriptionResponse,
    SubscriptionResponseSerde,
    subscription_key,
)

HASH = b"\x8f\xcd\xdc\xf6\x94Q\xe7\x98\xb0\x8f\x9e\xdd\xfc0\xe0\x05"
RESPONSES = SubscriptionResponseSerde("responses", is_immutable=False, value=serdes.string)

SUBSCRIPTIONS = [
    (Subscription(Instruction.DELETE_KEY_AND_PROPAGATE, None, b"a", 0), b"\x81\x01a\x00\x00\x00\x00"),
    (
        Subscription(Instruction.PROPAGATE_ONLY_IF_FK_VAL_AVAILABLE, HASH, b"a", 0),
        b"\x01\x03" + HASH + b"a\x00\x00\x00\x00",
    ),
    (
        Subscription(Instruction.PROPAGATE_NULL_IF_NO_FK_VAL_AVAILABLE, HASH, b"", 258),
        b"\x01\x02" + HASH + b"\x00\x00\x01\x02",
    ),
    (Subscription(Instruction.DELETE_KEY_NO_PROPAGATE, HASH, b"abcde", None), b"\x00\x00" + HASH + b"abcde"),
]


@pytest.mark.parametrize(("given", "data"), SUBSCRIPTIONS)
def test_subscriptions(given: Subscription, data: bytes) -> None:
    assert SUBSCRIPTION.serializer("t", is_key=False)(given, []) == data
    assert SUBSCRIPTION.deserializer("t", is_key=False)(data, ()) == given


@pytest.mark.parametrize(
    ("given", "data"),
    [
        (SubscriptionResponse(HASH, "row"), b"\x00" + HASH + b"row"),
        (SubscriptionResponse(HASH, None), b"\x00" + HASH),
        (SubscriptionResponse(None, None), b"\x80"),
    ],
)
def test_responses(given: SubscriptionResponse, data: bytes) -> None:
    assert RESPONSES.serializer("t", is_key=False)(given, []) == data
    assert RESPONSES.deserializer("t", is_key=False)(data, ()) == given


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "cut off"),
        (b"\x01\x03" + HASH[:-1], "cut off"),
        (b"\x01\x03" + HASH + b"\x00", "cut off"),
        (b"\x02\x03" + HASH + b"a\x00\x00\x00\x00", "has version 2. Versions up to 1 are supported"),
        (b"\x81\x07a\x00\x00\x00\x00", "unknown instruction 7"),
    ],
)
def test_broken_subscriptions_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(DeserializationError, match=message):
        SUBSCRIPTION.deserializer("t", is_key=False)(data, ())


@pytest.mark.parametrize(("data", "message"), [(b"\x00" + HASH[1:], "cut off"), (b"\x01" + HASH, "has version 1")])
def test_broken_responses_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(DeserializationError, match=message):
        RESPONSES.deserializer("t", is_key=False)(data, ())


def test_keys_of_subscriptions_begin_with_the_foreign_key() -> None:
    assert subscription_key(b"fk", b"pk") == b"\x00\x00\x00\x02fkpk"
    assert subscription_key(b"fk") == b"\x00\x00\x00\x02fk"
