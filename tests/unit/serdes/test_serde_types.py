"""Type checkers know the types of serdes: a program that mypy accepts, and wrong lines that it refuses."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

HEAD = """
from dataclasses import dataclass
from datetime import timedelta
from typing import assert_type
from uuid import UUID

import attrs
import msgspec
import pydantic
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer

from kafka_groups import serdes
from kafka_groups.serdes import DeserializationContext, Serde, SerializationContext, Window, Windowed, WindowedSerde
from kafka_groups.types import Header

@dataclass
class Order:
    number: int

@attrs.frozen
class Customer:
    name: str

class Article(msgspec.Struct):
    name: str

class Price(pydantic.BaseModel):
    cents: int

def encode(order: Order) -> bytes: raise NotImplementedError
def decode(data: bytes) -> Order: raise NotImplementedError
def encode_for(order: Order, context: SerializationContext) -> bytes: raise NotImplementedError
def decode_from(data: bytes, context: DeserializationContext) -> Order: raise NotImplementedError
def encode_text(order: Order) -> str: raise NotImplementedError
def decode_text(data: str) -> Order: raise NotImplementedError
def decode_customer(data: bytes) -> Customer: raise NotImplementedError

headers: list[Header] = []
registry = SchemaRegistryClient({})
"""

RIGHT = """
assert_type(serdes.string, Serde[str])
assert_type(serdes.int32, Serde[int])
assert_type(serdes.int64, Serde[int])
assert_type(serdes.float64, Serde[float])
assert_type(serdes.bytes_, Serde[bytes])
assert_type(serdes.bool_, Serde[bool])
assert_type(serdes.uuid, Serde[UUID])
assert_type(serdes.json(Order), Serde[Order])
assert_type(serdes.json(Customer), Serde[Customer])
assert_type(serdes.json(Article), Serde[Article])
assert_type(serdes.json(Price), Serde[Price])
assert_type(serdes.json(list[Order]), Serde[list[Order]])
assert_type(serdes.json(dict[str, int]), Serde[dict[str, int]])
assert_type(serdes.nullable(serdes.json(Order)), Serde[Order | None])
assert_type(serdes.of(Order, encode, decode), Serde[Order])
assert_type(serdes.of(Order, encode_for, decode_from, name="orders"), Serde[Order])
assert_type(serdes.of(Order, lambda order: bytes(order.number), lambda data: Order(len(data))), Serde[Order])
assert_type(serdes.of(Order, AvroSerializer(registry), AvroDeserializer(registry)), Serde[Order])
assert_type(serdes.of(Order, JSONSerializer("", registry), JSONDeserializer("")), Serde[Order])
assert_type(serdes.time_windowed(serdes.string, timedelta(minutes=5)), WindowedSerde[str])
assert_type(serdes.session_windowed(serdes.int64), WindowedSerde[int])
windowed: Serde[Windowed[str]] = serdes.time_windowed(serdes.string, 300_000)
key = windowed.deserializer("t", is_key=True)(b"", ())
assert_type(key.key, str)
assert_type(key.window.start_ms, int)
assert_type(serdes.json(Order).serializer("t", is_key=False)(Order(1), headers), bytes)
"""

WRONG = {
    'serdes.int64.serializer("t", is_key=True)("7", headers)': 'Argument 1 has incompatible type "str"; expected "int"',
    'serdes.string.serializer("t", is_key=True)(None, headers)': 'Argument 1 has incompatible type "None"',
    'serdes.json(Order).serializer("t", is_key=False)({}, headers)': 'expected "Order"',
    'serdes.string.serializer("t", True)': "Too many positional arguments",
    "serdes.json(Order(1))": 'Argument 1 to "json" has incompatible type "Order"; expected "type[',
    "serdes.of(Order, encode_text, decode)": 'Argument 2 to "of" has incompatible type',
    "serdes.of(Order, encode, decode_text)": 'Argument 3 to "of" has incompatible type',
    "serdes.of(Customer, encode, decode_customer)": 'Argument 2 to "of" has incompatible type',
    "orders: Serde[Order] = serdes.of(Order, encode, decode_customer)": 'Argument 3 to "of" has incompatible type',
    "serdes.of(Order, encode)": 'Missing positional argument "deserializer" in call to "of"',
    "serdes.nullable(str)": 'Argument 1 to "nullable" has incompatible type "type[str]"',
    "serdes.time_windowed(serdes.string)": 'Missing positional argument "size_ms" in call to "time_windowed"',
    'serdes.time_windowed(serdes.string, "5m")': 'Argument 2 to "time_windowed" has incompatible type "str"',
    "serdes.session_windowed(str)": 'Argument 1 to "session_windowed" has incompatible type "type[str]"',
    "text: Serde[str] = serdes.int64": 'expression has type "Serde[int]", variable has type "Serde[str]"',
    "serdes.strings": 'Module has no attribute "strings"',
}


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What mypy says of the right program and of the wrong one."""
    directory = tmp_path_factory.mktemp("programs")
    right, wrong = directory / "right_serdes.py", directory / "wrong_serdes.py"
    right.write_text(HEAD + RIGHT)
    wrong.write_text(HEAD + "\n".join(WRONG))
    command = [sys.executable, "-m", "mypy", "--strict", str(right), str(wrong)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.splitlines()


@pytest.mark.slow
def test_mypy_accepts_the_right_program(said: list[str]) -> None:
    assert [line for line in said if "right_serdes.py" in line] == []
    assert said[-1].startswith("Found ")
    assert said[-1].endswith("in 1 file (checked 2 source files)")


@pytest.mark.slow
@pytest.mark.parametrize(("line", "message"), list(enumerate(WRONG.values())), ids=list(WRONG))
def test_mypy_refuses_wrong_lines(said: list[str], line: int, message: str) -> None:
    number = HEAD.count("\n") + 1 + line
    errors = [text for text in said if f"wrong_serdes.py:{number}: error:" in text]
    assert any(message in text for text in errors), (errors, said)
