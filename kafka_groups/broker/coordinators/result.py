"""The result of an operation of a coordinator."""

from typing import Generic, TypeVar

from attrs import frozen

__all__ = ["Result"]

Response_co = TypeVar("Response_co", covariant=True)
Record_co = TypeVar("Record_co", covariant=True)


@frozen
class Result(Generic[Response_co, Record_co]):
    """A response, and the records that have to be stored before it is sent.

    The caller must append the records to the log and then replay them in order. Only then may it send the response. The
    operation itself does not change any hard state.
    """

    response: Response_co
    records: tuple[Record_co, ...] = ()
