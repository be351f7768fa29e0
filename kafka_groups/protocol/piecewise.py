"""Reads and writes messages element by element, so that the caller can do something else in between.

A message may have hundreds of thousands of elements, which takes seconds. The generators here yield after each element
of an array of entities, such as a partition, wherever it is in the message. What is written, and what is read, is the
same as with `Binding`.
"""

import dataclasses
import struct
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import groupby
from typing import Any

import attrs

from kafka_groups.errors import ProtocolError
from kafka_groups.protocol.binding import Binding, bind, entity_arrays
from kafka_groups.protocol.bounds import MessageBuffer, Step, array_length, field_step, tags_step
from kafka_groups.protocol.memo import cached
from kafka_groups.protocol.schemas.plain_schema import Schema
from kafka_groups.protocol.writers import Put, Write, fields_writer, length_writer, tags_writer, writer

__all__ = ["decoding", "writing"]

PiecewiseReader = Callable[[MessageBuffer, int], Generator[None, None, tuple[Any, int]]]
"""(buffer, position) → message, position after it."""
Writing = Callable[[Any, Put], Iterator[None]]


def decoding(
    binding: Binding, buffer: MessageBuffer, start: int = 0, *, whole: bool = False
) -> Generator[None, None, Any]:
    """Return the message that starts at `start`. With `whole`, it must end at the end of the buffer.

    Raises:
        MalformedFrameError: The bytes are not such a message, or there are bytes after it.
    """
    message, end = yield from _reading(binding.message_class, binding.schema)(buffer, start)
    if whole:
        binding.check_end(buffer, end)
    return message


def writing(binding: Binding, response: Any, put: Put) -> Iterator[None]:
    """Pass on the bytes of a response, part by part."""
    try:
        yield from _writing(binding.message_class, binding.schema)(response, put)
    except (struct.error, UnicodeEncodeError) as error:
        raise ProtocolError(f"Cannot encode {binding.message_class.__name__}: {error}") from error


# ------------------------------------------------------------------------------------------- reading


@attrs.frozen
class _ReadArray:
    """An array of entities: how to read an element that has such arrays itself, and any other."""

    name: str
    outer: PiecewiseReader | None
    leaf: Binding


@cached
def _reading(message_class: type[Any], schema: Schema) -> PiecewiseReader:
    """Return a generator function that reads entities.

    Their arrays of entities are read one element at a time. Everything else is read together, from the same bytes
    with empty arrays.
    """
    binding = bind(message_class, schema)
    parts = _read_parts(message_class, schema)
    flexible: bool = schema.__flexible__
    empty = b"\x01" if flexible else bytes(4)

    def read(buffer: MessageBuffer, start: int) -> Generator[None, None, tuple[Any, int]]:
        position = start
        rest: list[MessageBuffer] = []
        arrays: dict[str, tuple[Any, ...]] = {}
        for part in parts:
            if isinstance(part, _ReadArray):
                length, after = array_length(buffer, position, len(buffer), flexible)
                if length >= 0:
                    rest.append(empty)
                    arrays[part.name], position = yield from _elements(part, buffer, after, length)
                    continue
            else:
                after = part(buffer, position, len(buffer))
            rest.append(buffer[position:after])
            position = after
        message = binding.decode(b"".join(rest))
        return (attrs.evolve(message, **arrays) if arrays else message), position

    return read


def _elements(
    array: _ReadArray, buffer: MessageBuffer, position: int, length: int
) -> Generator[None, None, tuple[tuple[Any, ...], int]]:
    elements = []
    for _ in range(length):
        if array.outer is None:
            element, position = array.leaf.decode_next(buffer, position)
        else:
            element, position = yield from array.outer(buffer, position)
        elements.append(element)
        yield
    return tuple(elements), position


def _read_parts(message_class: type[Any], schema: Schema) -> list[Step | _ReadArray]:
    arrays = entity_arrays(message_class, schema)
    parts: list[Step | _ReadArray] = []
    for field in _plain_fields(schema):
        if field.name not in arrays:
            parts.append(field_step(schema, field))
            continue
        inner = arrays[field.name]
        outer = _reading(*inner) if entity_arrays(*inner) else None
        parts.append(_ReadArray(field.name, outer, bind(*inner)))
    return [*parts, tags_step(schema)] if schema.__flexible__ else parts


# ------------------------------------------------------------------------------------------- writing


@attrs.frozen
class _WrittenArray:
    """An array of entities: how to write an element that has such arrays itself, and any other."""

    name: str
    outer: Writing | None
    leaf: Write


@cached
def _writing(message_class: type[Any], schema: Schema) -> Writing:
    """Return a generator function that writes entities: their arrays of entities one element at a time."""
    parts = _written_parts(message_class, schema)
    put_length = length_writer(schema)

    def write(message: Any, put: Put) -> Iterator[None]:
        for part in parts:
            if isinstance(part, _WrittenArray):
                values = getattr(message, part.name)
                put_length(values, put)
                yield from _each(part, values or (), put)
            else:
                part(message, put)

    return write


def _each(array: _WrittenArray, values: Iterable[Any], put: Put) -> Iterator[None]:
    for value in values:
        if array.outer is None:
            array.leaf(value, put)
        else:
            yield from array.outer(value, put)
        yield


def _written_parts(message_class: type[Any], schema: Schema) -> list[Write | _WrittenArray]:
    arrays = entity_arrays(message_class, schema)
    parts: list[Write | _WrittenArray] = []
    for is_array, fields in groupby(_plain_fields(schema), key=lambda field: field.name in arrays):
        if is_array:
            parts += [_written_array(field.name, *arrays[field.name]) for field in fields]
        else:
            parts.append(fields_writer(schema, list(fields)))
    return [*parts, tags_writer(schema)] if schema.__flexible__ else parts


def _written_array(name: str, message_class: type[Any], schema: Schema) -> _WrittenArray:
    outer = _writing(message_class, schema) if entity_arrays(message_class, schema) else None
    return _WrittenArray(name, outer, writer(schema))


def _plain_fields(schema: Schema) -> list["dataclasses.Field[Any]"]:
    return [field for field in dataclasses.fields(schema) if "tag" not in field.metadata]
