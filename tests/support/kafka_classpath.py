"""Where the jars of a real Kafka are, for tests that run its classes without a broker."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from kafka_groups.testing.kafka_jars import (
    RealKafkaUnavailableError,
    cache_directory,
    find_tool,
    kafka_jars,
    missing_tools,
)
from kafka_groups.testing.pytest_plugin import REQUIRE_VARIABLE

LIBS_VARIABLE = "KAFKA_GROUPS_KAFKA_LIBS"
"""Environment variable with a directory of Kafka's jars, to be used instead of Maven Central's."""

TOOLS_VERSION = "4.3.1"
"""Release of Kafka's command-line tools: 4.4.0 was published without them, and these work with its other jars."""

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
    name = f"kafka-tools-{TOOLS_VERSION}.jar"
    jar = cache_directory() / name
    if not jar.exists():
        jar.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=jar.parent, prefix=".fetching-") as temporary:
            _fetch(f"org.apache.kafka:kafka-tools:{TOOLS_VERSION}", Path(temporary))
            shutil.move(Path(temporary) / name, jar)
    return jar


def libs_or_skip() -> Path:
    """As `kafka_libs`, for tests that also need Java with its compiler; skips them if that is allowed."""
    return _or_skip(kafka_libs, ("java", "javac"))


def tools_or_skip() -> Path:
    """As `kafka_tools`; skips the test if that is allowed."""
    return _or_skip(kafka_tools, ())


def _or_skip(find: Callable[[], Path], tools: Sequence[str]) -> Path:
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
