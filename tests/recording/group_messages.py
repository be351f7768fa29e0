"""What Kafka's classes read in messages of classic, consumer and streams groups and of offsets, in every version.

`python -m tests.recording.group_messages`, from the root of the project, gives Kafka's classes a message with a value
of its own in each field, and one with nulls and without elements. It writes what they read in them, and the bytes that
they write for it, to `tests/golden/group_messages.json`. Needs Java and Kafka's jars (Maven fetches them); takes some
seconds.
"""

import base64
import dataclasses
import itertools
import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints
from uuid import UUID

from attrs import asdict, frozen

from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.schemas.plain_schema import Schema, without_none
from kafka_groups.testing.kafka_jars import DEFAULT_KAFKA_VERSION
from tests.support.kafka.kafka_classpath import kafka_classpath, kafka_libs
from tests.support.requests.protocol_messages import SHAPES, Shape

FILE = Path(__file__).parent.parent / "golden" / "group_messages.json"
APIS_OF_GROUPS = (
    ApiKey.OFFSET_COMMIT, ApiKey.OFFSET_FETCH, ApiKey.JOIN_GROUP, ApiKey.HEARTBEAT, ApiKey.LEAVE_GROUP,
    ApiKey.SYNC_GROUP, ApiKey.DESCRIBE_GROUPS, ApiKey.OFFSET_DELETE, ApiKey.CONSUMER_GROUP_HEARTBEAT,
    ApiKey.CONSUMER_GROUP_DESCRIBE, ApiKey.STREAMS_GROUP_HEARTBEAT, ApiKey.STREAMS_GROUP_DESCRIBE,
    ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE,
)  # fmt: skip
SHAPES_OF_GROUPS = {str(shape): shape for shape in SHAPES if shape.api.key in APIS_OF_GROUPS}

_SOURCE = Path(__file__).parents[1] / "support" / "kafka" / "java" / "MessagePrinter.java"
_TIMEOUT_S = 120
_ELEMENTS = 2
_INT8_VALUES = 128


@frozen(kw_only=True)
class KafkasMessage:
    """A message as Kafka's class sees it.

    Attributes:
        shape: Its API, version and kind.
        written: The bytes that Kafka writes.
        read: The JSON of what Kafka reads.
    """

    shape: str
    written: str
    read: Any


def examples() -> Iterator[tuple[Shape, Any]]:
    """Two messages for each request and response in each version."""
    for shape in SHAPES_OF_GROUPS.values():
        for is_full in (True, False):
            yield shape, _Example(is_full=is_full).message(shape.message_class, shape.schema)


def load_messages() -> list[KafkasMessage]:
    """What is kept."""
    return [KafkasMessage(**each) for each in json.loads(FILE.read_text(encoding="ascii"))["messages"]]


def as_json(message: Any, schema: Schema) -> Any:
    """The JSON that Kafka's converters make of a message, by the names of our fields."""
    return {
        _camel(field.name): _json_of(getattr(message, field.name), field.type) for field in dataclasses.fields(schema)
    }


class _Example:
    """Makes a message in which no value of a field occurs in another one, or one with as little as possible."""

    def __init__(self, *, is_full: bool) -> None:
        self._is_full = is_full
        self._numbers = itertools.count(1)

    def message(self, message_class: type[Any], schema: Schema) -> Any:
        hints = get_type_hints(message_class)
        fields = dataclasses.fields(schema)
        return message_class(**{field.name: self._value(hints[field.name], field) for field in fields})

    def _value(self, hint: Any, field: "dataclasses.Field[Any]") -> Any:
        annotation, nullable = without_none(field.type)
        if nullable and not self._is_full:
            return None
        if get_origin(annotation) is not tuple:
            return self._single(without_none(hint)[0], annotation, field)
        element = get_args(without_none(hint)[0])[0]
        count = _ELEMENTS if self._is_full else 0
        return tuple(self._single(element, get_args(annotation)[0], field) for _ in range(count))

    def _single(self, hint: Any, annotation: Any, field: "dataclasses.Field[Any]") -> Any:
        if dataclasses.is_dataclass(annotation):
            return self.message(hint, annotation)  # type: ignore[arg-type]
        number = next(self._numbers) if self._is_full else 0
        match field.metadata["kafka_type"]:
            case "int8":
                return number % _INT8_VALUES
            case "bool":
                return self._is_full
            case "string":
                return f"{field.name} {number}" if number else ""
            case "bytes":
                return bytes([number, 0, 255]) if number else b""
            case "uuid":
                return UUID(int=number << 64 | 7)
        return ErrorCode(number) if hint is ErrorCode else number


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other.capitalize() for other in others)


def _json_of(value: Any, annotation: Any) -> Any:
    annotation, _ = without_none(annotation)
    match value:
        case tuple():
            return [_json_of(each, get_args(annotation)[0]) for each in value]
        case bytes():
            return base64.b64encode(value).decode()
        case UUID():
            return base64.urlsafe_b64encode(value.bytes).decode().rstrip("=")
        case None if annotation is UUID:
            return "A" * 22
    is_message = dataclasses.is_dataclass(annotation) and value is not None
    return as_json(value, annotation) if is_message else value


def kafkas_messages() -> list[KafkasMessage]:
    """What Kafka's classes say today."""
    given = list(examples())
    lines = [f"{shape.message_class.__name__} {shape.version} {shape.encode_body(m).hex()}\n" for shape, m in given]
    answers = [line.split(" ", 1) for line in _asked("".join(lines)).splitlines()]
    return [
        KafkasMessage(shape=str(shape), written=written, read=json.loads(read))
        for (shape, _), (written, read) in zip(given, answers, strict=True)
    ]


def _asked(lines: str) -> str:
    classpath = kafka_classpath(kafka_libs())
    with tempfile.TemporaryDirectory() as directory:
        _run(["javac", "-cp", classpath, "-d", directory, str(_SOURCE)])
        return _run(["java", "-XX:TieredStopAtLevel=1", "-cp", f"{directory}:{classpath}", _SOURCE.stem], lines)


def _run(command: list[str], given: str = "") -> str:
    done = subprocess.run(command, input=given, text=True, capture_output=True, check=False, timeout=_TIMEOUT_S)
    assert done.returncode == 0, f"{command[0]} failed:\n{done.stderr}"
    return done.stdout


def main() -> None:
    """Write the file."""
    lines = ",\n".join(json.dumps(asdict(each)) for each in kafkas_messages())
    FILE.write_text(
        f'{{"by": "Apache Kafka {DEFAULT_KAFKA_VERSION}\'s message classes", "messages": [\n{lines}\n]}}\n',
        encoding="ascii",
    )


if __name__ == "__main__":
    main()
