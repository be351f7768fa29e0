"""The result of an operation of a coordinator."""

from typing import Generic, TypeVar

from attrs import frozen

from kafka_groups.broker.log.entries import Producer

__all__ = ["Effect", "Reply", "Result"]

Response_co = TypeVar("Response_co", covariant=True)
Record_co = TypeVar("Record_co", covariant=True)


@frozen
class Effect:
    """An action outside of the shard that an operation asks for. It is performed once the records are stored."""


@frozen
class Reply(Effect):
    """The response to a request that an earlier operation parked, or the error."""

    token: int
    outcome: object


@frozen
class Result(Generic[Response_co, Record_co]):
    """A response, and what has to happen before and after it is sent.

    Attributes:
        response: The response, unless the request is parked.
        records: They are appended to the log and then replayed in order, before the response is sent. The operation
            itself does not change any hard state.
        effects: What happens then. Those that must happen follow from the hard state, so that the next coordinator can
            find out what is outstanding.
        parked: If given, the request gets its response from a later operation, with a `Reply` of this token.
        producer: The producer whose transaction the records belong to. They count when it is committed.
    """

    response: Response_co
    records: tuple[Record_co, ...] = ()
    effects: tuple[Effect, ...] = ()
    parked: int | None = None
    producer: Producer | None = None
