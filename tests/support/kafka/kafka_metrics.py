"""The metrics of a real Kafka, which a small Java program reads by JMX."""

import random
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from kafka_groups.testing.kafka_process import free_ports

_SOURCE = Path(__file__).parent / "java" / "MetricLister.java"
_JMX = "-Dcom.sun.management.jmxremote"
_END = "end"


class KafkaMetrics:
    """A JVM that reads metrics. Use it as a context manager around that of the Kafka."""

    def __init__(self) -> None:
        [self.port] = free_ports(random.Random(), 1)
        command = ["java", "-XX:TieredStopAtLevel=1", str(_SOURCE)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._process.communicate()

    @property
    def java_options(self) -> tuple[str, ...]:
        """Options of the Kafka, so that its metrics can be read."""
        ports = (f"{_JMX}.port={self.port}", f"{_JMX}.rmi.port={self.port}")
        return (*ports, f"{_JMX}.authenticate=false", f"{_JMX}.ssl=false", "-Djava.rmi.server.hostname=127.0.0.1")

    def read(self, pattern: str) -> Mapping[str, str]:
        """Return the values of all attributes of the MBeans with such names, by MBean and attribute."""
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        requests.write(f"127.0.0.1:{self.port} {pattern}\n")
        requests.flush()
        found = {}
        while (line := answers.readline().rstrip("\n")) != _END:
            name, attribute, value = line.split("\t")
            found[f"{name}:{attribute}"] = value
        return found
