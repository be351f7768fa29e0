"""Parse the values of records for a handler."""

from collections.abc import Callable
from typing import Any

from kafka_groups.serdes.serde import BoundDeserializer, Serde
from kafka_groups.share.delivery.records import AnyRecord, DeserializedRecord, copied_record, delivery_of
from kafka_groups.share.workers.rules.failures.signals import ParseError

__all__ = ["ValueOf", "parsed_record", "value_reader"]

ValueOf = Callable[[AnyRecord], Any]


class NullValueError(ValueError):
    """A value is null, and the handler's serde is not for null values."""

    def __init__(self) -> None:
        super().__init__("it is null: use serdes.nullable for values that may be null")


def value_reader(serde: Serde[Any] | None) -> ValueOf:
    """Return the function that parses the value of a record. It raises `ParseError`."""
    if serde is None:
        return _bytes_of
    bound: dict[str, BoundDeserializer[Any]] = {}

    def parsed(record: AnyRecord) -> Any:
        data = record.value
        if data is None:
            if serde.is_nullable:
                return None
            raise ParseError(NullValueError())
        topic = record.topic
        try:
            deserialize = bound.get(topic) or bound.setdefault(topic, serde.deserializer(topic, is_key=False))
            return deserialize(data, record.headers)
        except Exception as error:  # whatever the user's model raises: the value is not one
            raise ParseError(error) from error

    return parsed


def _bytes_of(record: AnyRecord) -> Any:
    data = record.value
    if data is None:
        raise ParseError(NullValueError())
    return data


def parsed_record(record: AnyRecord, value: Any) -> AnyRecord:
    """Return a record with its parsed value."""
    if value is record.value:
        return record
    raw = copied_record(record).raw
    return DeserializedRecord(raw, delivery_of(record), record.key, value, None)
