"""Metadata of committed offsets as Kafka Streams 4.3.1 writes and reads it, recorded.

`python -m tests.recording.java_commit_metadata` records it again. It needs Java 17 and Maven.
"""

import base64
import json
import struct
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tests.support.kafka.java_program import JavaProgram, LineProgram
from tests.support.kafka.kafka_classpath import streams_classpath

__all__ = ["Reading", "Writing", "java_reading", "java_writing", "recorded"]

GOLDEN: Final = Path(__file__).parents[1] / "golden" / "commit_metadata.json"
_NAMES: Final = ("KSTREAM-AGGREGATE-0000000001", "Zürich ✈ 𝄞")


class Writing(NamedTuple):
    """Times, and the text that Java writes for them."""

    partition_time_ms: int
    processor_times_ms: dict[str, int]
    text: str


class Reading(NamedTuple):
    """A text, and the times that Java reads from it; None for a processor that it does not find there."""

    text: str
    partition_time_ms: int
    processor_times_ms: dict[str, int | None]


_WRITTEN: Final[Sequence[tuple[int, dict[str, int]]]] = (
    (-1, {}),
    (0, {}),
    (1_700_000_000_123, {}),
    (2**63 - 1, {}),
    (5, {_NAMES[0]: 300_000}),
    (-1, {_NAMES[0]: -(2**63), _NAMES[1]: 2**63 - 1, "": 0}),
)


def _base64(version: int, *parts: bytes) -> str:
    return base64.b64encode(bytes([version]) + b"".join(parts)).decode()


def _int64(value: int) -> bytes:
    return struct.pack(">q", value)


def _int32(value: int) -> bytes:
    return struct.pack(">i", value)


_READ: Final[Sequence[str]] = (
    "",
    _base64(1, _int64(258)),
    _base64(1, _int64(258), b"more"),
    _base64(2, _int64(258)),
    _base64(2, _int64(258)).rstrip("="),
    _base64(2, _int64(258), _int32(0)),
    _base64(2, _int64(258), _int32(1), _int32(1), b"a", _int64(7)),
    _base64(2, _int64(258), _int32(1), _int32(1), b"a", _int64(7)).rstrip("="),
    _base64(2, _int64(258), _int32(1), _int32(1), b"a", _int64(7), b"more"),
    _base64(2, _int64(258), _int32(1), _int32(1), b"\xff", _int64(7)),
    _base64(2, _int64(258), _int32(2), _int32(1), b"a", _int64(7)),
    _base64(2, _int64(258), _int32(-1)),
    _base64(2, _int64(258), _int32(1), _int32(-1), _int64(7), _int64(8)),
    _base64(2, _int64(258), b"\0"),
    _base64(2, b"\0" * 7),
    _base64(3, _int64(258)),
    _base64(0, _int64(258)),
    _base64(255, _int64(258)),
    _base64(2),
    "A",
    "Ag",
    "offset committed by hand",
    "AgAAAAAAAAEC\n",
    "AgAAAAAAAAEC=",
    "é",
)


def _word(text: str) -> str:
    return f"x{text.encode().hex()}"


def java_writing(driver: LineProgram, partition_time_ms: int, processor_times_ms: dict[str, int]) -> str:
    """The text that Java writes."""
    times = [f"{_word(name)}={time_ms}" for name, time_ms in processor_times_ms.items()]
    return driver.ask("write", str(partition_time_ms), *times)[0]


def java_reading(driver: LineProgram, text: str) -> Reading:
    """The times that Java reads from a text."""
    names = (*_NAMES, "a", "�", "")
    partition_time_ms, *times = driver.ask("read", _word(text), *map(_word, names))
    found = {name: None if time == "null" else int(time) for name, time in zip(names, times, strict=True)}
    return Reading(text, int(partition_time_ms), found)


def recorded() -> tuple[list[Writing], list[Reading]]:
    """What was recorded."""
    found = json.loads(GOLDEN.read_text(encoding="utf-8"))
    return [Writing(*each) for each in found["written"]], [Reading(*each) for each in found["read"]]


def main() -> None:
    """Record what Java writes and reads."""
    with (
        tempfile.TemporaryDirectory() as directory,
        JavaProgram("CommitMetadata", Path(directory), streams_classpath()) as driver,
    ):
        written = [Writing(*each, java_writing(driver, *each)) for each in _WRITTEN]
        read = [java_reading(driver, text) for text in (*(each.text for each in written), *_READ)]
    lines = {name: ",\n".join(map(json.dumps, each)) for name, each in (("written", written), ("read", read))}
    text = ",\n".join(f'"{name}": [\n{each}\n]' for name, each in lines.items())
    GOLDEN.write_text(f"{{\n{text}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
