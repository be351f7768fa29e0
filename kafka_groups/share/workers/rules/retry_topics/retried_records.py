"""Records of retry topics as handlers see them: with the record's own headers, and the state that ours have."""

from attrs import evolve

from kafka_groups.protocol.record_batch import DecodedRecord
from kafka_groups.share.delivery.delivery import Delivery
from kafka_groups.share.delivery.records import AnyRecord, DeserializedRecord, copied_record, delivery_of
from kafka_groups.share.workers.rules.origins import RecordOrigin
from kafka_groups.share.workers.rules.retry_topics.retry_headers import (
    RetryHeadersError,
    RetryState,
    own_headers,
    read_headers,
)

__all__ = ["RetriedRecord", "origin_of", "retried_record", "retry_state_of"]


class RetriedRecord(DeserializedRecord):
    """A record of a retry topic, with its own headers only.

    Attributes:
        retry_state: Its attempts so far; an error if its headers do not say them. It then keeps all of them.
    """

    __slots__ = ("retry_state",)

    def __init__(self, raw: DecodedRecord, delivery: Delivery, retry_state: RetryState | RetryHeadersError) -> None:
        super().__init__(raw, delivery, raw.key, raw.value, None)
        self.retry_state = retry_state

    def for_delivery(self, delivery: Delivery) -> "RetriedRecord":
        """Return the same record as part of another delivery."""
        return RetriedRecord(self._raw, delivery, self.retry_state)


def retried_record(record: AnyRecord, group: str, handler: str) -> RetriedRecord:
    """Return a record that was read from a retry topic.

    Args:
        record: The record with all its headers.
        group: The share group of the worker, not the group that reads the retry topics.
        handler: The name of the handler.
    """
    raw, delivery = copied_record(record).raw, delivery_of(record)
    try:
        state = read_headers(raw.headers, group, handler)
    except RetryHeadersError as error:
        # The headers stay as they are, so that the dead letter shows what is wrong with them.
        return RetriedRecord(raw, delivery, error)
    return RetriedRecord(evolve(raw, headers=list(own_headers(raw.headers))), delivery, state)


def retry_state_of(record: AnyRecord) -> RetryState | None:
    """Return the state that a record has brought from a retry topic; None for a record of any other topic.

    Raises:
        RetryHeadersError: It comes from a retry topic, and its headers are broken or those of another handler.
    """
    if not isinstance(record, RetriedRecord):
        return None
    if isinstance(record.retry_state, RetryHeadersError):
        raise record.retry_state
    return record.retry_state


def origin_of(record: AnyRecord) -> RecordOrigin:
    """Return the place of the first record: of the record itself, unless a retry topic names another."""
    if isinstance(record, RetriedRecord) and isinstance(record.retry_state, RetryState):
        return record.retry_state.origin
    return RecordOrigin.of(record)
