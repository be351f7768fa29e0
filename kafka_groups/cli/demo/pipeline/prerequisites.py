"""The requirements of the pipeline, checked before anything starts."""

import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path

from kafka_groups.errors import KafkaGroupsError

__all__ = ["OLDEST_JAVA", "MissingPrerequisiteError", "check_prerequisites", "java_version"]

OLDEST_JAVA = 17
"""The oldest Java that Spark 4 runs on."""

_PACKAGES = ("pyspark", "pyarrow", "pandas")
_GET_JAVA = (
    "Install it with `apt-get install openjdk-17-jre-headless` (Debian, Ubuntu), `dnf install java-17-openjdk-headless`"
    " (Fedora, Red Hat), `brew install openjdk@17` (macOS) or from https://adoptium.net, or run the demo without"
    " Spark: kafka-groups demo --no-spark"
)
_TIMEOUT_SECONDS = 30


class MissingPrerequisiteError(KafkaGroupsError):
    """A requirement of Spark is missing or too old. The message says how to install it."""


def check_prerequisites() -> None:
    """Check that PySpark and a supported Java are installed.

    Raises:
        MissingPrerequisiteError: One of them is missing.
    """
    missing = [name for name in _PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingPrerequisiteError(
            f"The demo needs {', '.join(missing)}: run pip install '.[demo]' in the checkout of"
            " kafka-groups, or install its wheel with [demo]. Or run it without Spark:"
            " kafka-groups demo --no-spark"
        )
    command = _java()
    if command is None:
        raise MissingPrerequisiteError(f"Spark needs Java {OLDEST_JAVA} or newer, but no Java was found. {_GET_JAVA}")
    version = java_version(_said_by(command))
    if version is None or version < OLDEST_JAVA:
        found = "prints no version" if version is None else f"is Java {version}"
        raise MissingPrerequisiteError(
            f"Spark needs Java {OLDEST_JAVA} or newer, but {command} {found}. If you have a newer one, set JAVA_HOME to"
            f" its directory. {_GET_JAVA}"
        )


def java_version(said: str) -> int | None:
    """Return the feature release in the output of `java -version`: 8 for 1.8.0_392, 17 for 17.0.9."""
    match = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(match[1]) if match else None


def _java() -> str | None:
    """Return the command that Spark's launcher would run."""
    home = os.environ.get("JAVA_HOME")
    if home:
        command = Path(home) / "bin" / "java"
        return str(command) if command.is_file() else None
    return shutil.which("java")


def _said_by(command: str) -> str:
    try:
        # Without Java, macOS has a `java` command that only says where to get one.
        done = subprocess.run(  # noqa: S603 - the user's own Java
            [command, "-version"], capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return done.stderr + done.stdout
