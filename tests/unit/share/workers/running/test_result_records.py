"""Results of handlers become records of their outputs, or errors that name what is wrong."""

import asyncio
import re
from collections.abc import AsyncIterator, Generator, Iterator
from concurrent.futures import Future
from typing import Any, NamedTuple

import pytest

from kafka_groups import serdes
from kafka_groups.records.confirmed.writes import RecordToWrite
from kafka_groups.serdes.serde import BoundDeserializer, BoundSerializer, Serde
from kafka_groups.share import HandlerResultError, Output, OutputError, ProducerRecord
from kafka_groups.share.delivery.records import copied_record, delivery_of
from kafka_groups.share.workers.outputs import MOST_RESULT_BYTES, MOST_RESULT_RECORDS
from kafka_groups.share.workers.rules.origins import RecordOrigin
from kafka_groups.share.workers.rules.retry_topics.retried_records import RetriedRecord
from kafka_groups.share.workers.rules.retry_topics.retry_headers import RetryState
from kafka_groups.share.workers.running.result_records import OutputRecords
from tests.unit.share.workers.running.test_handler_calls import AnyRecord, records

INVOICES = Output("invoices", value=serdes.string)


def source() -> AnyRecord:
    """A record with the key `k`."""
    (record,) = records(b"order")
    return record


def written(result: Any, *outputs: Any) -> list[RecordToWrite]:
    return list(OutputRecords(outputs or (INVOICES,)).of_result(result, source()))


def invoice(value: bytes | None, **options: Any) -> RecordToWrite:
    return RecordToWrite(**{"topic": "invoices", "key": b"k", "value": value, **options})


class Named(NamedTuple):
    a: int


class OfPairs(Serde[Named]):
    """A serde of tuples with names."""

    def serializer(self, topic: str, *, is_key: bool) -> BoundSerializer[Named]:
        return lambda value, headers: str(value.a).encode()

    def deserializer(self, topic: str, *, is_key: bool) -> BoundDeserializer[Named]:
        return lambda data, headers: Named(int(data))


class Registered(Serde[str]):
    """A serde that adds a header, and that asks a registry, which is down or refuses some values."""

    def serializer(self, topic: str, *, is_key: bool) -> BoundSerializer[str]:
        def serialize(value: str, headers: list[Any]) -> bytes:
            if value == "down":
                raise ConnectionError("the registry is down")
            if value == "bug":
                raise RuntimeError("in the serde")
            headers.append(("schema", f"{topic} {is_key}".encode()))
            return value.encode()

        return serialize

    def deserializer(self, topic: str, *, is_key: bool) -> BoundDeserializer[str]:
        return lambda data, headers: data.decode()


def yields(*values: Any, returned: Any = None) -> Generator[Any, None, Any]:
    yield from values
    return returned


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ("a", [invoice(b"a")]),
        (["a", "b"], [invoice(b"a"), invoice(b"b")]),
        (("a", None, ProducerRecord("b")), [invoice(b"a"), invoice(b"b")]),
        ([], []),
        ([None], []),
        (ProducerRecord(None), [invoice(None)]),
        (ProducerRecord("a", key=None), [invoice(b"a", key=None)]),
        (ProducerRecord("a", key=b"x"), [invoice(b"a", key=b"x")]),
        (ProducerRecord("a", topic="invoices"), [invoice(b"a")]),
        (
            ProducerRecord("a", headers=[("h", b"1"), ("h", None)], timestamp=5),
            [invoice(b"a", headers=(("h", b"1"), ("h", None)), timestamp_ms=5)],
        ),
        (yields("a", None, ProducerRecord("b", key=None)), [invoice(b"a"), invoice(b"b", key=None)]),
        (map(str, [1, 2]), [invoice(b"1"), invoice(b"2")]),
    ],
    ids=[
        "value",
        "list",
        "tuple",
        "nothing",
        "nothing in a list",
        "tombstone",
        "null key",
        "key",
        "topic",
        "options",
        "generator",
        "iterator",
    ],
)
def test_results_of_a_handler_with_one_output(result: Any, expected: list[RecordToWrite]) -> None:
    assert written(result) == expected


def test_a_topic_by_its_name_takes_bytes() -> None:
    assert written(b"a", Output("invoices")) == [invoice(b"a")]
    with pytest.raises(
        OutputError, match=r"the value 'a' cannot be written to invoices: it is not bytes. Return bytes"
    ):
        written("a", Output("invoices"))
    with pytest.raises(OutputError, match=r"the key 'k' cannot be written.*Output\('invoices', key=\.\.\.\)"):
        written(ProducerRecord(b"a", key="k"), Output("invoices"))


def test_serdes_of_keys_and_values_may_add_headers() -> None:
    output = Output("invoices", value=Registered("registered", True), key=Registered("registered", True))
    record = ProducerRecord("a", key="x", headers=[("own", b"1")])
    headers = (("own", b"1"), ("schema", b"invoices True"), ("schema", b"invoices False"))
    assert written(record, output) == [invoice(b"a", key=b"x", headers=headers)]
    assert written("a", output) == [invoice(b"a", headers=(("schema", b"invoices False"),))]


def test_a_tuple_with_names_is_a_value() -> None:
    output = Output("invoices", value=OfPairs("pairs", True))
    assert written(Named(5), output) == [invoice(b"5")]
    assert written([Named(5), Named(6)], output) == [invoice(b"5"), invoice(b"6")]


def test_origin_headers_name_the_record_that_the_handler_got() -> None:
    output = Output("invoices", origin_headers=True)
    origin = (("__origin.topic", b"orders"), ("__origin.partition", b"0"), ("__origin.offset", b"0"))
    assert written(b"a", output) == [invoice(b"a", headers=origin)]
    assert written(ProducerRecord(b"a", headers=[("own", b"1")]), output) == [
        invoice(b"a", headers=(("own", b"1"), *origin))
    ]


def test_origin_headers_of_a_record_from_a_retry_topic_name_the_first_one() -> None:
    state = RetryState(
        group="g",
        handler="h",
        origin=RecordOrigin("first", 3, 77),
        attempts=1,
        retries=1,
        first_failure_ms=0,
        due_ms=0,
    )
    record = source()
    retried = RetriedRecord(copied_record(record).raw, delivery_of(record), state)
    (made,) = OutputRecords([Output("invoices", origin_headers=True)]).of_result(b"a", retried)
    assert made.headers == (
        ("__origin.topic", b"first"),
        ("__origin.partition", b"3"),
        ("__origin.offset", b"77"),
    )


def test_with_several_outputs_each_record_names_its_topic() -> None:
    outputs = (INVOICES, Output("audit"))
    assert written([ProducerRecord(b"a", topic="audit"), ProducerRecord("b", topic="invoices")], *outputs) == [
        invoice(b"a", topic="audit"),
        invoice(b"b"),
    ]
    with pytest.raises(OutputError, match=r"'b' names no topic.*ProducerRecord\(value, topic=\.\.\.\).*'invoices' or"):
        written("b", *outputs)
    with pytest.raises(OutputError, match=r"ProducerRecord\(topic=None\) is not for an output.*'invoices' or 'audit'"):
        written(ProducerRecord("b"), *outputs)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (5, "the value cannot be written to invoices: SerializationError: serdes.string cannot serialise 5"),
        (ProducerRecord("a", topic="audit"), "ProducerRecord(topic='audit') is not for an output of the handler: use"),
        (ProducerRecord("a", topic=["x"]), "ProducerRecord(topic=['x']) is not for an output"),  # type: ignore[call-overload]
        (ProducerRecord("a", headers={"a": b"1"}), "ProducerRecord(headers={'a': b'1'}): give a list"),  # type: ignore[call-overload]
        (ProducerRecord("a", headers=[("a", "1")]), "ProducerRecord(headers=[('a', '1')]): give a list"),  # type: ignore[list-item]
        (ProducerRecord("a", timestamp=1.5), "ProducerRecord(timestamp=1.5): give whole milliseconds"),  # type: ignore[call-overload]
        (ProducerRecord("a", timestamp=-1), "ProducerRecord(timestamp=-1): give whole milliseconds"),
        (yields("a", returned="b"), "the generator returned 'b' after the results that it has yielded: yield it, too"),
        (
            ["a"] * (MOST_RESULT_RECORDS + 1),
            "the handler returned more than 10,000 records for one record: return fewer",
        ),
        (["a" * (MOST_RESULT_BYTES // 2)] * 2, "the handler returned more than 16 MB for one record: return less"),
    ],
    ids=["type", "topic", "no topic", "headers", "header", "timestamp", "negative", "generator", "records", "bytes"],
)
def test_results_that_cannot_be_written(result: Any, message: str) -> None:
    with pytest.raises(OutputError, match=re.escape(message)):
        written(result)


def test_as_many_records_as_are_allowed() -> None:
    assert len(written(["a"] * MOST_RESULT_RECORDS)) == MOST_RESULT_RECORDS
    assert len(written(["a" * (MOST_RESULT_BYTES // 2 - 1)] * 2)) == 2  # with their keys of one byte


def test_a_registry_that_is_down_is_an_error_of_its_own_and_a_bug_of_the_serde_is_not() -> None:
    output = Output("invoices", value=Registered("registered", True))
    with pytest.raises(ConnectionError):
        written("down", output)
    with pytest.raises(OutputError, match="RuntimeError: in the serde") as raised:
        written("bug", output)
    assert isinstance(raised.value.__cause__, RuntimeError)


async def nothing() -> None: ...


def test_work_that_is_not_done_is_no_result() -> None:
    results: list[Any] = [nothing(), Future(), async_yields("a")]
    for result in results:
        with pytest.raises(HandlerResultError):
            written(result)


async def async_yields(*values: Any) -> AsyncIterator[Any]:
    for value in values:
        yield value


def test_an_asynchronous_generator_ends_when_its_result_cannot_be_written() -> None:
    ended: list[str] = []

    async def results() -> AsyncIterator[Any]:
        try:
            yield "a"
            yield 5
        finally:
            ended.append("at once")

    async def run() -> None:
        made = OutputRecords([INVOICES])
        assert list(await made.of_iterator(async_yields("a", None, "b"), source())) == [invoice(b"a"), invoice(b"b")]
        with pytest.raises(OutputError, match="cannot serialise 5"):
            await made.of_iterator(results(), source())
        assert ended == ["at once"]

    asyncio.run(run())


def test_a_generator_ends_when_its_result_cannot_be_written() -> None:
    ended: list[str] = []

    def results() -> Iterator[Any]:
        try:
            while True:
                yield "a"
        finally:
            ended.append("at once")

    with pytest.raises(OutputError, match="more than 10,000"):
        written(results())
    assert ended == ["at once"]
