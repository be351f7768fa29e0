"""Results of records that a producer was given: refusals for good and others, and a producer that has failed."""

from collections.abc import Callable

import pytest
from confluent_kafka import KafkaError, KafkaException, Message, Producer

from kafka_groups.errors import DeliveryFailedError
from kafka_groups.librdkafka import durable_producer
from kafka_groups.librdkafka.deliveries import Deliveries, OutgoingRecord
from kafka_groups.librdkafka.durable_producer import DurableProducer
from kafka_groups.librdkafka.failures import LOCAL, failure_of

RECORD = OutgoingRecord("t", b"k", b"v", partition=1)
Step = Callable[[], None]


class FakeProducer(Producer):
    """Does what the test says when it is given a record, polled or flushed."""

    def __init__(self, refusal: KafkaError | None = None, result: KafkaError | None = None) -> None:
        self.refusal = refusal
        self.result = result
        self.fatal: Exception | None = None
        self.is_full = False
        self._reports: list[Step] = []

    def produce(self, topic: str, *_args: object, **keywords: object) -> None:
        if self.is_full:
            raise BufferError
        if self.refusal is not None:
            raise KafkaException(self.refusal)
        report = keywords["on_delivery"]
        assert callable(report)
        self._reports.append(lambda: report(self.result, Message(topic, 1, 7)))

    def poll(self, *_args: object, **_keywords: object) -> int:
        if self.fatal is not None:
            raise self.fatal
        return 0

    def flush(self, *_args: object, **_keywords: object) -> int:
        self.poll()
        while self._reports:
            self._reports.pop()()
        return 0


def failed(producer: FakeProducer) -> tuple[Deliveries, DeliveryFailedError]:
    deliveries = Deliveries()
    deliveries.send(producer, RECORD)
    deliveries.flush(producer, 1.0)
    with pytest.raises(DeliveryFailedError) as raised:
        deliveries.check(1.0)
    return deliveries, raised.value


@pytest.mark.parametrize("code", sorted(LOCAL))
@pytest.mark.parametrize("where", ["refusal", "result"])
def test_a_failed_record_may_be_sent_again_by_the_table(where: str, code: int) -> None:
    deliveries, error = failed(FakeProducer(**{where: KafkaError(code, "so said librdkafka")}))
    assert (error.failed, error.unanswered) == (1, 0)
    assert "the first: t-1: so said librdkafka" in str(error)
    assert deliveries.fatal is (code == KafkaError._FATAL)
    # After a fatal error a new producer may succeed, and DurableProducer makes one.
    assert error.retriable is (failure_of(KafkaError(code), "").retriable or code == KafkaError._FATAL)


def test_one_record_that_is_refused_for_good_decides() -> None:
    deliveries = Deliveries()
    for code in (KafkaError._MSG_TIMED_OUT, KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError._MSG_TIMED_OUT):
        producer = FakeProducer(result=KafkaError(code))
        deliveries.send(producer, RECORD)
        deliveries.flush(producer, 1.0)
    with pytest.raises(DeliveryFailedError) as raised:
        deliveries.check(1.0)
    assert (raised.value.failed, raised.value.retriable) == (3, False)


def callback_failure() -> SystemError:
    """Return what confluent-kafka raises if a fatal error comes while it calls a delivery report."""
    error = SystemError("returned a result with an exception set")
    error.__cause__ = KafkaException(KafkaError(KafkaError._FATAL, "fenced"))
    return error


@pytest.mark.parametrize("raised", [KafkaException(KafkaError(KafkaError._FATAL, "fenced")), callback_failure()])
@pytest.mark.parametrize("is_full", [False, True])
def test_a_fatal_error_of_a_poll_is_one_of_the_producer_and_counts_no_record_twice(
    raised: Exception, is_full: bool
) -> None:
    producer = FakeProducer()
    producer.fatal, producer.is_full = raised, is_full
    deliveries, error = failed(producer)
    assert deliveries.fatal
    assert error.failed + error.unanswered == 1
    assert "the producer cannot be used any more: fenced" in str(error)
    assert error.retriable


def test_another_error_of_a_callback_is_raised() -> None:
    producer = FakeProducer()
    producer.fatal = SystemError("a defect")
    with pytest.raises(SystemError, match="a defect"):
        Deliveries().send(producer, RECORD)


def test_a_producer_that_has_failed_for_good_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[FakeProducer] = []

    def new_producer(_config: object) -> FakeProducer:
        made.append(FakeProducer())
        return made[-1]

    monkeypatch.setattr(durable_producer, "new_producer", new_producer)
    durable = DurableProducer({"bootstrap.servers": "127.0.0.1:1", "client.id": "fails"})
    durable.produce("t", key=None, value=b"1")
    made[0].fatal = KafkaException(KafkaError(KafkaError._FATAL, "fenced"))
    with pytest.raises(DeliveryFailedError, match="1 record; the first: the producer cannot be used any more"):
        durable.flush(1.0)
    durable.produce("t", key=None, value=b"1")
    durable.flush(1.0)
    assert len(made) == 2
