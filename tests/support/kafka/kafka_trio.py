"""A real Kafka of three nodes, each a broker and a controller, with all topics on all of them.

The recipe: three `server.properties` with `process.roles=broker,controller`, node ids 1 to 3, and the same
`controller.quorum.voters`; each storage is formatted with the same cluster id, without `--standalone`; all three are
started at once, since none serves before two are there. Start and formatting take some 15 s on two cores.
"""

import subprocess
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from kafka_groups.testing.kafka_jars import DEFAULT_KAFKA_VERSION, RealKafkaUnavailableError
from kafka_groups.testing.kafka_process import QUICK_START, KafkaProcess, free_ports

TRIO_PROPERTIES: Mapping[str, str] = MappingProxyType({
    "default.replication.factor": "3",
    "min.insync.replicas": "1",
    "offsets.topic.replication.factor": "3",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.num.partitions": "3",
    "share.coordinator.state.topic.replication.factor": "3",
    "share.coordinator.state.topic.num.partitions": "3",
    "auto.leader.rebalance.enable": "false",
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "controlled.shutdown.enable": "true",
})  # fmt: skip
"""What makes three nodes share the work, and notice soon that one has died."""

_CLUSTER_ID = "kafka-groups-trio-0001"[:22]


class TrioNode(KafkaProcess):
    """One of three nodes.

    Args:
        node_id: 1, 2 or 3.
        ports: The ports of all three: clients' and controllers'.
        properties: Entries of `server.properties`, over those of `TRIO_PROPERTIES`.
        version: A release of Kafka.
    """

    def __init__(
        self,
        node_id: int,
        ports: Mapping[int, tuple[int, int]],
        properties: Mapping[str, str] | None = None,
        version: str = DEFAULT_KAFKA_VERSION,
    ) -> None:
        given = {**TRIO_PROPERTIES, **(properties or {})}
        super().__init__(version, given, java_options=(*QUICK_START, "-Xmx512m"))
        self.node_id = node_id
        self._all_ports = ports

    def _write_properties(self) -> None:
        self.port, controller_port = self._all_ports[self.node_id]
        clients = f"PLAINTEXT://{self.host}:{self.port}"
        properties = {
            "process.roles": "broker,controller",
            "node.id": str(self.node_id),
            "controller.quorum.voters": ",".join(
                f"{node_id}@{self.host}:{controller}" for node_id, (_, controller) in self._all_ports.items()
            ),
            "listeners": f"{clients},CONTROLLER://{self.host}:{controller_port}",
            "advertised.listeners": clients,
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAINTEXT",
            "log.dirs": str(self._home / "data"),
            **self._properties,
        }
        text = "".join(f"{name}={value}\n" for name, value in properties.items())
        (self._home / "server.properties").write_text(text, encoding="utf-8")

    def _format_storage(self, jars: Path) -> None:
        command = self._java(
            jars, "kafka.tools.StorageTool", "format", "--cluster-id", _CLUSTER_ID,
            "--config", str(self._home / "server.properties"), options=("-XX:TieredStopAtLevel=1",),
        )  # fmt: skip
        try:
            with self._log.open("ab") as log:
                subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=True, timeout=90)
        except subprocess.SubprocessError as error:
            raise RealKafkaUnavailableError("formatting the storage of three nodes failed") from error


@contextmanager
def kafka_trio(
    properties: Mapping[str, str] | None = None, version: str = DEFAULT_KAFKA_VERSION
) -> Iterator[dict[int, TrioNode]]:
    """Start three nodes, with properties of their own if there are any, and stop them at the end."""
    first = TrioNode(0, {})
    ports = free_ports(first._rng, 6)
    by_node = {node_id: (ports[2 * node_id - 2], ports[2 * node_id - 1]) for node_id in (1, 2, 3)}
    nodes = {node_id: TrioNode(node_id, by_node, properties, version) for node_id in by_node}
    try:
        with ThreadPoolExecutor(3) as threads:
            list(threads.map(TrioNode.start, nodes.values()))
        yield nodes
    finally:
        for node in nodes.values():
            node.close()
