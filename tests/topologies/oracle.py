"""Asks Java's TopologyTestDriver what topologies of the catalogue in `java/` look like and do."""

import base64
import hashlib
import json
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from attrs import frozen

from kafka_groups.testing.kafka_jars import cache_directory, find_tool
from tests.support.kafka.java_program import LineProgram
from tests.topologies.scripts import (
    Advance,
    Headers,
    Output,
    Pipe,
    Restart,
    Run,
    Script,
    Step,
    StoreContents,
    TakeSnapshot,
)

__all__ = ["CACHED", "UNCACHED", "Description", "JavaOracle", "RefusedTopologyError"]

UNCACHED: Mapping[str, str] = MappingProxyType({"statestore.cache.max.bytes": "0"})
"""Configuration of a run in which stores forward each update."""

CACHED: Mapping[str, str] = MappingProxyType({})
"""Configuration of a run in which stores have Kafka's caches, which are flushed after each record."""

_SOURCES = Path(__file__).parent / "java"
_COMPILING_S = 120
_JAVA_OPTIONS = ("-XX:+UseSerialGC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off")
_STARTS_QUICKLY = "-XX:TieredStopAtLevel=1"


class RefusedTopologyError(Exception):
    """Kafka Streams refused to build or to run a topology.

    Attributes:
        chain: The exceptions, from the outermost to the first cause, each with its class.
    """

    def __init__(self, chain: tuple[str, ...]) -> None:
        super().__init__("\n".join(chain))
        self.chain = chain


@frozen(kw_only=True)
class Description:
    """What a topology looks like.

    Attributes:
        text: What `describe()` prints.
        inputs: The topics that it reads from outside, sorted.
        heartbeat: The topology as a member sends it when it joins a streams group, as Kafka's JSON. None if Kafka
            Streams cannot send it.
    """

    text: str
    inputs: tuple[str, ...]
    heartbeat: Mapping[str, Any] | None


class JavaOracle(LineProgram):
    """Java's driver in a JVM of its own. Use it as a context manager.

    Args:
        classpath: Kafka Streams with its test utilities.
        options: Options of the JVM. The default makes it start quickly; without it, it becomes faster over time.
    """

    def __init__(self, classpath: str, options: Sequence[str] = (_STARTS_QUICKLY,)) -> None:
        compiled = _compiled(classpath)
        super().__init__([_tool("java"), *_JAVA_OPTIONS, *options, "-cp", f"{compiled}:{classpath}", "Oracle"])

    def names(self) -> list[str]:
        """The names of the topologies."""
        names: list[str] = self._asked(ask="names")["names"]
        return names

    def describe(self, topology: str, config: Mapping[str, str] = CACHED) -> Description:
        """Describe a topology. Raises `RefusedTopologyError` if Kafka Streams refuses to build it."""
        found = self._asked(ask="describe", topology=topology, config=dict(config))
        return Description(text=found["description"], inputs=tuple(found["inputs"]), heartbeat=found["heartbeat"])

    def run(self, topology: str, script: Script, config: Mapping[str, str] = UNCACHED, now_ms: int = 0) -> Run:
        """Run a script. Raises `RefusedTopologyError` if Kafka Streams refuses to build the topology.

        Args:
            topology: Its name.
            script: What to do.
            config: Configuration of the application beyond the topology's own.
            now_ms: Where the wall clock starts.
        """
        steps = [_told(step) for step in script]
        found = self._asked(ask="run", topology=topology, config=dict(config), now_ms=now_ms, script=steps)
        failed = found.get("failed", {})
        return Run(
            outputs=tuple(_output(each) for each in found["outputs"]),
            stores=_stores(found["stores"]),
            snapshots=tuple(_stores(each) for each in found["snapshots"]),
            dropped=found["dropped"],
            failed_step=failed.get("step"),
            error=tuple(failed.get("error", ())),
            elapsed_ns=found["elapsed_ns"],
            processor_ns=found["processor_ns"],
        )

    def _asked(self, **question: Any) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self.ask_line(json.dumps(question)))
        if "error" in answer:
            raise RefusedTopologyError(tuple(answer["error"]))
        return answer


# ------------------------------------------------------------------------------------------------------------ compiling


def _compiled(classpath: str) -> Path:
    """The directory with the compiled classes, in the cache that all test runs share; compiles them when needed."""
    sources = sorted(_SOURCES.glob("*.java"))
    digest = hashlib.sha256(classpath.encode())
    for source in sources:
        digest.update(source.read_bytes())
    directory = cache_directory() / f"topology-oracle-{digest.hexdigest()[:16]}"
    if not directory.is_dir():
        _compile_into(directory, classpath, sources)
    return directory


def _compile_into(directory: Path, classpath: str, sources: list[Path]) -> None:
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory.parent, prefix=".compiling-") as temporary:
        classes = Path(temporary) / "classes"
        command = [_tool("javac"), "-nowarn", "-cp", classpath, "-d", str(classes), *map(str, sources)]
        done = subprocess.run(command, check=False, timeout=_COMPILING_S, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        if not directory.is_dir():  # another process may have been faster
            shutil.move(classes, directory)


def _tool(name: str) -> str:
    found = find_tool(name)
    assert found is not None, f"{name} not found"
    return found


# ----------------------------------------------------------------------------------------------------------------- JSON


def _told(step: Step) -> list[Any]:
    match step:
        case Pipe():
            headers = [[name, _base64(value)] for name, value in step.headers]
            return ["pipe", step.topic, _base64(step.key), _base64(step.value), step.timestamp_ms, headers]
        case Advance():
            return ["advance", step.by_ms]
        case Restart():
            return ["restart"]
        case TakeSnapshot():
            return ["stores"]


def _output(found: list[Any]) -> Output:
    step, topic, partition, key, value, timestamp_ms, headers = found
    return Output(step, topic, partition, _bytes(key), _bytes(value), timestamp_ms, _headers(headers))


def _headers(found: list[list[str | None]]) -> Headers:
    return tuple((str(name), _bytes(value)) for name, value in found)


def _stores(found: Mapping[str, Any]) -> Mapping[str, StoreContents]:
    return {name: StoreContents(each["kind"], _entries(each["entries"])) for name, each in found.items()}


def _entries(found: list[list[Any]]) -> tuple[tuple[bytes | int, ...], ...]:
    return tuple(tuple(base64.b64decode(each) if isinstance(each, str) else each for each in entry) for entry in found)


def _base64(value: bytes | None) -> str | None:
    return None if value is None else base64.b64encode(value).decode()


def _bytes(found: str | None) -> bytes | None:
    return None if found is None else base64.b64decode(found)
