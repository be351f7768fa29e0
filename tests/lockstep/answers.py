"""Answers as flat tables, so that two of them can be compared field by field."""

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any
from uuid import UUID

import attrs

from tests.lockstep.side import Side

Fields = Mapping[str, object]
"""The fields of an answer by their paths, such as `ShareFetchResponse.responses[0].topic_id`."""

_NAMES = (
    "topic_id", "topic_name", "partition_index", "group_id", "member_id", "name", "subtopology_id", "topic", "key"
)  # fmt: skip
_HAS_NO_ORDER = re.compile(
    r"\.subscribed_topic_names$|^(Consumer|Streams)Group.*\.partitions$"
    r"|^StreamsGroup.*\.(task_offsets|task_end_offsets|partitions_by_user_endpoint)$"
)
_LEADER_EPOCH = slice(12, 16)
_LENGTH = slice(8, 12)
_BEFORE_LENGTH = 12


def fields_of(answer: Any, side: Side) -> dict[str, object]:
    """Every field of an answer, ids of topics as names."""
    return dict(_walk(type(answer).__name__, answer, side))


def _walk(path: str, value: Any, side: Side) -> Iterator[tuple[str, object]]:
    if attrs.has(type(value)):
        for each in attrs.fields(type(value)):
            yield from _walk(f"{path}.{each.name}", getattr(value, each.name), side)
    elif isinstance(value, tuple):
        yield f"{path}.length", len(value)
        items = sorted(value, key=_without_order) if _HAS_NO_ORDER.search(path) else value
        for name, item in zip(_names_of(items, side), items, strict=True):
            yield from _walk(f"{path}[{name}]", item, side)
    elif path.endswith(".records"):
        yield path, _plain(None if value is None else whole_batches(bytes(value)), side)
    else:
        yield path, _plain(value, side)


def _without_order(value: Any) -> str:
    """A text by which elements of a list can be ordered, whatever the order of the lists in them."""
    if attrs.has(type(value)):
        return str([_without_order(getattr(value, each.name)) for each in attrs.fields(type(value))])
    return str(sorted(map(_without_order, value))) if isinstance(value, tuple) else str(value)


def _names_of(items: Sequence[Any], side: Side) -> list[str]:
    """The names of a list's elements. If two have the same one, all have their numbers."""
    names = [_name_of(item, side) or str(index) for index, item in enumerate(items)]
    return names if len(set(names)) == len(names) else [str(index) for index in range(len(items))]


def _name_of(item: Any, side: Side) -> str | None:
    """What an element of a list is called, as most lists are in the order of Kafka's hash tables."""
    found = next((getattr(item, name) for name in _NAMES if getattr(item, name, None) is not None), None)
    return None if found is None else str(_plain(found, side))


def _plain(value: Any, side: Side) -> object:
    if isinstance(value, UUID):
        return side.names_of_ids.get(value, str(value))
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex(" ", 8)
    if isinstance(value, str):
        return side.labels.of(value)
    return value


def whole_batches(records: bytes) -> bytes:
    """Record batches with zeros for the epoch of the leader that appended them, which the checksum does not cover.

    A part of a batch at the end is left out: Kafka sends it where `max_bytes` ends within a batch, and clients skip it.
    """
    cleared, at = bytearray(records), 0
    while at + _BEFORE_LENGTH <= len(cleared):
        end = at + _BEFORE_LENGTH + int.from_bytes(cleared[at:][_LENGTH], "big")
        if end > len(cleared):
            break
        cleared[at + _LEADER_EPOCH.start : at + _LEADER_EPOCH.stop] = bytes(4)
        at = end
    return bytes(cleared[:at])
