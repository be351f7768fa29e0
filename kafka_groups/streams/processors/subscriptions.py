"""Messages between the two sides of a foreign-key join (KIP-213), as values and as bytes. The bytes are Java's.

The left table's side subscribes to a row of the right table for a row of its own. The right table's side keeps the
subscription, and answers at once and at each change of its row.
"""

import enum
import struct
from collections.abc import Sequence
from typing import Any

from attrs import frozen

from kafka_groups.errors import DeserializationError
from kafka_groups.serdes import Serde
from kafka_groups.serdes.serde import BoundDeserializer, BoundSerializer
from kafka_groups.types import Header

__all__ = [
    "SUBSCRIPTION",
    "Instruction",
    "Subscription",
    "SubscriptionResponse",
    "SubscriptionResponseSerde",
    "subscription_key",
]

_NO_HASH = 0x80
_VERSION = 0x7F
_HASH_BYTES = 16
_INT = struct.Struct(">i")


class Instruction(enum.IntEnum):
    """An order to the right table's side about a subscription."""

    DELETE_KEY_NO_PROPAGATE = 0
    DELETE_KEY_AND_PROPAGATE = 1
    PROPAGATE_NULL_IF_NO_FK_VAL_AVAILABLE = 2
    PROPAGATE_ONLY_IF_FK_VAL_AVAILABLE = 3


@frozen
class Subscription:
    """A row of the left table that wants to be told about a row of the right table.

    Attributes:
        instruction: How the other side handles the subscription.
        value_hash: The hash of the left row's value, or None if the row was deleted.
        primary_key: The left row's key.
        partition: The left row's partition, or None in a subscription of a Java client before 3.2 (version 0).
    """

    instruction: Instruction
    value_hash: bytes | None
    primary_key: bytes
    partition: int | None


@frozen
class SubscriptionResponse:
    """A row of the right table for a row of the left table.

    Attributes:
        value_hash: The hash of the subscription.
        value: The right row's value, or None.
        partition: The left row's partition, if it is known. It is not in the bytes.
    """

    value_hash: bytes | None
    value: Any
    partition: int | None = None


def subscription_key(foreign_key: bytes, primary_key: bytes = b"") -> bytes:
    """Return the key of a subscription in its store; without a primary key, the prefix of all with a foreign key."""
    # The format of CombinedKeySchema.toBytes in Kafka. The length keeps a key from being taken for the prefix of a
    # longer one.
    return _INT.pack(len(foreign_key)) + foreign_key + primary_key


def _write_subscription(given: Subscription, _headers: list[Header]) -> bytes:
    has_partition = given.partition is not None
    # The format of SubscriptionWrapperSerde in Kafka: one bit for "no hash" and seven for the version, the instruction,
    # the hash, the primary key, and since version 1 the partition at the end.
    head = bytes([_flagged(int(has_partition), given.value_hash), given.instruction])
    tail = b"" if given.partition is None else _INT.pack(given.partition)
    return head + (given.value_hash or b"") + given.primary_key + tail


def _read_subscription(data: bytes, _headers: Sequence[Header]) -> Subscription:
    version, body_at = _version(data, "subscription", newest=1, header=2)
    value_hash = None if data[0] & _NO_HASH else data[2:body_at]
    end, partition = len(data), None
    # The primary key has no length: it ends where the partition begins, or with the bytes.
    if version == 1:
        end -= _INT.size
        if end < body_at:
            raise DeserializationError(f"A subscription of a foreign-key join is cut off: {data!r}.")
        partition = _INT.unpack_from(data, end)[0]
    return Subscription(_instruction(data[1]), value_hash, data[body_at:end], partition)


def _instruction(number: int) -> Instruction:
    try:
        return Instruction(number)
    except ValueError:
        raise DeserializationError(
            f"A subscription of a foreign-key join has the unknown instruction {number}."
        ) from None


@frozen(repr=False)
class SubscriptionSerde(Serde[Subscription]):
    """Subscriptions as version 1, or as version 0 those that have no partition."""

    def serializer(self, topic: str, *, is_key: bool) -> BoundSerializer[Subscription]:
        """Return the function that serialises."""
        del topic, is_key
        return _write_subscription

    def deserializer(self, topic: str, *, is_key: bool) -> BoundDeserializer[Subscription]:
        """Return the function that deserialises."""
        del topic, is_key
        return _read_subscription


SUBSCRIPTION = SubscriptionSerde("subscription of a foreign-key join", is_immutable=True)


@frozen(repr=False)
class SubscriptionResponseSerde(Serde[SubscriptionResponse]):
    """Responses.

    Attributes:
        value: The serde of the right table's values.
    """

    value: Serde[Any]

    def serializer(self, topic: str, *, is_key: bool) -> BoundSerializer[SubscriptionResponse]:
        """Return the function that serialises."""
        write = self.value.serializer(topic, is_key=is_key)

        def serialize(response: SubscriptionResponse, headers: list[Header]) -> bytes:
            # A missing row has no bytes. A serde that writes an empty value for a row would make the same, as in
            # Kafka's SubscriptionResponseWrapperSerde.
            row = b"" if response.value is None else write(response.value, headers)
            return bytes([_flagged(0, response.value_hash)]) + (response.value_hash or b"") + row

        return serialize

    def deserializer(self, topic: str, *, is_key: bool) -> BoundDeserializer[SubscriptionResponse]:
        """Return the function that deserialises."""
        read = self.value.deserializer(topic, is_key=is_key)

        def deserialize(data: bytes, headers: Sequence[Header]) -> SubscriptionResponse:
            _, body_at = _version(data, "response", newest=0, header=1)
            row = data[body_at:]
            return SubscriptionResponse(
                None if data[0] & _NO_HASH else data[1:body_at], read(row, headers) if row else None
            )

        return deserialize


def _flagged(version: int, value_hash: bytes | None) -> int:
    return version | (_NO_HASH if value_hash is None else 0)


def _version(data: bytes, word: str, *, newest: int, header: int) -> tuple[int, int]:
    """Return the version, and where the part after the hash begins."""
    body_at = header + (0 if data and data[0] & _NO_HASH else _HASH_BYTES)
    if len(data) < body_at:
        raise DeserializationError(f"A {word} of a foreign-key join is cut off: {data!r}.")
    version = data[0] & _VERSION
    # Java refuses them, too (UnsupportedVersionException in SubscriptionReceiveProcessorSupplier and
    # ResponseJoinProcessorSupplier).
    if version > newest:
        raise DeserializationError(
            f"A {word} of a foreign-key join has version {version}. Versions up to {newest} are supported."
        )
    return version, body_at
