"""Where the jars of a real Kafka are, for tests that run its classes without a broker."""

import os
from pathlib import Path

from kafka_groups.testing.kafka_jars import kafka_jars

LIBS_VARIABLE = "KAFKA_GROUPS_KAFKA_LIBS"
"""Environment variable with a directory of Kafka's jars, to be used instead of Maven Central's."""


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
