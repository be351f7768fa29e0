"""The jars of a real Kafka, downloaded once from Maven Central into a cache that all test runs share."""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from kafka_groups.errors import KafkaGroupsError

__all__ = [
    "CACHE_VARIABLE",
    "DEFAULT_KAFKA_VERSION",
    "RealKafkaUnavailableError",
    "cache_directory",
    "find_tool",
    "kafka_jars",
    "locked",
    "missing_tools",
]

DEFAULT_KAFKA_VERSION = "4.4.0"

CACHE_VARIABLE = "KAFKA_GROUPS_CACHE"
"""Environment variable with the cache's directory; `~/.cache/kafka-groups` by default."""

_MAVEN_TIMEOUT_S = 600
_SLF4J_VERSION = "1.7.36"
_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>kafka-groups</groupId><artifactId>real-kafka</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{version}</version>
      <exclusions>
        <exclusion><groupId>org.apache.kafka</groupId><artifactId>kafka-tools-api</artifactId></exclusion>
      </exclusions>
    </dependency>
    <dependency>
      <groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>{slf4j_version}</version>
    </dependency>
  </dependencies>
</project>
"""


class RealKafkaUnavailableError(KafkaGroupsError):
    """A real Kafka is not available or did not start; the message says why and what to do."""


def missing_tools(tools: Sequence[str] = ("java", "mvn")) -> str | None:
    """Return which programs that a real Kafka needs are missing, as a sentence, or None if none are."""
    if sys.platform == "win32":
        return "KafkaProcess needs Linux or macOS; use KafkaContainer on Windows"
    missing = [tool for tool in tools if find_tool(tool) is None]
    if not missing:
        return None
    return f"{' and '.join(missing)} not found; a real Kafka needs Java 17 or later and Maven on the PATH"


def find_tool(name: str) -> str | None:
    """Find a program in the JDK of `JAVA_HOME`, then on the PATH. Returns None if it is not there."""
    java_home = os.environ.get("JAVA_HOME")
    in_java_home = shutil.which(name, path=str(Path(java_home) / "bin")) if java_home else None
    return in_java_home or shutil.which(name)


def cache_directory() -> Path:
    """Return the cache's directory: `$KAFKA_GROUPS_CACHE`, or `~/.cache/kafka-groups`."""
    return Path(os.environ.get(CACHE_VARIABLE) or Path.home() / ".cache" / "kafka-groups")


def kafka_jars(version: str = DEFAULT_KAFKA_VERSION) -> Path:
    """Return the directory with the jars of Kafka's broker and Java clients; for a class path of `directory/*`.

    The first call for a version asks Maven Central and blocks for some seconds to minutes; later calls find the
    cache. Processes that ask at the same time wait for each other.

    Args:
        version: A release of Kafka, such as `4.4.0`.

    Raises:
        RealKafkaUnavailableError: Maven is not installed, or cannot resolve the version.
    """
    directory = cache_directory() / f"kafka-{version}"
    if directory.is_dir():
        return directory
    with locked(directory.with_suffix(f"{directory.suffix}.lock")):
        if not directory.is_dir():
            _resolve_into(directory, version)
    return directory


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep other processes out, and wait for them."""
    import fcntl  # noqa: PLC0415 - not on Windows, where `missing_tools` says that there is no real Kafka

    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _resolve_into(directory: Path, version: str) -> None:
    # The directory appears under its name by one rename, and so is whole whenever it can be seen.
    with tempfile.TemporaryDirectory(dir=directory.parent, prefix=".resolving-") as temporary:
        pom, jars = Path(temporary) / "pom.xml", Path(temporary) / "jars"
        pom.write_text(_POM.format(version=version, slf4j_version=_SLF4J_VERSION), encoding="utf-8")
        _run_maven(pom, jars, version)
        jars.rename(directory)


def _run_maven(pom: Path, jars: Path, version: str) -> None:
    maven = find_tool("mvn")
    if maven is None:
        raise RealKafkaUnavailableError(missing_tools(("mvn",)))
    command = [
        maven, "--batch-mode", "--no-transfer-progress", "--file", str(pom),
        "dependency:copy-dependencies", f"-DoutputDirectory={jars}",
    ]  # fmt: skip
    try:
        done = subprocess.run(  # noqa: S603 - the command is ours
            command, capture_output=True, text=True, check=False, timeout=_MAVEN_TIMEOUT_S, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired as error:
        raise RealKafkaUnavailableError(f"Maven took more than {_MAVEN_TIMEOUT_S} s for Kafka {version}") from error
    if done.returncode != 0:
        raise RealKafkaUnavailableError(f"Maven cannot resolve Kafka {version}:\n{done.stdout[-2000:]}{done.stderr}")
