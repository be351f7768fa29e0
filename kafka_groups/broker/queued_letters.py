"""Dead letters of share groups in their queue, for tests that ask what the brokers have written."""

from attrs import field, frozen

from kafka_groups.broker.produced import ProducedRecord

__all__ = ["QueuedLetter", "queued_letter"]


@frozen
class QueuedLetter:
    """A dead letter that the brokers wrote (KIP-1191).

    Attributes:
        topic: The topic of the record that the letter is about.
        partition: The partition of that record.
        offset: The offset of that record.
        delivery_count: The delivery count of that record.
        reason: The reason, in the brokers' words.
        key: The record's key, if the brokers copy records.
        value: The record's value, if the brokers copy records.
        written: The letter itself: its place in the queue, its headers and its timestamp.
    """

    topic: str
    partition: int
    offset: int
    delivery_count: int
    reason: str
    key: bytes | None = field(repr=False)
    value: bytes | None
    written: ProducedRecord = field(repr=False)


def queued_letter(record: ProducedRecord, group_id: str) -> QueuedLetter | None:
    """Return a record of a queue as a letter, or None if it is not a letter of this group."""
    headers = {name: value.decode() for name, value in record.headers if value is not None}
    if headers.get("__dlq.errors.group") != group_id:
        return None
    return QueuedLetter(
        headers["__dlq.errors.topic"],
        int(headers["__dlq.errors.partition"]),
        int(headers["__dlq.errors.offset"]),
        int(headers["__dlq.errors.delivery.count"]),
        headers["__dlq.errors.message"],
        record.key,
        record.value,
        record,
    )
