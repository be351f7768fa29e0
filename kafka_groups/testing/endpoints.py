"""Find broker addresses in responses, and replace them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import attrs

from kafka_groups.client.reachability import Address
from kafka_groups.protocol.apis import APIS, ApiKey
from kafka_groups.protocol.codec import RequestHeader, decode_response, encode_response

__all__ = ["addresses_in", "readdressed"]

_FIELDS: Mapping[int, str] = MappingProxyType({
    ApiKey.METADATA: "brokers",
    ApiKey.DESCRIBE_CLUSTER: "brokers",
    ApiKey.FIND_COORDINATOR: "coordinators",
    ApiKey.PRODUCE: "node_endpoints",
    ApiKey.FETCH: "node_endpoints",
    ApiKey.SHARE_FETCH: "node_endpoints",
    ApiKey.SHARE_ACKNOWLEDGE: "node_endpoints",
})  # fmt: skip
"""The field of a response that lists brokers."""


def addresses_in(header: RequestHeader, response: bytes) -> set[Address]:
    """Return the broker addresses in the response to a request with this header."""
    if not _may_hold_addresses(header):
        return set()
    return {(place.host, place.port) for place in _places(header, _decoded(header, response)) if place.host}


def readdressed(header: RequestHeader, response: bytes, replacements: Mapping[Address, Address]) -> bytes:
    """Return the response with its addresses replaced as the mapping says; other addresses stay."""
    message = _decoded(header, response)
    if _is_place_itself(header):
        message = _moved(message, replacements)
    else:
        places = tuple(_moved(place, replacements) for place in _places(header, message))
        message = attrs.evolve(message, **{_FIELDS[header.api_key]: places})
    return encode_response(message, header.version, header.correlation_id)


def _may_hold_addresses(header: RequestHeader) -> bool:
    return header.api_key in _FIELDS and header.version in APIS[ApiKey(header.api_key)].versions


def _decoded(header: RequestHeader, response: bytes) -> Any:
    return decode_response(response, ApiKey(header.api_key), header.version)


def _is_place_itself(header: RequestHeader) -> bool:
    # Up to version 3 a FindCoordinator response is about one coordinator, whose address stands in the response.
    return header.api_key == ApiKey.FIND_COORDINATOR and header.version < 4


def _places(header: RequestHeader, message: Any) -> tuple[Any, ...]:
    return (message,) if _is_place_itself(header) else getattr(message, _FIELDS[header.api_key])


def _moved(place: Any, replacements: Mapping[Address, Address]) -> Any:
    host, port = replacements.get((place.host, place.port), (place.host, place.port))
    return attrs.evolve(place, host=host, port=port)
