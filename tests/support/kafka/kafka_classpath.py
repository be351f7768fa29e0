"""Where the jars of a real Kafka are, for tests that run its classes without a broker."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest

from kafka_groups.testing.kafka_jars import (
    RealKafkaUnavailableError,
    cache_directory,
    find_tool,
    kafka_jars,
    missing_tools,
)
from kafka_groups.testing.pytest_plugin import REQUIRE_VARIABLE

T = TypeVar("T")

LIBS_VARIABLE = "KAFKA_GROUPS_KAFKA_LIBS"
"""Environment variable with a directory of Kafka's jars, to be used instead of Maven Central's."""

TOOLS_VERSION = "4.3.1"
"""Release of Kafka's command-line tools and of Kafka Streams: 4.4.0 was published without them."""

_OLD_VERSION = "3.9.1"
"""Release whose libraries for logs and JSON old releases of Kafka Streams run with."""

_ROCKSDB_VERSION = "10.1.3"
"""Release of RocksDB that Kafka Streams of that release has its stores on disk in."""

_MAVEN_TIMEOUT_S = 600


def kafka_libs() -> Path:
    """The directory with Kafka's jars; resolves them with Maven when they are not there yet.

    Raises:
        RealKafkaUnavailableError: They cannot be had.
    """
    given = os.environ.get(LIBS_VARIABLE)
    return Path(given) if given else kafka_jars()


def kafka_classpath(libs: Path) -> str:
    """All jars of the directory, as a class path that Java expands."""
    return f"{libs}/*"


def kafka_tools() -> Path:
    """The jar with Kafka's command-line tools; Maven fetches it when it is not there yet.

    Raises:
        RealKafkaUnavailableError: It cannot be had.
    """
    return _jar("kafka-tools")


def tools_classpath() -> str:
    """All that the tools need, each jar of their own release.

    Raises:
        RealKafkaUnavailableError: The jars cannot be had.
    """
    return f"{kafka_classpath(kafka_jars(TOOLS_VERSION))}:{kafka_tools()}:{_jar('kafka-tools-api')}"


def streams_classpath() -> str:
    """All that applications of Kafka Streams need, also for versioned stores, which Java has on disk only.

    Raises:
        RealKafkaUnavailableError: The jars cannot be had.
    """
    rocksdb = _jar("rocksdbjni", "org.rocksdb", _ROCKSDB_VERSION)
    return f"{kafka_classpath(kafka_jars(TOOLS_VERSION))}:{_jar('kafka-streams')}:{rocksdb}"


def older_streams_classpath(release: str) -> str:
    """All that applications of an older release of Kafka Streams need, with stores in memory.

    Raises:
        RealKafkaUnavailableError: The jars cannot be had.
    """
    others = kafka_jars(_OLD_VERSION)
    libraries = [jar for name in ("slf4j", "jackson") for jar in sorted(others.glob(f"{name}-*.jar"))]
    own = [_jar(name, version=release) for name in ("kafka-streams", "kafka-clients")]
    return ":".join(map(str, [*own, *libraries]))


def driver_classpath() -> str:
    """All that Java's TopologyTestDriver needs.

    Raises:
        RealKafkaUnavailableError: The jars cannot be had.
    """
    return f"{streams_classpath()}:{_jar('kafka-streams-test-utils')}"


def _jar(artifact: str, group: str = "org.apache.kafka", version: str = TOOLS_VERSION) -> Path:
    name = f"{artifact}-{version}.jar"
    jar = cache_directory() / name
    if not jar.exists():
        jar.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=jar.parent, prefix=".fetching-") as temporary:
            _fetch(f"{group}:{artifact}:{version}", Path(temporary))
            shutil.move(Path(temporary) / name, jar)
    return jar


def libs_or_skip() -> Path:
    """As `kafka_libs`, for tests that also need Java with its compiler; skips them if that is allowed."""
    return _or_skip(kafka_libs, ("java", "javac"))


def tools_or_skip() -> Path:
    """As `kafka_tools`; skips the test if that is allowed."""
    return _or_skip(kafka_tools, ())


def tools_classpath_or_skip() -> str:
    """As `tools_classpath`, for tests that also need Java with its compiler; skips them if that is allowed."""
    return _or_skip(tools_classpath, ("java", "javac"))


def streams_classpath_or_skip() -> str:
    """As `streams_classpath`, for tests that also need Java with its compiler; skips them if that is allowed."""
    return _or_skip(streams_classpath, ("java", "javac"))


def older_streams_classpath_or_skip(release: str) -> str:
    """As `older_streams_classpath`, for tests that also need Java with its compiler; skips them if that is allowed."""
    return _or_skip(partial(older_streams_classpath, release), ("java", "javac"))


def driver_classpath_or_skip() -> str:
    """As `driver_classpath`, for tests that also need Java with its compiler; skips them if that is allowed."""
    return _or_skip(driver_classpath, ("java", "javac"))


def _or_skip(find: Callable[[], T], tools: Sequence[str]) -> T:
    reason = missing_tools(tools)
    if reason is None:
        try:
            return find()
        except RealKafkaUnavailableError as error:
            reason = str(error)
    if os.environ.get(REQUIRE_VARIABLE) == "1":
        pytest.fail(f"{REQUIRE_VARIABLE}=1, but {reason}")
    pytest.skip(reason)


def _fetch(artifact: str, directory: Path) -> None:
    maven = find_tool("mvn")
    if maven is None:
        raise RealKafkaUnavailableError(missing_tools(("mvn",)))
    command = [
        maven, "--batch-mode", "--no-transfer-progress", "dependency:copy", f"-Dartifact={artifact}",
        f"-DoutputDirectory={directory}",
    ]  # fmt: skip
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=_MAVEN_TIMEOUT_S, stdin=subprocess.DEVNULL
    )
    if done.returncode != 0:
        raise RealKafkaUnavailableError(f"Maven cannot fetch {artifact}:\n{done.stdout[-2000:]}{done.stderr}")
