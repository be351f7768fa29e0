"""Our message ⇄ the wire schema of one version, matched by field name.

A binding is created once for each message class and version. Writing takes the version's fields from the message.
Reading builds the message from kio's entity, with our defaults for fields that the version lacks. If a *request* sets a
field that its version does not have, writing raises an error (KIP-482's rule for non-ignorable fields). A response
leaves out fields that the client's version does not have.
"""

import dataclasses
import struct
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, get_args, get_type_hints
from uuid import UUID

import attrs

from kafka_groups.errors import MalformedFrameError, ProtocolError
from kafka_groups.protocol.bounds import check_bounds, without_unknown_tags
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.fields import is_ignorable
from kafka_groups.protocol.memo import cached
from kafka_groups.protocol.schemas.plain_schema import Schema, is_nullable_structure
from kafka_groups.protocol.writers import Put, Write, writer

__all__ = ["Binding", "bind", "entity_arrays"]

Convert = Callable[[Any], Any]
Check = Callable[[Any], None]


@attrs.frozen
class Binding:
    """One message class, bound to one version of its API."""

    message_class: type[Any]
    schema: Schema
    flexible: bool
    _read: Callable[[Any, int], tuple[Any, int]]
    _write: Write
    _convert: Convert
    _refuse_lost_values: Check | None
    _unreadable: tuple[type[Exception], ...]
    _has_nullable_structures: bool

    def encode(self, message: object) -> bytes:
        """Return the message's bytes.

        Raises:
            ProtocolError: The version cannot represent a value that the message sets.
        """
        parts: list[bytes] = []
        self.write(message, parts.append)
        return b"".join(parts)

    def write(self, message: object, put: Put) -> None:
        """Pass on the message's bytes, part by part.

        Raises:
            ProtocolError: The version cannot represent a value that the message sets.
        """
        if self._refuse_lost_values is not None:
            self._refuse_lost_values(message)
        try:
            self._write(message, put)
        except (struct.error, UnicodeEncodeError) as error:
            raise ProtocolError(f"Cannot encode {self.message_class.__name__}: {error}") from error

    def decode(self, buffer: bytes | memoryview, start: int = 0, *, whole: bool = True) -> Any:
        """Return the message that starts at `start`. With `whole`, it must end at the end of the buffer.

        Raises:
            MalformedFrameError: The bytes are not such a message, or there are bytes after it.
        """
        end = check_bounds(self.schema, buffer, start)
        if whole:
            self.check_end(buffer, end)
        return self._decoded(buffer, start)

    def decode_next(self, buffer: bytes | memoryview, start: int) -> tuple[Any, int]:
        """Return the message that starts at `start`, and the position after it.

        Raises:
            MalformedFrameError: The bytes are not such a message.
        """
        end = check_bounds(self.schema, buffer, start)
        return self._decoded(buffer, start), end

    def check_end(self, buffer: bytes | memoryview, end: int) -> None:
        """Raise an error if the buffer continues after the message.

        Raises:
            MalformedFrameError: There are bytes after the message.
        """
        if end != len(buffer):
            raise MalformedFrameError(
                f"Unexpected {len(buffer) - end} byte(s) after the end of the {self.message_class.__name__}."
            )

    def _decoded(self, buffer: bytes | memoryview, start: int) -> Any:
        try:
            entity = self._entity(buffer, start)
        except self._unreadable as error:
            raise MalformedFrameError(f"Cannot decode {self.message_class.__name__}: {error}") from error
        return self._convert(entity)

    def _entity(self, buffer: bytes | memoryview, start: int) -> Any:
        if self._has_nullable_structures:
            return self._read(without_unknown_tags(self.schema, buffer, start), 0)[0]
        try:
            return self._read(buffer, start)[0]
        except KeyError:  # kio's reader stops at an unknown tagged field
            return self._read(without_unknown_tags(self.schema, buffer, start), 0)[0]


@cached
def bind(message_class: type[Any], schema: Schema) -> Binding:
    """Return the binding of a message class to a plain schema.

    Raises:
        ProtocolError: The schema has a field that the message class lacks.
    """
    # Slow to import, and not needed before a client speaks.
    from kio.serial import entity_reader  # noqa: PLC0415
    from kio.serial.errors import SerialError  # noqa: PLC0415

    is_request = schema.__type__.name == "request"
    return Binding(
        message_class=message_class,
        schema=schema,
        flexible=schema.__flexible__,
        read=entity_reader(schema),
        write=writer(schema),
        convert=_converter(message_class, schema),
        refuse_lost_values=_lost_value_check(message_class, schema) if is_request else None,
        unreadable=(SerialError, ValueError),
        has_nullable_structures=any(map(is_nullable_structure, dataclasses.fields(schema))),
    )


# ------------------------------------------------------------------------------------------- reading


@cached
def _converter(message_class: type[Any], schema: Schema) -> Convert:
    names = [field.name for field in dataclasses.fields(schema)]
    hints = get_type_hints(message_class)
    missing = [name for name in names if name not in hints]
    if missing:
        raise ProtocolError(f"{message_class.__name__} lacks the fields {missing} of {schema.__name__}.")
    changes = _conversions(message_class, schema, names)
    return _builder(message_class, names, changes)


def _builder(message_class: type[Any], names: Sequence[str], changes: Sequence[tuple[str, Convert]]) -> Convert:
    take = attrgetter(*names) if len(names) > 1 else None

    def build(entity: Any) -> Any:
        values = take(entity) if take else tuple(getattr(entity, name) for name in names)
        arguments = dict(zip(names, values, strict=True))
        for name, change in changes:
            arguments[name] = change(arguments[name])
        return message_class(**arguments)

    return build


def _conversions(message_class: type[Any], schema: Schema, names: Sequence[str]) -> list[tuple[str, Convert]]:
    hints = get_type_hints(message_class)
    inner = {field.name: _schema_inside(field.type) for field in dataclasses.fields(schema)}
    conversions = ((name, _conversion(hints[name], inner[name])) for name in names)
    return [(name, convert) for name, convert in conversions if convert is not None]


def _conversion(hint: Any, schema: Schema | None) -> Convert | None:
    if hint is ErrorCode:
        return _error_code
    if hint is UUID:
        return _required_id
    if schema is None:
        return None
    convert = _converter(_message_inside(hint), schema)
    return _each(convert) if _is_array(hint) else _unless_none(convert)


# Ten times faster than calling the enumeration.
_KNOWN_CODES = {int(code): code for code in ErrorCode}


def _error_code(number: int) -> ErrorCode:
    return known if (known := _KNOWN_CODES.get(number)) is not None else ErrorCode(number)


def _required_id(value: UUID | None) -> UUID:
    if value is None:
        raise MalformedFrameError("An id is zero that must not be.")
    return value


def _each(convert: Convert) -> Convert:
    def change(values: Any) -> Any:
        return values if values is None else tuple([convert(value) for value in values])

    return change


def _unless_none(convert: Convert) -> Convert:
    def change(value: Any) -> Any:
        return value if value is None else convert(value)

    return change


# ------------------------------------------------------------------------------------------- writing


@cached
def _lost_value_check(message_class: type[Any], schema: Schema) -> Check | None:
    present = {field.name: _schema_inside(field.type) for field in dataclasses.fields(schema)}
    hints = get_type_hints(message_class)
    absent = [f for f in attrs.fields(message_class) if f.name not in present and not is_ignorable(f)]
    checks = [_absent_field_check(message_class, field, schema.__version__) for field in absent]
    for name, inner in present.items():
        check = _lost_value_check(_message_inside(hints[name]), inner) if inner is not None else None
        if check is not None:
            checks.append(_nested_check(name, check, many=_is_array(hints[name])))
    return _all_of(checks) if checks else None


def _absent_field_check(message_class: type[Any], field: "attrs.Attribute[Any]", version: int) -> Check:
    def check(message: Any) -> None:
        value = getattr(message, field.name)
        if value != field.default:
            raise ProtocolError(f"{message_class.__name__} v{version} does not support {field.name}={value!r}.")

    return check


def _nested_check(name: str, check: Check, *, many: bool) -> Check:
    def check_nested(message: Any) -> None:
        value = getattr(message, name)
        for element in value or () if many else (value,):
            if element is not None:
                check(element)

    return check_nested


def _all_of(checks: Sequence[Check]) -> Check:
    def check(message: Any) -> None:
        for each in checks:
            each(message)

    return check


# -------------------------------------------------------------------------------------- type look-ups


@cached
def entity_arrays(message_class: type[Any], schema: Schema) -> dict[str, tuple[type[Any], Schema]]:
    """Return the message class and the schema of the elements of each array of entities, without tagged arrays."""
    hints = get_type_hints(message_class)
    arrays: dict[str, tuple[type[Any], Schema]] = {}
    for field in dataclasses.fields(schema):
        inner = _schema_inside(field.type)
        if inner is not None and _is_array(field.type) and "tag" not in field.metadata:
            arrays[field.name] = (_message_inside(hints[field.name]), inner)
    return arrays


def _strip_none(annotation: Any) -> Any:
    parts = [part for part in get_args(annotation) if part is not type(None)]
    return parts[0] if type(None) in get_args(annotation) else annotation


def _is_array(annotation: Any) -> bool:
    return getattr(_strip_none(annotation), "__origin__", None) is tuple


def _innermost(annotation: Any) -> Any:
    annotation = _strip_none(annotation)
    return _strip_none(get_args(annotation)[0]) if _is_array(annotation) else annotation


def _schema_inside(annotation: Any) -> Schema | None:
    inner = _innermost(annotation)
    return inner if dataclasses.is_dataclass(inner) else None  # type: ignore[return-value]


def _message_inside(annotation: Any) -> type[Any]:
    inner: type[Any] = _innermost(annotation)
    return inner
