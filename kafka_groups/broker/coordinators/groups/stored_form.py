"""The form in which records of one type are stored: the message classes of their key and their value."""

from collections.abc import Callable
from typing import Any

from attrs import fields

from kafka_groups.protocol.coordinator_records.record import CoordinatorRecord

__all__ = ["StoredForm"]


def _unchanged(value: Any) -> Any:
    return value


class StoredForm:
    """The form in which records of one type are stored.

    Args:
        record: The class of the records. It has the attributes of the key in the same order, and then `value`.
        key: The message class of the key.
        write: Returns the message of a value. By default, values are messages.
        read: Returns the value of a message.
    """

    def __init__(
        self,
        record: type[Any],
        key: type[Any],
        write: Callable[[Any], object] = _unchanged,
        read: Callable[[Any], object] = _unchanged,
    ) -> None:
        self.record, self.key = record, key
        self._write, self._read = write, read
        self._key_names = tuple(each.name for each in fields(key))
        self._names = tuple(each.name for each in fields(record) if each.name != "value")

    def __repr__(self) -> str:
        return f"<StoredForm of {self.record.__name__}>"

    def to_stored(self, record: Any) -> CoordinatorRecord:
        """Return a record as Kafka stores it."""
        key = {stored: getattr(record, name) for stored, name in zip(self._key_names, self._names, strict=True)}
        return CoordinatorRecord(self.key(**key), None if record.value is None else self._write(record.value))

    def from_stored(self, stored: CoordinatorRecord) -> Any:
        """Return a record that Kafka or `to_stored` made."""
        key = [getattr(stored.key, name) for name in self._key_names]
        return self.record(*key, None if stored.value is None else self._read(stored.value))
