"""Requests and responses with their headers ⇄ the payload of one frame."""

import struct
from typing import Any

from attrs import frozen

from kafka_groups.errors import MalformedFrameError, UnknownApiError
from kafka_groups.protocol.apis import APIS, Api, ApiKey, api_of
from kafka_groups.protocol.binding import Binding, bind
from kafka_groups.protocol.memo import cached
from kafka_groups.protocol.schemas import request_schema, response_schema

__all__ = [
    "RequestHeader",
    "correlation_id_of",
    "decode_request",
    "decode_request_header",
    "decode_response",
    "encode_request",
    "encode_response",
    "request_binding",
    "response_binding",
]

_REQUEST_START = struct.Struct(">hhih")
_CORRELATION_ID = struct.Struct(">i")
_NO_TAGS = b"\x00"


@frozen
class RequestHeader:
    """What a request says before its body.

    Attributes:
        api_key: Number of the API, which may be one that is not served.
        version: Version of the API.
        correlation_id: Comes back with the response.
        client_id: Name that the client gives itself.
        body_start: Where the body begins in the frame; -1 when the version is unknown, so that it cannot be told.
    """

    api_key: int
    version: int
    correlation_id: int
    client_id: str | None
    body_start: int


@cached
def request_binding(key: ApiKey, version: int) -> Binding:
    """Binding of the API's request; made when first used, as all of kio's schemas take 0.3 s to import."""
    return bind(APIS[key].request_class, request_schema(key, version))


@cached
def response_binding(key: ApiKey, version: int) -> Binding:
    """Binding of the API's response."""
    return bind(APIS[key].response_class, response_schema(key, version))


def encode_request(request: object, version: int, correlation_id: int, client_id: str | None) -> bytes:
    """Header and body of a request; the client id is written in the legacy form in all versions.

    Raises:
        ProtocolError: The version cannot carry a value that the request sets.
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
    """The header of a request of any API, also of one that is not served.

    Raises:
        MalformedFrameError: The frame is too short to hold one.
    """
    if len(frame) < _REQUEST_START.size:
        raise MalformedFrameError(f"a request of {len(frame)} bytes has no header")
    api_key, version, correlation_id, length = _REQUEST_START.unpack_from(frame)
    name_end = _REQUEST_START.size + max(length, 0)
    if length < -1 or name_end > len(frame):
        raise MalformedFrameError(f"the request header announces a client id of {length} bytes")
    client_id = None if length == -1 else _utf8(frame[_REQUEST_START.size : name_end])
    return RequestHeader(api_key, version, correlation_id, client_id, _body_start(frame, api_key, version, name_end))


def decode_request(frame: bytes | memoryview, header: RequestHeader) -> Any:
    """The body of a request whose header was decoded before.

    Bytes after the body are ignored, as Kafka ignores them: librdkafka's Metadata request for all topics has three.

    Raises:
        UnknownApiError: The API or the version is not served.
        MalformedFrameError: The body is not what the header says.
    """
    api = _served(header.api_key, header.version)
    return request_binding(api.key, header.version).decode(frame, header.body_start, whole=False)


def encode_response(response: object, version: int, correlation_id: int) -> bytes:
    """Header and body of a response; ApiVersions has the oldest header in all versions."""
    api = api_of(type(response))
    binding = response_binding(api.key, version)
    parts = [_response_header(api, binding, correlation_id)]
    binding.write(response, parts.append)
    return b"".join(parts)


def correlation_id_of(frame: bytes | memoryview) -> int:
    """The correlation id that a response begins with.

    Raises:
        MalformedFrameError: The frame is too short to hold one.
    """
    if len(frame) < _CORRELATION_ID.size:
        raise MalformedFrameError(f"a response of {len(frame)} bytes has no correlation id")
    correlation_id: int = _CORRELATION_ID.unpack_from(frame)[0]
    return correlation_id


def decode_response(frame: bytes | memoryview, key: ApiKey, version: int) -> Any:
    """The response to a request of the given API and version.

    Bytes after the body are ignored, as Kafka's clients ignore them: librdkafka's mock broker sends some.

    Raises:
        MalformedFrameError: The frame holds something else.
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
        raise UnknownApiError(f"API key {api_key} is not served")
    assert isinstance(api, Api)  # noqa: S101 - for the type checker
    if version not in api.versions:
        raise UnknownApiError(f"{api} is served in {api.versions}, not in version {version}")
    return api


def _body_start(frame: bytes | memoryview, api_key: int, version: int, name_end: int) -> int:
    try:
        api = _served(api_key, version)
    except UnknownApiError:
        return -1
    return _after_tags(frame, name_end) if request_binding(api.key, version).flexible else name_end


def _after_tags(frame: bytes | memoryview, start: int) -> int:
    if start >= len(frame) or frame[start] != 0:
        raise MalformedFrameError("the header has tagged fields, which no release of Kafka defines")
    return start + 1


def _utf8(part: bytes | memoryview) -> str:
    try:
        return bytes(part).decode()
    except UnicodeDecodeError as error:
        raise MalformedFrameError(f"the client id is not UTF-8: {error}") from error
