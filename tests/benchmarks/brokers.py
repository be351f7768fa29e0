"""What the benchmarks run against: brokers in processes of their own, so that their work is not counted as ours."""

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from attrs import frozen

from kafka_groups.cli.output import BOOTSTRAP_PREFIX
from kafka_groups.testing.kafka_process import KafkaProcess
from tests.benchmarks.children import child
from tests.benchmarks.consumers import KEYS_VARIABLE
from tests.support.certificates import Certificates

TARGETS = ("kafka", "embedded")
SECURED = "kafka-sasl-ssl"
"""A real Kafka that consumers reach over SASL_SSL, and producers in plain text; only when it is asked for."""

FULL_SPEED = ("-Xmx1g",)
"""Options of a JVM that compiles as it does in production, not as `KafkaProcess` does by default."""

_LONGEST_S = 7_200.0
_JAAS = "org.apache.kafka.common.security.plain.PlainLoginModule required user_ann=ann;"


@contextmanager
def running(target: str, properties: Mapping[str, str] = MappingProxyType({})) -> Iterator[str]:
    """A broker of the given kind; its bootstrap servers. The properties are those of a real Kafka."""
    if target == "embedded":
        with embedded() as broker:
            yield broker.bootstrap_servers
    elif target == SECURED:
        with _secured(properties) as bootstrap_servers:
            yield bootstrap_servers
    else:
        with KafkaProcess(properties=properties, java_options=FULL_SPEED) as kafka:
            yield kafka.bootstrap_servers


@frozen
class BrokerProcess:
    """An embedded cluster in a process of its own; made by `embedded`."""

    bootstrap_servers: str
    pid: int

    def cpu_seconds(self) -> float:
        """CPU time that it has taken, user and system."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident_bytes(self) -> int:
        """The resident memory that it has now."""
        return self._status_bytes("VmRSS:")

    def peak_bytes(self) -> int:
        """The largest resident memory that it has had."""
        return self._status_bytes("VmHWM:")

    def _status_bytes(self, name: str) -> int:
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.partition(name)[2].split()[0]) * 1024


@contextmanager
def embedded(
    checkout: Path | None = None, brokers: int = 1, settings: Mapping[str, str] = MappingProxyType({})
) -> Iterator[BrokerProcess]:
    """An embedded cluster, ended with the block; of another checkout of this project if one is given."""
    command = [sys.executable, "-m", "kafka_groups.cli", "broker", f"--brokers={brokers}", "--until-stdin-closes"]
    command += [f"--set={name}={value}" for name, value in settings.items()]
    with child(command, checkout, timeout_s=_LONGEST_S) as process:
        line = process.line().strip()
        if not line.startswith(BOOTSTRAP_PREFIX):
            raise process.failed(f"the broker said {line!r}")
        yield BrokerProcess(line.removeprefix(BOOTSTRAP_PREFIX), process.pid)
        process.close_input()


@contextmanager
def _secured(properties: Mapping[str, str]) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as directory:
        certificates = Certificates(Path(directory))
        listener = {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": certificates.server,
            "sasl.enabled.mechanisms": "PLAIN",
            "plain.sasl.jaas.config": _JAAS,
        }
        secured = {f"listener.name.secured.{name}": value for name, value in listener.items()}
        with KafkaProcess(
            properties={**properties, **secured}, listeners={"SECURED": "SASL_SSL"}, java_options=FULL_SPEED
        ) as kafka:
            keys = {
                "bootstrap.servers": kafka.address("SECURED"),
                "security.protocol": "SASL_SSL",
                "ssl.ca.location": certificates.ca,
                "sasl.mechanism": "PLAIN",
                "sasl.username": "ann",
                "sasl.password": "ann",
            }
            os.environ[KEYS_VARIABLE] = json.dumps(keys)
            try:
                yield kafka.bootstrap_servers
            finally:
                del os.environ[KEYS_VARIABLE]
