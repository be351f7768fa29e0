"""The position of a generator of records when it was closed."""

from attrs import define

from kafka_groups.share.delivery.records import AnyRecord

__all__ = ["ReadPosition"]


@define(eq=False)
class ReadPosition:
    """A position within the records of a delivery. Known once the generator has ended or was closed.

    Attributes:
        offset: The record that was yielded last; None before the first.
        is_over: Whether another record was asked for after the last one.
    """

    offset: int | None = None
    is_over: bool = False

    def stopped_at(self, record: AnyRecord | None) -> None:
        """Note that the generator was closed after this record."""
        self.offset = None if record is None else record.offset
