"""Checks that the lengths in a message fit into its bytes, before decoding.

kio's native reader allocates memory for the number of elements that an array announces, and crashes the process if the
allocation fails. This check therefore first compares every array length, string length and tagged-field size with the
available bytes. It allocates nothing and takes one step for each run of fixed-size fields.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args, get_origin

from kafka_groups.errors import MalformedFrameError
from kafka_groups.protocol.memo import cached
from kafka_groups.protocol.schemas.plain_schema import Schema, is_nullable_structure, without_none

__all__ = ["MessageBuffer", "Step", "array_length", "check_bounds", "field_step", "tags_step", "without_unknown_tags"]

MessageBuffer = bytes | memoryview
Step = Callable[[MessageBuffer, int, int], int]
"""(buffer, position, end) → position after the part. Raises `MalformedFrameError` if that is beyond `end`."""

_FIXED: Mapping[str, int] = {
    "int8": 1, "bool": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8, "uint64": 8, "float64": 8,
    "uuid": 16,
}  # fmt: skip
_STRING_LENGTH_BYTES: Mapping[str, int] = {"string": 2, "bytes": 4, "records": 4}


def check_bounds(schema: Schema, buffer: MessageBuffer, start: int = 0) -> int:
    """Return the position after the message that starts at `start`.

    Raises:
        MalformedFrameError: A length in the message is negative or reaches beyond the buffer.
    """
    return _entity(schema)(buffer, start, len(buffer))


def without_unknown_tags(schema: Schema, buffer: MessageBuffer, start: int = 0) -> bytes:
    """Return the message that starts at `start`, without tagged fields that are not in the schema.

    A newer peer may send such fields in any version. They must be ignored (KIP-482). Tagged structures that are null
    are left out, too.

    Raises:
        MalformedFrameError: As `check_bounds`.
    """
    noted = _Noted(buffer)
    noted.edits = []
    return noted.edited(start, _entity(schema)(noted, start, len(noted)))


def field_step(schema: Schema, field: "dataclasses.Field[Any]") -> Step:
    """Return the step over one field of a schema that is not tagged."""
    return _sequence(_merge_fixed([_size_or_step(field, schema.__flexible__)]))


def tags_step(schema: Schema) -> Step:
    """Return the step over the tagged fields of a flexible schema."""
    return _tagged_fields(
        {
            field.metadata["tag"]: _tagged_field(field, schema)
            for field in dataclasses.fields(schema)
            if "tag" in field.metadata
        }
    )


def array_length(buffer: MessageBuffer, position: int, end: int, flexible: bool) -> tuple[int, int]:  # noqa: FBT001
    """Return the length of the array that starts here, -1 if it is null, and the position of its first element.

    Raises:
        MalformedFrameError: The array cannot fit into the buffer.
    """
    if flexible:
        length, position = _uvarint(buffer, position, end)
        length -= 1
    else:
        length, position = _signed(buffer, position, end, 4)
    _within(position + length, end)  # every element takes at least one byte
    return length, position


@cached
def _entity(schema: Schema) -> Step:
    flexible: bool = schema.__flexible__
    plain = [field for field in dataclasses.fields(schema) if "tag" not in field.metadata]
    steps = _merge_fixed([_size_or_step(field, flexible) for field in plain])
    if flexible:
        steps.append(tags_step(schema))
    return _sequence(steps)


def _size_or_step(field: "dataclasses.Field[Any]", flexible: bool) -> int | Step:  # noqa: FBT001 - as in the schema
    size = _FIXED.get(field.metadata.get("kafka_type", ""))
    if size is not None and get_origin(without_none(field.type)[0]) is not tuple:
        return size
    return _field(field, flexible, nullable=without_none(field.type)[1])


def _merge_fixed(parts: Sequence[int | Step]) -> list[Step]:
    steps: list[Step] = []
    run = 0
    for part in parts:
        if isinstance(part, int):
            run += part
            continue
        if run:
            steps.append(_fixed(run))
            run = 0
        steps.append(part)
    return [*steps, _fixed(run)] if run else steps


def _field(field: "dataclasses.Field[Any]", flexible: bool, *, nullable: bool) -> Step:  # noqa: FBT001
    annotation, may_be_null = without_none(field.type)
    if get_origin(annotation) is tuple:
        shortest = -1 if may_be_null else 0
        return _array(_element(get_args(annotation)[0], field, flexible), flexible, shortest)
    if dataclasses.is_dataclass(annotation):
        entity = _entity(annotation)  # type: ignore[arg-type]
        return _nullable(entity) if nullable else entity
    return _scalar(field.metadata["kafka_type"], flexible)


def _tagged_field(field: "dataclasses.Field[Any]", schema: Schema) -> Step:
    step = _field(field, schema.__flexible__, nullable=False)
    return _Nullable(step) if is_nullable_structure(field) else step


def _element(annotation: Any, field: "dataclasses.Field[Any]", flexible: bool) -> Step:  # noqa: FBT001
    annotation, _ = without_none(annotation)
    if dataclasses.is_dataclass(annotation):
        return _entity(annotation)  # type: ignore[arg-type]
    return _scalar(field.metadata["kafka_type"], flexible)


def _scalar(kafka_type: str, flexible: bool) -> Step:  # noqa: FBT001
    if kafka_type in _FIXED:
        return _fixed(_FIXED[kafka_type])
    return _compact_string if flexible else _legacy_string(_STRING_LENGTH_BYTES[kafka_type])


def _sequence(steps: Sequence[Step]) -> Step:
    if len(steps) == 1:
        return steps[0]

    def check(buffer: MessageBuffer, position: int, end: int) -> int:
        for step in steps:
            position = step(buffer, position, end)
        return position

    return check


@cached
def _fixed(size: int) -> Step:
    def check(_buffer: MessageBuffer, position: int, end: int) -> int:
        return _within(position + size, end)

    return check


def _compact_string(buffer: MessageBuffer, position: int, end: int) -> int:
    length, position = _uvarint(buffer, position, end)
    return _within(position + length - 1, end) if length else position


@cached
def _legacy_string(length_bytes: int) -> Step:
    def check(buffer: MessageBuffer, position: int, end: int) -> int:
        length, position = _signed(buffer, position, end, length_bytes)
        return position if length == -1 else _within(position + length, end)

    return check


def _array(element: Step, flexible: bool, shortest: int) -> Step:  # noqa: FBT001
    def check(buffer: MessageBuffer, position: int, end: int) -> int:
        length, position = array_length(buffer, position, end, flexible)
        if length < shortest:
            # kio accepts null for any array, but users of the message don't expect null if the array is not nullable.
            raise MalformedFrameError("The message has a null array that must not be null.")
        for _ in range(length):
            position = element(buffer, position, end)
        return position

    return check


def _nullable(entity: Step) -> Step:
    def check(buffer: MessageBuffer, position: int, end: int) -> int:
        marker, position = _signed(buffer, position, end, 1)
        return entity(buffer, position, end) if marker >= 0 else position

    return check


class _Nullable:
    """The step over a tagged structure that may be null. kio cannot read a null one, so that it is removed first."""

    def __init__(self, entity: Step) -> None:
        self._entity = entity

    def __call__(self, buffer: MessageBuffer, position: int, end: int) -> int:
        marker, position = _uvarint(buffer, position, end)
        return self._entity(buffer, position, end) if marker else position

    def is_null(self, buffer: MessageBuffer, position: int) -> bool:
        """Return whether the structure that starts here is null."""
        return buffer[position] == 0


def _tagged_fields(known: Mapping[int, Step]) -> Step:
    def check(buffer: MessageBuffer, position: int, end: int) -> int:
        if position < end and buffer[position] == 0:
            return position + 1
        if isinstance(buffer, _Noted):
            return _note_section(buffer, position, end, known)
        return _each_tag(buffer, position, end, lambda *field: _check_known(known, buffer, *field))

    return check


def _each_tag(buffer: MessageBuffer, position: int, end: int, each: Callable[[int, int, int], None]) -> int:
    """Call `each(tag, position, end)` for every tagged field, and return the position after the last one."""
    count, position = _uvarint(buffer, position, end)
    _within(position + 2 * count, end)  # every tagged field takes a tag and a size
    for _ in range(count):
        tag, position = _uvarint(buffer, position, end)
        size, position = _uvarint(buffer, position, end)
        after = _within(position + size, end)
        each(tag, position, after)
        position = after
    return position


def _check_known(known: Mapping[int, Step], buffer: MessageBuffer, tag: int, position: int, after: int) -> None:
    if tag in known and known[tag](buffer, position, after) != after:
        raise MalformedFrameError(f"Tagged field {tag} is shorter than the {after - position} bytes that it announces.")


class _Noted(bytes):
    """A check that also collects the edits that remove unknown tagged fields from a message."""

    edits: list[tuple[int, int, bytes]]
    """Start and end of each replaced part, and its replacement, in order."""

    def edited(self, start: int, end: int) -> bytes:
        parts, position = [], start
        for begin, after, replacement in self.edits:
            parts += [self[position:begin], replacement]
            position = after
        return b"".join([*parts, self[position:end]])


def _note_section(noted: _Noted, position: int, end: int, known: Mapping[int, Step]) -> int:
    kept: list[bytes] = []

    def keep(tag: int, start: int, after: int) -> None:
        if tag in known:
            outer, noted.edits = noted.edits, []  # the edits inside a field change the size that precedes it
            _check_known(known, noted, tag, start, after)
            content = noted.edited(start, after)
            noted.edits = outer
            step = known[tag]
            if isinstance(step, _Nullable) and step.is_null(noted, start):
                return
            kept.append(_written(tag) + _written(len(content)) + content)

    after = _each_tag(noted, position, end, keep)
    noted.edits.append((position, after, _written(len(kept)) + b"".join(kept)))
    return after


def _written(value: int) -> bytes:
    groups = []
    while value >= 0x80:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*groups, value])


def _within(position: int, end: int) -> int:
    if position > end:
        raise MalformedFrameError(f"The message announces {position - end} more byte(s) than it contains.")
    return position


def _signed(buffer: MessageBuffer, position: int, end: int, size: int) -> tuple[int, int]:
    after = _within(position + size, end)
    value = int.from_bytes(buffer[position:after], "big", signed=True)
    if value < -1:
        raise MalformedFrameError(f"Invalid length {value} in the message.")
    return value, after


def _uvarint(buffer: MessageBuffer, position: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while position < end and shift < 35:
        byte = buffer[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise MalformedFrameError("A variable-length integer does not end.")
