"""What the benchmarks run against: brokers in processes of their own, so that their work is not counted as ours."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

from kafka_groups.cli.output import BOOTSTRAP_PREFIX
from kafka_groups.testing.kafka_process import KafkaProcess

TARGETS = ("kafka", "embedded")


@contextmanager
def running(target: str, properties: Mapping[str, str] = MappingProxyType({})) -> Iterator[str]:
    """A broker of the given kind; its bootstrap servers. The properties are those of a real Kafka."""
    if target == "embedded":
        with _embedded() as bootstrap_servers:
            yield bootstrap_servers
    else:
        with KafkaProcess(properties=properties) as kafka:
            yield kafka.bootstrap_servers


@contextmanager
def _embedded() -> Iterator[str]:
    command = [sys.executable, "-m", "kafka_groups.cli", "broker", "--until-stdin-closes"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        line = process.stdout.readline().strip()
        assert line.startswith(BOOTSTRAP_PREFIX), f"the broker said {line!r}"
        yield line.removeprefix(BOOTSTRAP_PREFIX)
        process.stdin.close()
