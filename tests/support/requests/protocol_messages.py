"""Hypothesis strategies for every message in every version, made from the message classes and the wire schemas.

Fields that a version lacks keep their defaults, so that what is written can be read back as it was.
"""

import dataclasses
import types
from collections.abc import Generator, Iterator, Mapping
from typing import Any, get_args, get_origin, get_type_hints
from uuid import UUID

from attrs import frozen
from hypothesis import strategies as st

from kafka_groups.protocol.apis import APIS, Api
from kafka_groups.protocol.binding import Binding
from kafka_groups.protocol.codec import (
    encode_request,
    encode_response,
    request_binding,
    request_schema,
    response_binding,
    response_schema,
)
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.piecewise import decoding, writing
from kafka_groups.protocol.schemas.plain_schema import Schema
from kafka_groups.protocol.writers import Put

CORRELATION_ID = 7
CLIENT_ID = "client"

_MAX_ELEMENTS = 3


@frozen
class Shape:
    """A request or response of one version of an API."""

    api: Api
    kind: str
    version: int

    def __str__(self) -> str:
        return f"{self.api.module}-v{self.version}-{self.kind}"

    @property
    def message_class(self) -> type[Any]:
        """Our class."""
        return self.api.request_class if self.kind == "request" else self.api.response_class

    @property
    def schema(self) -> Schema:
        """The plain schema."""
        return (request_schema if self.kind == "request" else response_schema)(self.api.key, self.version)

    def messages(self) -> st.SearchStrategy[Any]:
        """Messages that this version can carry."""
        return messages_of(self.message_class, self.schema)

    def encode(self, message: object) -> bytes:
        """The payload of a frame with the message."""
        if self.kind == "request":
            return encode_request(message, self.version, CORRELATION_ID, CLIENT_ID)
        return encode_response(message, self.version, CORRELATION_ID)

    def encode_body(self, message: object) -> bytes:
        """The message without a header."""
        return self._binding.encode(message)

    def decode_body(self, body: bytes) -> Any:
        """The message that a body holds."""
        return self._binding.decode(body)

    def decoding_body(self, body: bytes) -> Generator[None, None, Any]:
        """The message that a body holds, element by element."""
        return decoding(self._binding, body, whole=True)

    def writing_body(self, message: object, put: Put) -> Iterator[None]:
        """Write the message without a header, element by element."""
        return writing(self._binding, message, put)

    @property
    def _binding(self) -> Binding:
        bind = request_binding if self.kind == "request" else response_binding
        return bind(self.api.key, self.version)


SHAPES = tuple(
    Shape(api, kind, version)
    for api in APIS.values()
    for version in range(api.versions.low, api.versions.high + 1)
    for kind in ("request", "response")
)
"""All requests and responses in all versions that we speak."""


def _integers(bits: int, *, signed: bool = True) -> st.SearchStrategy[int]:
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return st.integers(low, high)


_IDS = st.integers(1, (1 << 128) - 1).map(lambda number: UUID(int=number))

Scalars = Mapping[str, st.SearchStrategy[Any]]
"""Values by the type of a field; `id` is a UUID that is never null."""

ANY_SCALARS: Scalars = {
    "int8": _integers(8),
    "int16": _integers(16),
    "uint16": _integers(16, signed=False),
    "int32": _integers(32),
    "int64": _integers(64),
    "float64": st.floats(allow_nan=False),
    "bool": st.booleans(),
    "string": st.text(max_size=20),
    "bytes": st.binary(max_size=40),
    "records": st.binary(max_size=40),
    "uuid": st.none() | _IDS,
    "id": _IDS,
}


def messages_of(message_class: type[Any], schema: Schema, scalars: Scalars = ANY_SCALARS) -> st.SearchStrategy[Any]:
    """Messages of a class that a schema can carry."""
    hints = get_type_hints(message_class)
    fields = {field.name: _values(hints[field.name], field, scalars) for field in dataclasses.fields(schema)}
    return st.builds(message_class, **fields)


def _values(hint: Any, field: "dataclasses.Field[Any]", scalars: Scalars) -> st.SearchStrategy[Any]:
    if hint is UUID:
        return scalars["id"]
    annotation, nullable = _without_none(field.type)
    if get_origin(annotation) is tuple:
        elements = _single(_element(hint), get_args(annotation)[0], field, scalars)
        values: st.SearchStrategy[Any] = st.lists(elements, max_size=_MAX_ELEMENTS).map(tuple)
    else:
        values = _single(_without_none(hint)[0], annotation, field, scalars)
    return st.none() | values if nullable else values


def _single(hint: Any, annotation: Any, field: "dataclasses.Field[Any]", scalars: Scalars) -> st.SearchStrategy[Any]:
    annotation, _ = _without_none(annotation)
    if dataclasses.is_dataclass(annotation):
        return messages_of(hint, annotation, scalars)  # type: ignore[arg-type]
    if hint is ErrorCode:
        return scalars["int16"].map(ErrorCode)
    return scalars[field.metadata["kafka_type"]]


def _element(hint: Any) -> Any:
    return _without_none(get_args(_without_none(hint)[0])[0])[0]


def _without_none(annotation: Any) -> tuple[Any, bool]:
    if get_origin(annotation) is types.UnionType:
        return next(part for part in get_args(annotation) if part is not types.NoneType), True
    return annotation, False
