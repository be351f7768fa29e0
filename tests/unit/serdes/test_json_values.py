"""JSON of values: what comes back as it was, what is refused, and which serdes have no JSON."""

import json
import math
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pydantic
import pytest

from kafka_groups import serdes
from kafka_groups.errors import DeserializationError
from kafka_groups.serdes import Serde, Window, Windowed
from kafka_groups.serdes.json_values import JsonForm, bytes_from_json, bytes_to_json, json_form, parsed_json


@dataclass(frozen=True)
class Order:
    customer: str
    total: int
    is_paid: bool = False
    note: str | None = None


class Payment(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True)
    amount: int


UUID_TEXT = "12345678-1234-5678-1234-567812345678"
DICTS: Serde[dict[str, Any]] = serdes.of(dict, lambda value: json.dumps(value).encode(), json.loads)


def form(serde: Serde[Any]) -> JsonForm:
    found = json_form(serde)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("serde", "given", "value"),
    [
        (serdes.string, "ä", "ä"),
        (serdes.int32, 5, 5),
        (serdes.int64, -5, -5),
        (serdes.bool_, True, True),
        (serdes.float64, 1.5, 1.5),
        (serdes.float64, "Infinity", math.inf),
        (serdes.float64, "-Infinity", -math.inf),
        (serdes.bytes_, "ä", "ä".encode()),
        (serdes.bytes_, {"base64": "/w=="}, b"\xff"),
        (serdes.uuid, UUID_TEXT, UUID(UUID_TEXT)),
        (serdes.nullable(serdes.bytes_), {"base64": "/w=="}, b"\xff"),
        (
            serdes.json(Order),
            {"customer": "ann", "total": 5, "is_paid": True, "note": None},
            Order("ann", 5, is_paid=True),
        ),
        (serdes.json(Payment), {"amount": 5}, Payment(amount=5)),
        (serdes.json(list[int]), [1, 2], [1, 2]),
        (
            serdes.time_windowed(serdes.bytes_, 10),
            {"key": {"base64": "/w=="}, "start_ms": 20, "end_ms": 30},
            Windowed(b"\xff", Window(20, 30)),
        ),
        (
            serdes.session_windowed(serdes.string),
            {"key": "a", "start_ms": 1, "end_ms": 30},
            Windowed("a", Window(1, 30)),
        ),
        (DICTS, {"a": [1, None]}, {"a": [1, None]}),
    ],
    ids=str,
)
def test_values_have_json_and_come_back(serde: Serde[Any], given: Any, value: Any) -> None:
    assert form(serde).read(given) == value
    assert form(serde).show(value) == given


def test_what_is_not_a_number_has_a_name() -> None:
    assert math.isnan(form(serdes.float64).read("NaN"))
    assert form(serdes.float64).show(math.nan) == "NaN"


@pytest.mark.parametrize(
    ("serde", "cell", "value"),
    [
        (serdes.string, "5", "5"),
        (serdes.int64, "5", 5),
        (serdes.float64, "1.5", 1.5),
        (serdes.float64, "NaN", math.nan),
        (serdes.bool_, "true", True),
        (serdes.bytes_, "5", b"5"),
        (serdes.uuid, UUID_TEXT, UUID(UUID_TEXT)),
        (serdes.json(int), "5", 5),
        (serdes.of(str, str.encode, bytes.decode), "5", "5"),
        (serdes.of(int, lambda value: str(value).encode(), int), "5", 5),
        (serdes.int64, "five", "five"),  # which the serde refuses
    ],
    ids=str,
)
def test_cells_have_the_type_of_the_serde(serde: Serde[Any], cell: str, value: object) -> None:
    found = form(serde).read_cell(cell)
    assert type(found) is type(value)
    assert repr(found) == repr(value)


def test_rows_have_the_types_of_the_fields() -> None:
    row = {"customer": "7", "total": "5", "is_paid": "true", "note": None, "unknown": "x"}
    orders, payments = form(serdes.json(Order)).read_row, form(serdes.json(Payment)).read_row
    assert orders is not None
    assert payments is not None
    assert orders(row) == Order("7", 5, is_paid=True)
    assert payments({"amount": "5"}) == Payment(amount=5)
    with pytest.raises(DeserializationError, match="total"):
        orders({"customer": "ann", "total": "five"})


def test_only_objects_are_rows() -> None:
    dicts = form(DICTS).read_row
    assert dicts is not None
    assert dicts({"a": "5"}) == {"a": "5"}
    assert form(serdes.string).read_row is None
    assert form(serdes.of(str, str.encode, bytes.decode)).read_row is None


def test_json_documents_keep_their_types_in_lines() -> None:
    with pytest.raises(DeserializationError, match="total"):
        form(serdes.json(Order)).read({"customer": "ann", "total": "5"})
    with pytest.raises(DeserializationError, match="amount"):
        form(serdes.json(Payment)).read({"amount": "5"})


def test_objects_of_a_program_have_no_json() -> None:
    orders = serdes.of(Order, lambda order: order.customer.encode(), lambda data: Order(data.decode(), 0))
    assert json_form(orders) is None
    assert json_form(serdes.session_windowed(orders)) is None


@pytest.mark.parametrize("given", ["a", {"key": "a"}, {"key": None, "start_ms": 0, "end_ms": 1}, []])
def test_windowed_keys_need_all_fields(given: object) -> None:
    with pytest.raises(ValueError, match="not a key in a window"):
        form(serdes.session_windowed(serdes.string)).read(given)


@pytest.mark.parametrize("given", [5, {"base64": 5}, {"base64": "/w==", "x": 1}, ["a"]])
def test_bytes_are_text_or_base64(given: object) -> None:
    with pytest.raises(ValueError, match="stands for no bytes"):
        bytes_from_json(given)


def test_base64_is_checked() -> None:
    with pytest.raises(ValueError, match="is not base64"):
        bytes_from_json({"base64": "%%"})
    assert bytes_to_json(b"a") == "a"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"a": 1', "it is not JSON"),
        (b'{"a": NaN}', "NaN is not JSON"),
        (b'"\xff"', "it is not UTF-8"),
        (b"[" * 100_000, "it is nested too deeply"),
    ],
)
def test_what_is_not_json_is_refused(text: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parsed_json(text)
