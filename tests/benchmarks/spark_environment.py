"""The Spark of both sides of a ratio: PySpark in a virtual environment of its own, and the jars of its Kafka source.

Spark's Kafka source is not part of PySpark. Its jars are resolved each alone, because their dependencies cannot all be
had; the releases that go together are not those of one version number.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from kafka_groups.testing.kafka_jars import cache_directory, find_tool

ROOT = Path(__file__).parents[2]
SPARK_VERSION = "4.2.1"

_JARS = (
    ("org.apache.spark", "spark-sql-kafka-0-10_2.13", "4.2.0"),
    ("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", "4.0.0"),
    ("org.apache.kafka", "kafka-clients", "3.9.1"),
    ("org.apache.commons", "commons-pool2", "2.12.1"),
)
_DEPENDENCY = """<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>
  <exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions></dependency>"""
_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>kafka-groups</groupId><artifactId>spark-kafka-source</artifactId><version>1</version>
  <packaging>pom</packaging>
  <dependencies>{}</dependencies>
</project>
"""


def interpreter() -> Path:
    """Python with PySpark; its environment is made on first use (a minute, half a gigabyte)."""
    requirements = _requirements()
    key = hashlib.sha256("\n".join([sys.version, *requirements]).encode()).hexdigest()[:12]
    directory = cache_directory() / f"pyspark-{SPARK_VERSION}-{key}"
    complete = directory / "complete"
    if not complete.exists():
        shutil.rmtree(directory, ignore_errors=True)
        _run([sys.executable, "-m", "venv", str(directory)])
        _run([str(directory / "bin" / "pip"), "install", "--quiet", *requirements])
        complete.touch()
    return directory / "bin" / "python"


def kafka_source_jars() -> list[Path]:
    """The jars that Spark's own Kafka source takes, from Maven Central on first use."""
    directory = cache_directory() / f"spark-kafka-source-{_JARS[0][2]}"
    if not directory.is_dir():
        directory.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=directory.parent, prefix=".resolving-") as temporary:
            pom, jars = Path(temporary) / "pom.xml", Path(temporary) / "jars"
            pom.write_text(_POM.format("".join(_DEPENDENCY.format(*jar) for jar in _JARS)))
            maven = find_tool("mvn")
            assert maven is not None, "Maven is needed for the jars of Spark's Kafka source"
            _run([maven, "-q", "--batch-mode", "-f", str(pom), "dependency:copy-dependencies",
                  f"-DoutputDirectory={jars}"])  # fmt: skip
            jars.rename(directory)
    return sorted(directory.glob("*.jar"))


def environment() -> dict[str, str]:
    """The environment variables of a process on that interpreter, which Spark's workers use, too."""
    python = str(interpreter())
    return os.environ | {"PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": python}


def _requirements() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    spark = [requirement for requirement in project["optional-dependencies"]["spark"] if "pyspark" not in requirement]
    return [*project["dependencies"], *spark, f"pyspark=={SPARK_VERSION}", "psutil"]


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
