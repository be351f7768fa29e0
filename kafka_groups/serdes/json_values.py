"""Values of serdes as JSON: in the lines that people write to try a topology, and in those that they read."""

import base64
import binascii
import json
import math
from collections.abc import Callable
from typing import Any

from attrs import frozen

from kafka_groups.serdes.pairs import PairSerde
from kafka_groups.serdes.plain import PlainSerde, bool_, bytes_, float64, int32, int64, string, uuid
from kafka_groups.serdes.serde import DocumentSerde, Serde
from kafka_groups.serdes.windowed import Window, Windowed, WindowedSerde

__all__ = ["JsonForm", "bytes_from_json", "bytes_to_json", "json_form", "parsed_json"]

_WINDOWED_FIELDS = {"key", "start_ms", "end_ms"}
_JSON_CLASSES = (str, int, float, bool, list, dict, type(None), object)
_BEYOND_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


@frozen(kw_only=True)
class JsonForm:
    """The JSON of a serde's values. Null stands for null and does not come here.

    The functions need not check a value's type, because the serde does. They raise `ValueError`, or the errors of the
    serde.

    Attributes:
        read: Returns the value that parsed JSON stands for.
        show: Returns the JSON of a value, to be written by `json.dumps`.
        read_cell: Returns the value that the text of a cell stands for, in a file of comma-separated values.
        read_row: Returns the value that a row stands for, a dictionary of cells; None if the values are not objects.
    """

    read: Callable[[Any], Any]
    show: Callable[[Any], Any]
    read_cell: Callable[[str], Any]
    read_row: Callable[[dict[str, str | None]], Any] | None = None


def json_form(serde: Serde[Any]) -> JsonForm | None:
    """Return the JSON form of a serde's values, or None if only a program of yours could make them from JSON."""
    if isinstance(serde, DocumentSerde):
        return _document_form(serde)
    if isinstance(serde, WindowedSerde):
        return _windowed_form(serde)
    if isinstance(serde, PairSerde):
        return _pair_form(serde)
    return _PLAIN_FORMS.get(serde) if isinstance(serde, PlainSerde) else None


def parsed_json(text: str | bytes) -> Any:
    """Return what JSON says.

    Raises:
        ValueError: It is not JSON, which has neither NaN nor infinity.
    """
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8 ({error.reason} at byte {error.start})") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON ({error.msg} at character {error.pos + 1})") from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def bytes_from_json(given: Any) -> bytes:
    """Return bytes: text stands for its UTF-8, and `{"base64": text}` for any bytes.

    Raises:
        ValueError: It is neither.
    """
    if isinstance(given, str):
        return given.encode()
    if isinstance(given, dict) and given.keys() == {"base64"} and isinstance(given["base64"], str):
        try:
            return base64.b64decode(given["base64"], validate=True)
        except binascii.Error as error:
            raise ValueError(f"{given['base64']!r} is not base64 ({error})") from error
    raise ValueError(f'{given!r} stands for no bytes: give text, or {{"base64": text}}')


def bytes_to_json(data: bytes) -> str | dict[str, str]:
    """Return the JSON that `bytes_from_json` reads: text if the bytes are UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _same(value: Any) -> Any:
    return value


def _number(cell: str) -> Any:
    """Return the number or boolean of a cell, or its text, which the serde refuses by name."""
    try:
        return parsed_json(cell)
    except ValueError:
        return cell


# ------------------------------------------------------------------------------------------------ plain values


def _float(given: Any) -> Any:
    return _BEYOND_NUMBERS.get(given, given) if isinstance(given, str) else given


def _shown_float(value: float) -> Any:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _uuid(given: Any) -> Any:
    return uuid.deserializer("", is_key=False)(given.encode(), ()) if isinstance(given, str) else given


_TEXT = JsonForm(read=_same, show=_same, read_cell=_same)
_NUMBER = JsonForm(read=_same, show=_same, read_cell=_number)
_PLAIN_FORMS: dict[PlainSerde[Any] | Serde[Any], JsonForm] = {
    string: _TEXT,
    int32: _NUMBER,
    int64: _NUMBER,
    bool_: _NUMBER,
    float64: JsonForm(read=_float, show=_shown_float, read_cell=lambda cell: _float(_number(cell))),
    bytes_: JsonForm(read=bytes_from_json, show=bytes_to_json, read_cell=str.encode),
    uuid: JsonForm(read=_uuid, show=str, read_cell=_uuid),
}


# ------------------------------------------------------------------------------------------- other kinds of serdes


def _document_form(serde: DocumentSerde[Any]) -> JsonForm:
    read, lax = serde.deserializer("", is_key=False), serde.lax_deserializer()
    write = serde.serializer("", is_key=False)

    def read_lax(given: Any) -> Any:
        return lax(json.dumps(given).encode(), ())

    return JsonForm(
        read=lambda given: read(json.dumps(given).encode(), ()),
        show=lambda value: json.loads(write(value, [])),
        read_cell=read_lax,
        read_row=read_lax,
    )


def _windowed_form(serde: WindowedSerde[Any]) -> JsonForm | None:
    inner = json_form(serde.inner)
    if inner is None:
        return None

    def read(given: Any) -> Windowed[Any]:
        if not isinstance(given, dict) or given.keys() != _WINDOWED_FIELDS or given["key"] is None:
            raise ValueError(f'{given!r} is not a key in a window: give {{"key": …, "start_ms": …, "end_ms": …}}')
        return Windowed(inner.read(given["key"]), Window(given["start_ms"], given["end_ms"]))

    def show(value: Windowed[Any]) -> dict[str, Any]:
        return {"key": inner.show(value.key), "start_ms": value.window.start_ms, "end_ms": value.window.end_ms}

    return JsonForm(read=read, show=show, read_cell=lambda cell: read(_number(cell)))


def _pair_form(serde: PairSerde[Any]) -> JsonForm | None:
    """Return the form of a serde of two functions, if its values are those that JSON itself has."""
    classes = serde.classes
    if not all(each in _JSON_CLASSES for each in classes):
        return None
    takes_text, takes_rows = (not {each, object}.isdisjoint(classes) for each in (str, dict))
    return JsonForm(
        read=_same, show=_same, read_cell=_same if takes_text else _number, read_row=_same if takes_rows else None
    )
