"""The result of an operation of the coordinator."""

from typing import Generic, TypeVar

from attrs import frozen

from kafka_groups.broker.coordinators.groups.records import GroupRecord

__all__ = ["Result"]

Response_co = TypeVar("Response_co", covariant=True)


@frozen
class Result(Generic[Response_co]):
    """A response, and the records that have to be stored before it is sent.

    The caller must append the records to the log and then replay them in order. Only then may it send the response. The
    operation itself does not change any hard state.
    """

    response: Response_co
    records: tuple[GroupRecord, ...] = ()
