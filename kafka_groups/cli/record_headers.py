"""Headers of records as lines of JSON have them: pairs of name and value."""

from typing import Any

from kafka_groups.serdes.json_values import bytes_from_json, bytes_to_json
from kafka_groups.types import Header, Headers

__all__ = ["headers_from_json", "headers_to_json"]


def headers_to_json(headers: Headers) -> list[list[Any]]:
    """Return the JSON that `headers_from_json` reads."""
    return [[name, None if value is None else bytes_to_json(value)] for name, value in headers]


def headers_from_json(given: object) -> list[Header]:
    """Return headers, given what a JSON parser has returned.

    Raises:
        ValueError: They are not a list of pairs.
    """
    if not isinstance(given, list):
        raise ValueError(f'headers: {given!r} is not a list: give [["name", "value"], …]')
    return [_header(each) for each in given]


def _header(given: object) -> Header:
    if not isinstance(given, list) or len(given) != 2 or not isinstance(given[0], str):
        raise ValueError(f'headers: {given!r} is not a header: give ["name", "value"]')
    name, value = given
    try:
        name.encode()
        return name, None if value is None else bytes_from_json(value)
    except ValueError as error:
        raise ValueError(f"headers: {error}") from error
