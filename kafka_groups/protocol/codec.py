"""Requests and responses with their headers ⇄ the payload of one frame."""

import struct
from collections.abc import Generator
from typing import Any

from attrs import frozen

from kafka_groups.errors import MalformedFrameError, UnknownApiError
from kafka_groups.protocol.apis import APIS, Api, ApiKey, api_of
from kafka_groups.protocol.binding import Binding, bind
from kafka_groups.protocol.memo import cached
from kafka_groups.protocol.piecewise import decoding, writing
from kafka_groups.protocol.schemas.plain_schema import Schema, plain_schema

__all__ = [
    "RequestHeader",
    "correlation_id_of",
    "decode_request",
    "decode_request_header",
    "decode_response",
    "decoding_request",
    "encode_request",
    "encode_response",
    "encoding_response",
    "request_binding",
    "request_schema",
    "response_binding",
    "response_schema",
]

_REQUEST_START = struct.Struct(">hhih")
_CORRELATION_ID = struct.Struct(">i")
_NO_TAGS = b"\x00"
_JOINED_AT_ONCE = 1_000


@frozen
class RequestHeader:
    """The header of a request.

    Attributes:
        api_key: Number of the API, which may be unsupported.
        version: Version of the API.
        correlation_id: Id that the response repeats.
        client_id: The client's name for itself.
        body_start: Start of the body in the frame, or -1 if the version is unknown.
    """

    api_key: int
    version: int
    correlation_id: int
    client_id: str | None
    body_start: int


@cached
def request_binding(key: ApiKey, version: int) -> Binding:
    """Return the binding of the API's request. Created on first use, because importing all of kio takes 0.3 s."""
    return bind(APIS[key].request_class, request_schema(key, version))


@cached
def response_binding(key: ApiKey, version: int) -> Binding:
    """Return the binding of the API's response."""
    return bind(APIS[key].response_class, response_schema(key, version))


def encode_request(request: object, version: int, correlation_id: int, client_id: str | None) -> bytes:
    """Encode header and body of a request. The client id has the legacy format in all versions.

    Raises:
        ProtocolError: The version cannot represent a value that the request sets.
    """
    api = api_of(type(request))
    binding = request_binding(api.key, version)
    name = b"" if client_id is None else client_id.encode()
    length = -1 if client_id is None else len(name)
    tags = _NO_TAGS if binding.flexible else b""
    start = _REQUEST_START.pack(api.key, version, correlation_id, length)
    parts = [start, name, tags]
    binding.write(request, parts.append)
    return b"".join(parts)


def decode_request_header(frame: bytes | memoryview) -> RequestHeader:
    """Decode the header of a request, even of an unsupported API.

    Raises:
        MalformedFrameError: The frame is too short for a header.
    """
    if len(frame) < _REQUEST_START.size:
        raise MalformedFrameError(f"A request of {len(frame)} bytes is too short for a header.")
    api_key, version, correlation_id, length = _REQUEST_START.unpack_from(frame)
    name_end = _REQUEST_START.size + max(length, 0)
    if length < -1 or name_end > len(frame):
        raise MalformedFrameError(f"Invalid client id length {length} in the request header.")
    client_id = None if length == -1 else _utf8(frame[_REQUEST_START.size : name_end])
    return RequestHeader(api_key, version, correlation_id, client_id, _body_start(frame, api_key, version, name_end))


def decode_request(frame: bytes | memoryview, header: RequestHeader) -> Any:
    """Decode the body of a request whose header was decoded before.

    As in Kafka, bytes after the body are ignored: librdkafka's Metadata request for all topics has three.

    Raises:
        UnknownApiError: The API or the version is not supported.
        MalformedFrameError: The body does not match the header.
    """
    api = _served(header.api_key, header.version)
    return request_binding(api.key, header.version).decode(frame, header.body_start, whole=False)


def decoding_request(frame: bytes | memoryview, header: RequestHeader) -> Generator[None, None, Any]:
    """Decode a request like `decode_request`, but yield after each element of its arrays.

    Raises:
        UnknownApiError: The API or the version is not supported.
        MalformedFrameError: The body does not match the header.
    """
    api = _served(header.api_key, header.version)
    return decoding(request_binding(api.key, header.version), frame, header.body_start)


def encode_response(response: object, version: int, correlation_id: int) -> bytes:
    """Encode header and body of a response. ApiVersions uses the oldest header in all versions."""
    api = api_of(type(response))
    binding = response_binding(api.key, version)
    parts = [_response_header(api, binding, correlation_id)]
    binding.write(response, parts.append)
    return b"".join(parts)


def encoding_response(response: object, version: int, correlation_id: int) -> Generator[None, None, bytes]:
    """Encode a response like `encode_response`, but yield after each element of its arrays."""
    api = api_of(type(response))
    binding = response_binding(api.key, version)
    done, parts = [], [_response_header(api, binding, correlation_id)]
    for number, pause in enumerate(writing(binding, response, parts.append), start=1):
        if number % _JOINED_AT_ONCE == 0:
            done.append(b"".join(parts))
            parts.clear()
        yield pause
    return b"".join([*done, *parts])


def correlation_id_of(frame: bytes | memoryview) -> int:
    """Decode the correlation id at the start of a response.

    Raises:
        MalformedFrameError: The frame is too short.
    """
    if len(frame) < _CORRELATION_ID.size:
        raise MalformedFrameError(f"A response of {len(frame)} bytes is too short for a correlation id.")
    correlation_id: int = _CORRELATION_ID.unpack_from(frame)[0]
    return correlation_id


def decode_response(frame: bytes | memoryview, key: ApiKey, version: int) -> Any:
    """Decode the response to a request of the given API and version.

    As in Kafka's clients, bytes after the body are ignored: librdkafka's mock broker sends some.

    Raises:
        MalformedFrameError: The frame is not such a response.
    """
    binding = response_binding(key, version)
    start = _CORRELATION_ID.size
    if binding.flexible and key is not ApiKey.API_VERSIONS:
        start = _after_tags(frame, start)
    return binding.decode(frame, start, whole=False)


def _response_header(api: Api, binding: Binding, correlation_id: int) -> bytes:
    tags = _NO_TAGS if binding.flexible and api.key is not ApiKey.API_VERSIONS else b""
    return _CORRELATION_ID.pack(correlation_id) + tags


def _served(api_key: int, version: int) -> Api:
    api = APIS.get(api_key)  # type: ignore[call-overload]
    if api is None:
        raise UnknownApiError(f"API key {api_key} is not supported.")
    assert isinstance(api, Api)  # noqa: S101 - for the type checker
    if version not in api.versions:
        raise UnknownApiError(f"{api} is supported in {api.versions}, not in version {version}.")
    return api


def _body_start(frame: bytes | memoryview, api_key: int, version: int, name_end: int) -> int:
    try:
        api = _served(api_key, version)
    except UnknownApiError:
        return -1
    return _after_tags(frame, name_end) if request_binding(api.key, version).flexible else name_end


def _after_tags(frame: bytes | memoryview, start: int) -> int:
    if start >= len(frame) or frame[start] != 0:
        raise MalformedFrameError("The header has tagged fields, which no Kafka release defines.")
    return start + 1


def _utf8(part: bytes | memoryview) -> str:
    try:
        return bytes(part).decode()
    except UnicodeDecodeError as error:
        raise MalformedFrameError(f"The client id is not valid UTF-8: {error}") from error


def request_schema(api_key: int, version: int) -> Schema:
    """Return the plain schema of an API's request in one version: kio's, or one that is declared here."""
    # Both come with kio, which is slow to import and not needed before a client speaks.
    from kio.index import load_request_schema  # noqa: PLC0415

    from kafka_groups.protocol.schemas.declared.newer_apis import REQUESTS  # noqa: PLC0415

    declared = REQUESTS.get((api_key, version))
    return plain_schema(load_request_schema(api_key, version)) if declared is None else declared


def response_schema(api_key: int, version: int) -> Schema:
    """Return the plain schema of an API's response in one version, as `request_schema`."""
    from kio.index import load_response_schema  # noqa: PLC0415

    from kafka_groups.protocol.schemas.declared.newer_apis import RESPONSES  # noqa: PLC0415

    declared = RESPONSES.get((api_key, version))
    return plain_schema(load_response_schema(api_key, version)) if declared is None else declared
