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
        node_id: Its number, from 1 on.
        ports: The ports of all nodes: clients' and controllers'.
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

    @property
    def process_id(self) -> int:
        """The id of its process."""
        assert self._process is not None
        return self._process.pid

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
    with _nodes({node_id: properties or {} for node_id in (1, 2, 3)}, version) as nodes:
        yield nodes


@contextmanager
def racked_pair() -> Iterator[dict[int, TrioNode]]:
    """Start two nodes in the racks `r1` and `r2`, each topic on one of them, and stop them at the end."""
    alone = {name: "1" for name in TRIO_PROPERTIES if name.endswith("replication.factor")}
    quick = {"group.initial.rebalance.delay.ms": "0"}
    with _nodes({node_id: {**alone, **quick, "broker.rack": f"r{node_id}"} for node_id in (1, 2)}) as nodes:
        yield nodes


@contextmanager
def _nodes(
    properties: Mapping[int, Mapping[str, str]], version: str = DEFAULT_KAFKA_VERSION
) -> Iterator[dict[int, TrioNode]]:
    """Start nodes, and stop them at the end.

    Args:
        properties: Entries of `server.properties`, by node id.
        version: A release of Kafka.
    """
    ports = free_ports(TrioNode(0, {})._rng, 2 * len(properties))
    by_node = {node_id: (ports[2 * at], ports[2 * at + 1]) for at, node_id in enumerate(properties)}
    nodes = {node_id: TrioNode(node_id, by_node, given, version) for node_id, given in properties.items()}
    try:
        with ThreadPoolExecutor(len(nodes)) as threads:
            list(threads.map(TrioNode.start, nodes.values()))
        yield nodes
    finally:
        for node in nodes.values():
            node.close()
