"""Bytes of Java's serialisers and the values that they stand for, recorded from Kafka 4.3.1.

`python -m tests.recording.java_serdes` records them again. It needs Java 17 and Maven.
"""

import json
import struct
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Any

from kafka_groups import serdes
from kafka_groups.serdes import Serde, Window, Windowed
from tests.support.kafka.java_program import JavaProgram, LineProgram
from tests.support.kafka.kafka_classpath import streams_classpath

__all__ = ["SERDES", "hexadecimal", "java_answer", "recorded", "shown"]

GOLDEN = Path(__file__).parents[1] / "golden" / "serdes.json"
MAX_MS = 2**63 - 1

SERDES: MappingProxyType[str, Serde[Any]] = MappingProxyType({
    "string": serdes.string,
    "int32": serdes.int32,
    "int64": serdes.int64,
    "float64": serdes.float64,
    "bool": serdes.bool_,
    "uuid": serdes.uuid,
    "bytes": serdes.bytes_,
    "time:300000": serdes.time_windowed(serdes.string, 300_000),
    f"time:{MAX_MS}": serdes.time_windowed(serdes.string, MAX_MS),
    "session": serdes.session_windowed(serdes.string),
})  # fmt: skip
"""Our serdes by the names of `java/SerdeDriver.java`."""

_BYTES = MappingProxyType({
    "string": (b"", b"a", "Zürich ✈ 𝄞".encode(), b"\0"),
    "int32": tuple(value.to_bytes(4, "big", signed=True) for value in (0, 1, -1, 2**31 - 1, -(2**31), 258)),
    "int64": tuple(value.to_bytes(8, "big", signed=True) for value in (0, 1, -1, 2**63 - 1, -(2**63), 258)),
    "float64": tuple(
        struct.pack(">d", value) for value in (0.0, -0.0, 1.5, -1e300, 5e-324, float("inf"), float("-inf"))
    ),
    "bool": (b"\0", b"\x01"),
    "uuid": (b"00112233-4455-6677-8899-aabbccddeeff", b"00000000-0000-0000-0000-000000000000"),
    "bytes": (b"", b"\0\xff"),
    "time:300000": tuple(
        key + start_ms.to_bytes(8, "big") for key in (b"", b"ann") for start_ms in (0, 300_000, MAX_MS - 5)
    ),
    f"time:{MAX_MS}": tuple(b"ann" + start_ms.to_bytes(8, "big") for start_ms in (0, 1)),
    "session": tuple(
        key + end_ms.to_bytes(8, "big") + start_ms.to_bytes(8, "big")
        for key in (b"", b"ann")
        for start_ms, end_ms in ((0, 0), (5, 258), (MAX_MS, MAX_MS))
    ),
})  # fmt: skip


def recorded() -> list[tuple[str, str, str]]:
    """The name of a serde, a value as `shown`, and its bytes as `hexadecimal`: as Java reads and writes them."""
    return [(name, value, data) for name, value, data in json.loads(GOLDEN.read_text(encoding="utf-8"))]


def java_answer(driver: LineProgram, name: str, data: bytes) -> tuple[str, str] | None:
    """The value that Java reads from bytes, and the bytes that it writes for it; None if it raises."""
    answer = driver.ask(name, hexadecimal(data))
    return None if answer == ["error"] else (answer[0], answer[1])


def hexadecimal(data: bytes) -> str:
    """Bytes as a word of the driver."""
    return f"x{data.hex()}"


def shown(name: str, value: Any) -> str:
    """A value as a word of the driver."""
    return _SHOWN.get(name.partition(":")[0], str)(value)


def _shown_float(value: float) -> str:
    """A float by its bits, as Java and Python write hexadecimal digits differently."""
    return struct.pack(">d", value).hex()


def _shown_windowed(value: Windowed[str]) -> str:
    key, window = value
    assert type(window) is Window
    return f"{hexadecimal(key.encode())}@{window.start_ms}/{window.end_ms}"


_SHOWN: MappingProxyType[str, Callable[[Any], str]] = MappingProxyType({
    "string": lambda value: hexadecimal(value.encode()),
    "bytes": hexadecimal,
    "bool": lambda value: str(value).lower(),
    "float64": _shown_float,
    "time": _shown_windowed,
    "session": _shown_windowed,
})  # fmt: skip


def _record(driver: LineProgram) -> Iterator[tuple[str, str, str]]:
    for name, values in _BYTES.items():
        for data in values:
            answer = java_answer(driver, name, data)
            assert answer is not None, (name, data)
            yield name, *answer


def main() -> None:
    """Record what Java reads and writes."""
    with (
        tempfile.TemporaryDirectory() as directory,
        JavaProgram("SerdeDriver", Path(directory), streams_classpath()) as driver,
    ):
        lines = ",\n".join(json.dumps(each) for each in _record(driver))
    GOLDEN.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
