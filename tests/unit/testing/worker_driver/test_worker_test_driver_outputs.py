"""The driver of workers: the outputs of handlers."""

from collections.abc import AsyncIterator, Iterator

import pytest

from kafka_groups import Batch, OnError, Output, OutputError, ProducerRecord, Worker, serdes
from kafka_groups.errors import ConfigurationError
from kafka_groups.testing import DeliveryState, Outcome, WorkerTestDriver

TEXTS = Output("invoices", value=serdes.string)


@pytest.fixture
def worker() -> Worker:
    return Worker("g", bootstrap_servers="localhost:9092")


def test_results_are_there_when_the_record_is_accepted(worker: Worker) -> None:
    @worker.handler("orders", value=serdes.string, output=TEXTS)
    def invoice(order: str) -> list[str | ProducerRecord[bytes, str]]:
        return [order, ProducerRecord(order, key=b"own", headers=[("a", b"1")], timestamp=5)]

    with WorkerTestDriver(worker) as test:
        assert test.deliver("orders", "a", key=b"ann").outcome is Outcome.ACCEPTED
        plain, full = test.outputs("invoices")
    assert (plain.topic, plain.key, plain.value, plain.headers, plain.timestamp) == (
        "invoices",
        b"ann",
        b"a",
        (),
        None,
    )
    assert (full.key, full.headers, full.timestamp) == (b"own", (("a", b"1"),), 5)


def test_generators_and_tombstones(worker: Worker) -> None:
    @worker.handler("a", output="invoices")
    def yields(value: bytes) -> Iterator[bytes]:
        yield value
        if value == b"bad":
            raise ValueError(value)

    @worker.handler("b", output="invoices")
    async def yields_later(value: bytes) -> AsyncIterator[ProducerRecord[bytes, None]]:
        yield ProducerRecord(None)

    with WorkerTestDriver(worker) as test:
        test.deliver("a", b"1")
        failed = test.deliver("a", b"bad")
        test.deliver("b", b"2", key=b"ann")
        assert [(record.key, record.value) for record in test.outputs("invoices")] == [(None, b"1"), (b"ann", None)]
        assert (failed.state, len(failed.errors)) == (DeliveryState.WAITING, 1)


def test_while_writes_fail_the_record_waits_and_its_handler_is_not_run_again(worker: Worker) -> None:
    @worker.handler("orders", value=serdes.string, output=[TEXTS, "audit"])
    def invoice(order: str) -> list[ProducerRecord[bytes, str] | ProducerRecord[bytes, bytes]]:
        return [ProducerRecord(order, topic="invoices"), ProducerRecord(b"done", topic="audit")]

    with WorkerTestDriver(worker) as test:
        test.fail_writes("audit")
        order = test.deliver("orders", "a")
        test.advance(seconds=3600)
        assert (order.state, order.attempts) == (DeliveryState.WRITING, 1)
        assert "cannot write to audit" in test.health().reasons[0]
        test.restore_writes("audit")
        assert (order.outcome, order.attempts) == (Outcome.ACCEPTED, 1)
        assert [len(test.outputs(topic)) for topic in ("invoices", "audit")] == [1, 1]


def test_the_next_record_of_a_key_waits_for_the_confirmation(worker: Worker) -> None:
    @worker.handler("orders", value=serdes.string, output=TEXTS, order_by="key")
    def invoice(order: str) -> str:
        return order

    with WorkerTestDriver(worker) as test:
        test.fail_writes("invoices")
        first, second = (test.deliver("orders", order, key=b"ann") for order in ("1", "2"))
        assert (first.attempts, second.attempts) == (1, 0)
        test.restore_writes("invoices")
        assert (first.outcome, second.outcome) == (Outcome.ACCEPTED, Outcome.ACCEPTED)
        assert [record.value for record in test.outputs("invoices")] == [b"1", b"2"]


def test_a_result_that_cannot_be_written_is_judged_by_errors_or_given_up_at_once(worker: Worker) -> None:
    @worker.handler("orders", output="invoices", dead_letters="orders.dead")
    def wrong(order: bytes) -> ProducerRecord[bytes, bytes]:
        return ProducerRecord(order, topic="bills")

    @worker.handler("more", output="invoices", errors={OutputError: OnError.REJECT}, dead_letters="more.dead")
    def also_wrong(order: bytes) -> ProducerRecord[bytes, bytes]:
        return wrong(order)

    with WorkerTestDriver(worker) as test:
        for topic in ("orders", "more"):
            order = test.deliver(topic, b"1")
            assert (order.outcome, order.attempts, type(order.errors[0])) == (Outcome.REJECTED, 1, OutputError)
        (letter,) = test.dead_letters("orders.dead")
        assert letter.reason == (
            "ProducerRecord(topic='bills') is not for an output of the handler: use 'invoices', or declare the topic"
            " with output="
        )
        assert test.dead_letters("more.dead") == test.outputs("invoices") == []
        assert not test.is_breaker_open("orders")


def test_batches_write_for_what_they_accept(worker: Worker) -> None:
    @worker.batch_handler("orders", value=serdes.string, output=TEXTS)
    def invoice(batch: Batch[str]) -> None:
        for index, order in enumerate(batch):
            batch.output(index, order)
            if order == "later":
                batch.retry(index)

    with WorkerTestDriver(worker) as test:
        deliveries = test.deliver_batch("orders", ["a", "later", "b"])
        test.advance(seconds=1)
        assert [record.value for record in test.outputs("invoices")] == [b"a", b"b"]
        assert [delivery.outcome for delivery in deliveries] == [Outcome.ACCEPTED, None, Outcome.ACCEPTED]


def test_only_outputs_of_the_worker_can_be_looked_at(worker: Worker) -> None:
    worker.handler("orders", output="invoices", dead_letters="orders.dead")(lambda value: value)
    with WorkerTestDriver(worker) as test:
        with pytest.raises(ConfigurationError, match=r"topic='orders.dead': it is not an output.*Outputs: 'invoices'"):
            test.outputs("orders.dead")
        with pytest.raises(ConfigurationError, match=r"no handler of .* writes dead letters to it.*'orders.dead'$"):
            test.dead_letters("invoices")
