"""What an operation of the coordinator comes to."""

from typing import Generic, TypeVar

from attrs import frozen

from kafka_groups.broker.coordinator.records import GroupRecord

__all__ = ["Result"]

Response_co = TypeVar("Response_co", covariant=True)


@frozen
class Result(Generic[Response_co]):
    """A response, and the records that make it true.

    The records are to be appended to the log and then replayed, in their order; only after that may the response be
    sent. An operation itself changes no hard state.
    """

    response: Response_co
    records: tuple[GroupRecord, ...] = ()
