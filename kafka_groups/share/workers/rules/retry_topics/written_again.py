"""A record as it is written to a retry topic when it waits there already, or waits in a topic with a delay."""

from kafka_groups.records.confirmed.writes import RecordToWrite
from kafka_groups.share.delivery.records import AnyRecord
from kafka_groups.share.workers.rules.origins import RecordOrigin
from kafka_groups.share.workers.rules.retry_topics.delays import RetryTopic
from kafka_groups.share.workers.rules.retry_topics.retry_headers import RetryState

__all__ = ["forwarded_record", "untried_state"]


def forwarded_record(record: AnyRecord, state: RetryState, topic: RetryTopic) -> RecordToWrite:
    """Return a record that has to wait for longer, for the topic of the rest of its wait.

    Args:
        record: The record, with its own headers only.
        state: The state that its headers will say.
        topic: The topic.
    """
    # Its due time stays: another delay begins now, and whoever reads it there must know the end of the whole wait.
    return RecordToWrite(topic.topic, record.raw_key, record.raw_value, (*record.headers, *state.headers()))


def untried_state(record: AnyRecord, group: str, handler: str, due_ms: int) -> RetryState:
    """Return the state of a record of a topic with a delay, which no handler has tried yet."""
    return RetryState(
        group=group,
        handler=handler,
        origin=RecordOrigin.of(record),
        attempts=0,
        retries=0,
        first_failure_ms=due_ms,
        due_ms=due_ms,
    )
