"""The description of the addresses, as OpenAPI has it."""

from collections.abc import Mapping
from typing import Any, Final

from kafka_groups.streams.serving.reading import MOST_ROWS

__all__ = ["DESCRIPTION"]

_TEXT: Final = {"type": "string"}
_NUMBER: Final = {"type": "integer"}
_FLAG: Final = {"type": "boolean", "default": False}
_PARAMETERS: Final[Mapping[str, tuple[str, Mapping[str, object]]]] = {
    "key": ("A key: texts as they are, bytes in base64, all others as JSON, such as 7.", _TEXT),
    "low": ("The first key; without it, the range begins with the first row.", _TEXT),
    "high": ("The last key, included; without it, the range ends with the last row.", _TEXT),
    "start_ms": ("The start of a window, in milliseconds since 1970.", _NUMBER),
    "as_of_ms": ("Versioned stores: the time for which the value is wanted. Without it, the newest.", _NUMBER),
    "first_ms": ("Window stores: the first start of a window, in milliseconds since 1970.", _NUMBER),
    "last_ms": ("Window stores: the last start of a window, included.", _NUMBER),
    "reverse": ("Whether the last rows come first.", _FLAG),
    "limit": ("The most rows.", {"type": "integer", "default": 1_000, "minimum": 1, "maximum": MOST_ROWS}),
    "partition": ("The partition to read. Without it, all that this process has.", {"type": "integer", "minimum": 0}),
    "allow_stale": ("Whether copies and tasks that are being restored answer, too.", _FLAG),
}
_ALWAYS: Final = ("partition", "allow_stale")
_STATUSES: Final = {
    "200": "The answer.",
    "400": "A parameter is missing or invalid, or stores of this kind have no such address.",
    "404": "There is no such store, or no such key.",
    "421": "The question was passed on to this process, and the key is elsewhere by now. Ask again.",
    "500": "A value cannot be read, or has no form in JSON.",
    "503": "Tasks move, or are being restored. Ask again.",
}


def _of_store(summary: str, required: tuple[str, ...], optional: tuple[str, ...]) -> dict[str, Any]:
    named = [(name, name in required) for name in (*required, *optional, *_ALWAYS)]
    parameters = [
        {"name": "store", "in": "path", "required": True, "schema": _TEXT},
        *(
            {"name": name, "in": "query", "required": is_required, "description": _PARAMETERS[name][0],
             "schema": _PARAMETERS[name][1]}
            for name, is_required in named
        ),
    ]  # fmt: skip
    return {"get": {"summary": summary, "parameters": parameters, "responses": _responses(_STATUSES)}}


def _responses(statuses: Mapping[str, str]) -> dict[str, Any]:
    content = {"application/json": {"schema": {"type": "object"}}}
    return {status: {"description": text, "content": content} for status, text in statuses.items()}


DESCRIPTION: Final[Mapping[str, Any]] = {
    "openapi": "3.1.0",
    "info": {"title": "Stores of a streams application", "version": "1"},
    "paths": {
        "/stores": {
            "get": {
                "summary": "The stores of the application, and the partitions that its processes have.",
                "responses": _responses({"200": "The stores and processes."}),
            }
        },
        "/stores/{store}/get": _of_store(
            "The value of a key, from whichever process has it.", ("key",), ("start_ms", "as_of_ms")
        ),
        "/stores/{store}/range": _of_store(
            "Rows of a key-value store in this process, in the order of their keys' bytes.",
            (),
            ("low", "high", "reverse", "limit"),
        ),
        "/stores/{store}/fetch": _of_store(
            "The windows or sessions of a key, from whichever process has it.",
            ("key",),
            ("first_ms", "last_ms", "reverse", "limit"),
        ),
    },
}
