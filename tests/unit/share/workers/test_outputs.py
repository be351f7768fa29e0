"""What a handler declares as its outputs, and the records that it returns."""

import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from kafka_groups import serdes
from kafka_groups.errors import ConfigurationError
from kafka_groups.share import Batch, Output, ProducerRecord, Worker
from kafka_groups.share.workers.outputs import InputKey


@pytest.fixture
def worker() -> Worker:
    return Worker("g", bootstrap_servers="localhost:9092")


def handle(value: bytes) -> bytes:
    return value


def generate(value: bytes) -> Iterator[bytes]:
    yield value


async def generate_async(value: bytes) -> AsyncIterator[bytes]:
    yield value


class AsyncGenerator:
    async def __call__(self, value: bytes) -> AsyncIterator[bytes]:
        yield value


@pytest.mark.parametrize(
    ("output", "topics"),
    [
        (None, []),
        ("invoices", ["invoices"]),
        (Output("invoices", value=serdes.string), ["invoices"]),
        (["invoices", Output("audit", key=serdes.string)], ["invoices", "audit"]),
        (("invoices",), ["invoices"]),
    ],
    ids=["none", "topic", "output", "list", "tuple"],
)
def test_outputs_of_a_handler(worker: Worker, output: Any, topics: list[str]) -> None:
    worker.handler("orders", output=output)(handle)
    worker.batch_handler("more", output=output, name="batches")(lambda batch: None)
    assert [[output.topic for output in spec.outputs] for spec in worker.handlers] == [topics, topics]


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (5, "output=5: give a topic, an Output"),
        ([], r"output=\[\]: give a topic"),
        ({"invoices"}, "output={'invoices'}: give a topic"),
        ("in voices", "output: 'in voices'"),
        ([5], "output: 5 is not a name"),
        (["invoices", Output("invoices", value=serdes.string)], "the topic 'invoices' is there twice"),
        ("orders", "output='orders' is a topic of the handler, which would get its own results without end"),
        (["invoices", "refunds"], "output='refunds' is a topic of the handler"),
        ("orders.dead", "output='orders.dead' is also the topic for dead letters"),
    ],
    ids=["number", "empty", "set", "no name", "no names", "twice", "loop", "loop of several", "dead letters"],
)
def test_outputs_that_are_refused(worker: Worker, output: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        worker.handler(["orders", "refunds"], output=output, dead_letters="orders.dead")(handle)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"topic": ""}, "Output: '' is not a name"),
        ({"topic": "a b"}, "Output: 'a b'"),
        ({"topic": "a", "value": str}, r"Output('a', value=<class 'str'>) is not a serde: give one, such as"),
        ({"topic": "a", "key": 5}, r"Output('a', key=5) is not a serde"),
        ({"topic": "a", "origin_headers": "yes"}, "Output('a', origin_headers='yes'): give True or False"),
    ],
    ids=["empty", "no name", "value", "key", "headers"],
)
def test_an_output_that_is_refused(arguments: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        Output(**arguments)


def test_the_output_of_one_handler_may_feed_another(worker: Worker) -> None:
    worker.handler("orders", output="invoices")(handle)
    worker.handler("invoices", output="orders", name="back")(handle)
    assert [spec.name for spec in worker.handlers] == ["handle", "back"]


def test_only_handlers_with_an_output_may_yield(worker: Worker) -> None:
    for function in (generate, generate_async):
        with pytest.raises(ConfigurationError, match=r"contains yield.*To write what it yields, declare output="):
            worker.handler("orders")(function)
        on_batches: Any = function
        with pytest.raises(ConfigurationError, match=r"contains yield.*Write with batch\.output\(index, \.\.\.\)"):
            worker.batch_handler("orders", output="invoices")(on_batches)
    worker.handler("a", output="invoices")(generate)
    worker.handler("b", output="invoices")(generate_async)
    worker.handler("c", output="invoices", name="object")(AsyncGenerator())
    assert [(spec.is_async, spec.concurrency) for spec in worker.handlers] == [(False, 8), (True, 100), (True, 100)]


def test_a_record_has_the_key_of_the_input_unless_it_says_another() -> None:
    assert ProducerRecord(b"v").key is InputKey.SAME
    assert ProducerRecord(b"v", key=None).key is None
    assert repr(ProducerRecord(b"v")) == (
        "ProducerRecord(value=b'v', key=<the key of the input>, headers=(), topic=None, timestamp=None)"
    )
    full = ProducerRecord(b"v", key=b"k", headers=[("a", b"1")], topic="invoices", timestamp=5)
    assert full == ProducerRecord(b"v", key=b"k", headers=[("a", b"1")], topic="invoices", timestamp=5)
    assert (full.key, full.headers, full.topic, full.timestamp) == (b"k", [("a", b"1")], "invoices", 5)


def test_a_batch_outside_of_a_worker_takes_outputs() -> None:
    batch: Batch[str] = Batch(["a", "b"], [])
    batch.output(1, b"x", None)
    batch.output(-1, ProducerRecord(b"y"))
    batch.output(0, b"z")
    batch.reject(0)
    assert batch.outputs() == {1: [b"x", None, ProducerRecord(b"y")]}
