"""Which errors of a transaction a new writer overcomes."""

import pytest
from confluent_kafka import KafkaError, KafkaException

from kafka_groups.errors import KafkaGroupsError, TransactionFailedError
from kafka_groups.librdkafka import record_writer
from kafka_groups.librdkafka.record_writer import RecordWriter
from kafka_groups.types import TopicPartition


class FakeProducer:
    """Refuses the offsets of a transaction."""

    def __init__(self, error: KafkaError) -> None:
        self.error = error

    def begin_transaction(self) -> None: ...

    def send_offsets_to_transaction(self, *_: object) -> None:
        raise KafkaException(self.error)


@pytest.mark.parametrize(
    ("error", "is_overcome"),
    [
        (KafkaError(KafkaError.FENCED_MEMBER_EPOCH, "stale", txn_requires_abort=True), True),
        (KafkaError(KafkaError._TIMED_OUT, "late", retriable=True), True),
        (KafkaError(KafkaError._FENCED, "replaced", fatal=True), True),
        (KafkaError(KafkaError._DESTROY_BROKER, "left"), True),
        (KafkaError(KafkaError._WAIT_COORD, "looked up"), True),
        (KafkaError(KafkaError._INVALID_ARG, "wrong"), False),
        (KafkaError(KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "not allowed", fatal=True), False),
    ],
)
def test_a_new_writer_continues_unless_the_brokers_do_not_allow_it(
    monkeypatch: pytest.MonkeyPatch, error: KafkaError, *, is_overcome: bool
) -> None:
    monkeypatch.setattr(record_writer, "new_producer", lambda _config: FakeProducer(error))
    writer = RecordWriter({"bootstrap.servers": "127.0.0.1:1"})
    writer.begin_transaction()
    with pytest.raises(KafkaGroupsError, match=error.str()) as raised:
        writer.commit_transaction({TopicPartition("t", 0): 1}, b"member", 1.0)
    assert isinstance(raised.value, TransactionFailedError) is is_overcome
