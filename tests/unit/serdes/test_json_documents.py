"""JSON documents: types that come back as they were, types that are refused, and what errors show."""

import functools
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from types import GenericAlias
from typing import Any, NamedTuple, TypedDict
from uuid import UUID

import attrs
import msgspec
import pydantic
import pytest

from kafka_groups import serdes
from kafka_groups.errors import ConfigurationError, DeserializationError, SerializationError
from tests.unit.serdes.calling import read, write


class Colour(Enum):
    RED = "red"


@dataclass(frozen=True)
class Line:
    article: str
    amount: int


@dataclass
class Order:
    number: int
    customer: str | None
    lines: list[Line] = field(default_factory=list)
    colour: Colour = Colour.RED
    at: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    price: Decimal = Decimal("1.10")
    _note: str = ""


@attrs.define
class OrderAttrs:
    number: int
    lines: tuple[Line, ...] = ()


@attrs.frozen
class KeyAttrs:
    b: int
    a: int


class Point(NamedTuple):
    x: int
    y: int


class Table(TypedDict):
    x: int


ORDER = (
    b'{"number":1,"customer":null,"lines":[{"article":"tea","amount":2}],"colour":"red",'
    b'"at":"2026-01-01T00:00:00Z","price":"1.10","_note":"n"}'
)
OrderStruct = msgspec.defstruct("OrderStruct", [("number", int), ("lines", list[Line], [])], frozen=True)
TaggedStruct = msgspec.defstruct("TaggedStruct", [("number", int)], tag=True, frozen=True)
Item = pydantic.create_model("Item", price=(Decimal, ...), tags=(list[str], []))
FrozenItem = pydantic.create_model("FrozenItem", __config__=pydantic.ConfigDict(frozen=True), price=(int, ...))
Aliased = pydantic.create_model("Aliased", price=(int, pydantic.Field(alias="thePrice")))


@pytest.mark.parametrize(
    ("cls", "value", "text"),
    [
        (Line, Line("tea", 2), b'{"article":"tea","amount":2}'),
        (
            Order,
            Order(1, None, [Line("tea", 2)], _note="n"),
            ORDER,
        ),
        (OrderAttrs, OrderAttrs(1, (Line("tea", 2),)), b'{"lines":[{"article":"tea","amount":2}],"number":1}'),
        (OrderStruct, OrderStruct(1, [Line("tea", 2)]), b'{"number":1,"lines":[{"article":"tea","amount":2}]}'),
        (TaggedStruct, TaggedStruct(5), b'{"type":"TaggedStruct","number":5}'),
        (Item, Item(price=Decimal("1.10"), tags=["a"]), b'{"price":"1.10","tags":["a"]}'),
        (Aliased, Aliased(thePrice=3), b'{"thePrice":3}'),
        (Point, Point(1, 2), b"[1,2]"),
        (Table, {"x": 1}, b'{"x":1}'),
        (list[int], [1, 2], b"[1,2]"),
        (dict[str, int], {"b": 1, "a": 2}, b'{"b":1,"a":2}'),
        (dict[int, Line], {1: Line("tea", 2)}, b'{"1":{"article":"tea","amount":2}}'),
        (dict, {"b": [1, None]}, b'{"b":[1,null]}'),
        (object, [1, "a"], b'[1,"a"]'),
        (int, 5, b"5"),
        (float, 2, b"2"),
        (bool, True, b"true"),
        (UUID, UUID(int=5), b'"00000000-0000-0000-0000-000000000005"'),
        (bytes, b"ab", b'"YWI="'),
    ],
)
def test_values_become_documents_and_come_back(cls: Any, value: object, text: bytes) -> None:
    serde = serdes.json(cls)
    assert write(serde, value) == text
    assert read(serde, text) == value


def test_the_name_shows_the_type() -> None:
    assert serdes.json(Order).name == "serdes.json(Order)"
    assert serdes.json(dict[str, int]).name == "serdes.json(dict[str, int])"
    assert repr(serdes.json(Item)) == "serdes.json(Item)"


def test_serdes_of_one_type_are_equal() -> None:
    assert serdes.json(Order) == serdes.json(Order)
    assert serdes.json(Item) == serdes.json(Item)
    other: Any = serdes.json(list[int])
    assert serdes.json(list[str]) != other


def test_values_that_cannot_change_are_known() -> None:
    assert all(serdes.json(cls).is_immutable for cls in (Line, KeyAttrs, TaggedStruct, FrozenItem, Point, int))
    assert not any(serdes.json(cls).is_immutable for cls in (Order, OrderAttrs, OrderStruct, Item, list[int], dict))


# ------------------------------------------------------------------------------------------ keys


def test_equal_keys_have_equal_bytes() -> None:
    serde = serdes.json(dict[str, Any])
    assert write(serde, {"b": {"y", "x"}, "a": 1}, is_key=True) == b'{"a":1,"b":["x","y"]}'
    assert write(serde, {"a": 1, "b": {"x", "y"}}, is_key=True) == b'{"a":1,"b":["x","y"]}'


def test_fields_of_keys_have_the_order_of_the_class() -> None:
    out_of_order = object.__new__(Line)
    for name, value in (("amount", 2), ("article", "tea")):
        object.__setattr__(out_of_order, name, value)
    assert write(serdes.json(Line), out_of_order, is_key=True) == b'{"article":"tea","amount":2}'


@attrs.frozen(slots=False)
class DictAttrs(KeyAttrs):
    aa: int = 3


def test_fields_of_attrs_classes_are_sorted_in_keys() -> None:
    assert write(serdes.json(KeyAttrs), KeyAttrs(b=1, a=2), is_key=True) == b'{"a":2,"b":1}'
    assert write(serdes.json(DictAttrs), DictAttrs(b=1, a=2), is_key=True) == b'{"a":2,"aa":3,"b":1}'
    pair = (Line("tea", 2), KeyAttrs(b=1, a=2))
    assert write(serdes.json(tuple[Line, KeyAttrs]), pair, is_key=True) == (
        b'[{"amount":2,"article":"tea"},{"a":2,"b":1}]'
    )


# ---------------------------------------------------------------------------------------- values


@dataclass
class WithCache:
    x: int

    @functools.cached_property
    def double(self) -> int:
        return self.x * 2


def test_a_cached_property_of_a_dataclass_is_not_written() -> None:
    value = WithCache(2)
    assert value.double == 4
    assert write(serdes.json(WithCache), value) == b'{"x":2}'


@pytest.mark.parametrize(
    ("cls", "value", "message"),
    [
        (Order, {"number": 1}, "serdes.json(Order) cannot serialise {'number': 1} (dict): expected Order"),
        (Item, 5, "serdes.json(Item) cannot serialise 5 (int): expected Item"),
        (list[int], (1, 2), "serdes.json(list[int]) cannot serialise (1, 2) (tuple): expected list"),
        (int, True, "serdes.json(int) cannot serialise True (bool): expected int"),
        (float, False, "serdes.json(float) cannot serialise False (bool): expected float or int"),
        (list[int], [object], "(list): TypeError: Encoding objects of type type is unsupported"),
        (Item, Item.model_construct(price="x", tags=5), "PydanticSerializationError: "),
    ],
)
def test_values_of_another_type_are_refused(cls: Any, value: object, message: str) -> None:
    with pytest.raises(SerializationError) as raised:
        write(serdes.json(cls), value)
    assert message in str(raised.value)


@dataclass
class Positive:
    amount: int

    def __post_init__(self) -> None:
        if self.amount <= 0:
            raise ValueError("amount must be positive")


@pytest.mark.parametrize(
    ("cls", "data", "message"),
    [
        (Line, b"", "serdes.json(Line) cannot deserialise b'' (0 bytes): DecodeError: Input data was truncated"),
        (Line, b"{", "DecodeError: Input data was truncated"),
        (Line, b"\xff", "DecodeError: JSON is malformed"),
        (Line, b"null", "ValidationError: Expected `object`, got `null`"),
        (Line, b'{"article":"tea"}', "ValidationError: Object missing required field `amount`"),
        (Line, b'{"article":"tea","amount":"2"}', "ValidationError: Expected `int`, got `str` - at `$.amount`"),
        (Line, b'{"article":"\xff","amount":2}', "DecodeError: "),  # msgspec before 0.23: UnicodeDecodeError
        (Positive, b'{"amount":0}', "ValidationError: amount must be positive"),
        (object, b"[" * 100_000, "RecursionError: "),
        (Item, b'{"price":"x"}', "ValidationError: 1 validation error for Item"),
    ],
)
def test_bytes_that_are_not_a_document_of_the_type_are_refused(cls: Any, data: bytes, message: str) -> None:
    with pytest.raises(DeserializationError) as raised:
        read(serdes.json(cls), data)
    assert message in str(raised.value)
    assert raised.value.__cause__ is not None


# ----------------------------------------------------------------------------------------- types


class Ordinary:
    pass


@attrs.define
class Private:
    number: int
    _secret: int = 0


@attrs.define
class CachedSlots:
    x: int

    @functools.cached_property
    def double(self) -> int:
        return self.x * 2


@attrs.define(slots=False)
class CachedDict:
    x: int

    @functools.cached_property
    def double(self) -> int:
        return self.x * 2


@dataclass
class Holder:
    inner: list[Private]
    parent: "Holder | None" = None


@dataclass
class Unresolved:
    inner: "Nowhere"  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize(
    ("cls", "message"),
    [
        (
            Ordinary,
            "serdes.json(Ordinary): Ordinary has no form in JSON. Give a dataclass, an attrs, msgspec or pydantic",
        ),
        (list[Ordinary], "serdes.json(list[Ordinary]): Ordinary has no form in JSON"),
        (GenericAlias(dict, (str, Item)), "Item has no form in JSON"),
        (Private, "serdes.json(Private): the field Private._secret is private, and JSON would not have it. Rename it."),
        (Holder, "the field Private._secret is private"),
        (CachedSlots, "the cached property CachedSlots.double would be written as if it was a field"),
        (CachedDict, "the cached property CachedDict.double would be written"),
        (Unresolved, "serdes.json(Unresolved): name 'Nowhere' is not defined. Give a dataclass"),
        (OrderStruct | msgspec.defstruct("OtherStruct", [("x", int)]), "all Struct types must be tagged"),
        (5, "serdes.json(5): Type '5' is not supported. Give a dataclass"),
    ],
    ids=str,
)
def test_types_that_would_not_come_back_are_refused_at_once(cls: Any, message: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        serdes.json(cls)
    assert message in str(raised.value).replace(f"{__name__}.", "")


def test_without_msgspec_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "msgspec", None)
    monkeypatch.delitem(sys.modules, "kafka_groups.serdes.json_msgspec", raising=False)
    with pytest.raises(ModuleNotFoundError, match=r"serdes\.json\(Order\) needs msgspec.*pip install '\.\[json\]'"):
        serdes.json(Order)
    assert write(serdes.json(Item), Item(price=1)) == b'{"price":"1","tags":[]}'
