"""What Kafka's own classes read in records of internal topics, and write for them, by a small Java program."""

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from attrs import frozen

from tests.support.kafka.kafka_classpath import kafka_classpath

_SOURCE = Path(__file__).parent / "java" / "RecordPrinter.java"
_MAIN_CLASS = "RecordPrinter"
_TIMEOUT_S = 120
_NO_VALUE = "-"

RawRecord = tuple[str, bytes, bytes | None]
"""Topic, key and value."""


@frozen
class KafkasView:
    """One record as Kafka sees it.

    Attributes:
        key: The bytes that Kafka writes for the key.
        value: The bytes that Kafka writes for the value.
        printed: What its console consumer prints with the topic's formatter.
    """

    key: bytes
    value: bytes | None
    printed: Any


class KafkaRecords:
    """Compiles the program once; every `view` is one run of it for any number of records.

    Args:
        directory: Where the compiled class goes.
        jars: The directory with Kafka's jars.
        tools: The jar with Kafka's tools.
    """

    def __init__(self, directory: Path, jars: Path, tools: Path) -> None:
        self._classpath = f"{directory}:{tools}:{kafka_classpath(jars)}"
        _run(["javac", "-cp", self._classpath, "-d", str(directory), str(_SOURCE)])

    def view(self, records: Iterable[RawRecord]) -> list[KafkasView]:
        """What Kafka makes of each record."""
        lines = "".join(f"{topic} {key.hex()} {_hex(value)}\n" for topic, key, value in records)
        command = ["java", "-XX:TieredStopAtLevel=1", "-cp", self._classpath, _MAIN_CLASS]
        return [_read(line) for line in _run(command, lines).split("\n")[:-1]]


def _run(command: list[str], given: str = "") -> str:
    done = subprocess.run(command, input=given.encode(), capture_output=True, check=False, timeout=_TIMEOUT_S)
    assert done.returncode == 0, f"{command[0]} failed:\n{done.stderr.decode(errors='replace')}"
    return done.stdout.decode()


def _read(line: str) -> KafkasView:
    key, value, printed = line.split(" ", 2)
    return KafkasView(bytes.fromhex(key), None if value == _NO_VALUE else bytes.fromhex(value), json.loads(printed))


def _hex(value: bytes | None) -> str:
    return _NO_VALUE if value is None else value.hex()
