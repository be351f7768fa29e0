"""The errors of a transactional producer: calls that are repeated, transactions that are lost, errors that stay."""

from collections.abc import Callable

import pytest
from confluent_kafka import KafkaError, KafkaException, Message

from kafka_groups.errors import KafkaGroupsError, OperationTimeoutError, TransactionExpiredError, TransactionFailedError
from kafka_groups.librdkafka import ordered_writer
from kafka_groups.librdkafka.failures import LOCAL, failure_of
from kafka_groups.librdkafka.transactional_writer import TransactionalWriter
from kafka_groups.testing.clock import ManualClock
from kafka_groups.types import OffsetAndMetadata, TopicPartition

OFFSETS = {TopicPartition("in", 0): OffsetAndMetadata(5)}
TIMEOUT_MS = 10_000
OF_THE_PRODUCER = {
    getattr(KafkaError, name)
    for name in ("_FATAL", "_FENCED", "_STATE", "_PURGE_QUEUE", "_PURGE_INFLIGHT", "_DESTROY", "_INCONSISTENT",
                 "_GAPLESS_GUARANTEE")
}  # fmt: skip
"""The next producer does not have them."""


class FakeProducer:
    """Fails in one of its calls."""

    def __init__(self, failing: str = "", error: KafkaError | None = None) -> None:
        self.failing = failing
        self.error = error
        self.calls: list[str] = []
        self.reports: list[Callable[[KafkaError | None, Message], None]] = []

    def _called(self, name: str) -> None:
        self.calls.append(name)
        if name == self.failing:
            raise KafkaException(self.error)

    def produce(self, *_args: object, on_delivery: Callable[[KafkaError | None, Message], None], **_: object) -> None:
        self._called("produce")
        self.reports.append(on_delivery)

    def init_transactions(self, *_args: object) -> None:
        self._called("init_transactions")

    def begin_transaction(self) -> None:
        self._called("begin_transaction")

    def send_offsets_to_transaction(self, *_args: object) -> None:
        self._called("send_offsets_to_transaction")

    def commit_transaction(self, *_args: object) -> None:
        self._called("commit_transaction")

    def abort_transaction(self, *_args: object) -> None:
        self._called("abort_transaction")

    def poll(self, *_args: object) -> int:
        return 0

    def flush(self, *_args: object) -> int:
        return 0

    def purge(self) -> None: ...

    def __len__(self) -> int:
        return 0


def made(
    monkeypatch: pytest.MonkeyPatch, *producers: FakeProducer, clock: ManualClock | None = None
) -> TransactionalWriter:
    left = list(producers)
    monkeypatch.setattr(ordered_writer, "new_producer", lambda _config: left.pop(0))
    return TransactionalWriter({"bootstrap.servers": "one:9092"}, "app-1", TIMEOUT_MS, clock or ManualClock())


def write(writer: TransactionalWriter) -> None:
    writer.write("out", b"k", b"v", 1, (), 0)


@pytest.mark.parametrize("code", sorted(LOCAL))
@pytest.mark.parametrize("call", ["send_offsets_to_transaction", "commit_transaction"])
def test_a_commit_that_fails_for_a_passing_reason_loses_its_transaction_and_ends_nothing(
    monkeypatch: pytest.MonkeyPatch, call: str, code: int
) -> None:
    """Whether the call has taken effect is not known. The committed offsets tell it to the next producer."""
    second = FakeProducer()
    writer = made(monkeypatch, FakeProducer(call, KafkaError(code)), second)
    write(writer)
    writer.flush(1)
    if failure_of(KafkaError(code), "").retriable or code in {KafkaError._FATAL, KafkaError._FENCED, KafkaError._STATE}:
        with pytest.raises(TransactionFailedError):
            writer.commit(OFFSETS, b"", 1)
        assert writer.has_failed
        writer.renew()
        writer.prepare(1)
        write(writer)
        writer.flush(1)
        writer.commit(OFFSETS, b"", 1)
        assert second.calls[-2:] == ["send_offsets_to_transaction", "commit_transaction"]
    else:
        with pytest.raises(KafkaGroupsError) as raised:
            writer.commit(OFFSETS, b"", 1)
        assert not isinstance(raised.value, TransactionFailedError)
        assert not raised.value.retriable
    writer.close()


@pytest.mark.parametrize("call", ["init_transactions", "send_offsets_to_transaction", "commit_transaction"])
def test_a_call_that_librdkafka_wants_repeated_is(monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    producer = FakeProducer(call, KafkaError(KafkaError._TIMED_OUT, "late", retriable=True))
    writer = made(monkeypatch, producer)

    def run() -> None:
        writer.prepare(1)
        write(writer)
        writer.commit(OFFSETS, b"", 1)

    with pytest.raises(OperationTimeoutError, match="late"):
        run()
    assert not writer.has_failed
    producer.failing = ""
    run()
    assert producer.calls.count("send_offsets_to_transaction") <= 2
    assert producer.calls[-1] == "commit_transaction"
    writer.close()


@pytest.mark.parametrize("code", sorted(LOCAL))
def test_a_record_that_is_not_written_loses_the_transaction_and_says_whether_the_next_one_may_succeed(
    monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    producer = FakeProducer()
    writer = made(monkeypatch, producer)
    write(writer)
    producer.reports[0](KafkaError(code, "so said librdkafka"), Message("out", 0, error=KafkaError(code)))
    with pytest.raises(TransactionFailedError, match="so said librdkafka") as raised:
        writer.flush(1)
    cause = raised.value.__cause__
    assert isinstance(cause, KafkaGroupsError)
    assert cause.retriable is (failure_of(KafkaError(code), "").retriable or code in OF_THE_PRODUCER)
    writer.close()


def test_a_producer_that_is_fenced_behind_the_timeout_has_a_transaction_that_was_open_for_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = ManualClock()
    writer = made(monkeypatch, FakeProducer("commit_transaction", KafkaError(KafkaError._FENCED)), clock=clock)
    write(writer)
    clock.advance(TIMEOUT_MS + 1)
    with pytest.raises(TransactionFailedError) as raised:
        writer.commit(OFFSETS, b"", 1)
    assert isinstance(raised.value.__cause__, TransactionExpiredError)
    writer.close()
