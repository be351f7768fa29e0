"""Serdes of all values: what is written is read again, and what is read is written again."""

import json
import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_groups import serdes
from kafka_groups.errors import DeserializationError, KafkaGroupsError, SerializationError
from kafka_groups.serdes import Serde, Window, Windowed
from kafka_groups.serdes.json_values import json_form, parsed_json
from tests.unit.serdes.calling import read, write

SIZE_MS = 60_000
MAX_MS = 2**63 - 1


@dataclass
class Visit:
    name: str
    pages: list[int]
    at: datetime
    tags: dict[str, float | None]


TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VISITS = st.builds(
    Visit,
    name=TEXT,
    pages=st.lists(st.integers(-(2**63), 2**64 - 1)),
    at=st.datetimes(timezones=st.just(UTC)),
    tags=st.dictionaries(TEXT, st.none() | st.floats(allow_nan=False, allow_infinity=False)),
)
TIMES = st.integers(0, MAX_MS)
PLAIN: list[tuple[Serde[Any], st.SearchStrategy[Any]]] = [
    (serdes.string, TEXT),
    (serdes.int32, st.integers(-(2**31), 2**31 - 1)),
    (serdes.int64, st.integers(-(2**63), 2**63 - 1)),
    (serdes.float64, st.floats(allow_nan=False) | st.integers(-(2**53), 2**53)),
    (serdes.bytes_, st.binary()),
    (serdes.bool_, st.booleans()),
    (serdes.uuid, st.uuids()),
    (serdes.json(Visit), VISITS),
    (serdes.of(str, str.encode, bytes.decode), TEXT),
    (
        serdes.time_windowed(serdes.string, SIZE_MS),
        st.builds(lambda key, at: Windowed(key, Window(at, min(at + SIZE_MS, MAX_MS))), TEXT, TIMES),
    ),
    (
        serdes.session_windowed(serdes.int32),
        st.builds(
            lambda key, times: Windowed(key, Window(min(times), max(times))),
            st.integers(-(2**31), 2**31 - 1),
            st.tuples(TIMES, TIMES),
        ),
    ),
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text(), inner)
        | st.fixed_dictionaries({"base64": inner})
        | st.fixed_dictionaries({"key": inner, "start_ms": inner, "end_ms": inner})
    ),
    max_leaves=6,
)
OTHERS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(), st.lists(st.integers()), st.uuids(),
    st.just(Windowed(None, Window(0, 0))), st.just(Windowed("a", Window(0, SIZE_MS))),
)  # fmt: skip


@pytest.mark.parametrize(("serde", "values"), PLAIN, ids=lambda each: getattr(each, "name", ""))
@given(data=st.data())
def test_what_is_written_is_read_again(serde: Serde[Any], values: st.SearchStrategy[Any], data: st.DataObject) -> None:
    value = data.draw(values)
    written = write(serde, value)
    assert type(written) is bytes
    assert read(serde, written) == value
    assert write(serde, read(serde, written)) == written


@pytest.mark.parametrize(("serde", "values"), PLAIN, ids=lambda each: getattr(each, "name", ""))
@given(data=st.data())
def test_values_come_back_from_json(serde: Serde[Any], values: st.SearchStrategy[Any], data: st.DataObject) -> None:
    form, value = json_form(serde), data.draw(values)
    assert form is not None
    text = json.dumps(form.show(read(serde, write(serde, value))), allow_nan=False)
    assert write(serde, form.read(parsed_json(text))) == write(serde, value)


@pytest.mark.parametrize("serde", [serde for serde, _ in PLAIN], ids=repr)
@given(given=JSON)
def test_any_json_is_a_value_or_refused(serde: Serde[Any], given: Any) -> None:
    form = json_form(serde)
    assert form is not None
    try:
        written = write(serde, form.read(given))
    except (KafkaGroupsError, ValueError):
        return
    assert write(serde, form.read(form.show(read(serde, written)))) == written


@pytest.mark.parametrize("serde", [serde for serde, _ in PLAIN], ids=repr)
@given(cell=st.text())
def test_any_cell_is_a_value_or_refused(serde: Serde[Any], cell: str) -> None:
    form = json_form(serde)
    assert form is not None
    try:
        written = write(serde, form.read_cell(cell))
    except (KafkaGroupsError, ValueError):
        return
    assert write(serde, read(serde, written)) == written


@pytest.mark.parametrize("serde", [serde for serde, _ in PLAIN], ids=repr)
@given(data=st.one_of(st.binary(max_size=40), *(st.binary(min_size=size, max_size=size) for size in (1, 4, 8, 20, 36))))
def test_any_bytes_are_read_or_refused(serde: Serde[Any], data: bytes) -> None:
    try:
        value = read(serde, data)
    except DeserializationError:
        return
    if not (isinstance(value, float) and math.isnan(value)):  # the bits of a NaN may change on the way through the FPU
        assert read(serde, write(serde, value)) == value


@pytest.mark.parametrize("serde", [serde for serde, _ in PLAIN], ids=repr)
@given(value=OTHERS)
def test_any_value_is_written_as_what_it_is_or_refused(serde: Serde[Any], value: object) -> None:
    try:
        data = write(serde, value)
    except SerializationError:
        return
    again = read(serde, data)
    assert again == value or (isinstance(value, float) and math.isnan(value))
