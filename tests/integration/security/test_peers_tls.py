"""Brokers of a cluster with TLS use it between themselves, too, also if clients need certificates."""

import asyncio
import ssl
from pathlib import Path
from typing import Any

import pytest

from kafka_groups import AsyncKafkaShareConsumer
from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.security import BrokerSecurity
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.net.connection import ClientConnection
from kafka_groups.net.handshake import negotiate
from kafka_groups.net.tcp import TcpNetwork
from kafka_groups.net.tls import ServerTls, peer_tls_contexts
from tests.support.certificates import Certificates

PARTITIONS = 6
RECORDS = 60


@pytest.mark.parametrize("mutual", [False, True], ids=["TLS", "mutual TLS"])
async def test_share_states_are_kept_on_other_brokers_over_tls(tmp_path: Path, *, mutual: bool) -> None:
    certificates = Certificates(tmp_path)
    tls = ServerTls(certificate_location=certificates.server, client_ca_location=certificates.ca if mutual else None)
    async with EmbeddedCluster(brokers=3, security=BrokerSecurity(tls=tls)) as cluster:
        cluster.create_topic("t", PARTITIONS)
        cluster.alter_group_configs("g", {"share.auto.offset.reset": "earliest"})
        cluster.produce("t", [b"%d" % number for number in range(RECORDS)])
        own: dict[str, Any] = (
            {"ssl_certificate_location": certificates.client, "ssl_key_location": certificates.client} if mutual else {}
        )
        consumer: AsyncKafkaShareConsumer[Any, Any] = AsyncKafkaShareConsumer(
            bootstrap_servers=cluster.bootstrap_servers, group_id="g", security_protocol="SSL",
            ssl_ca_location=certificates.ca, **own,
        )  # fmt: skip
        async with consumer:
            await consumer.subscribe(["t"])
            seen: set[bytes | None] = set()
            while len(seen) < RECORDS:
                seen |= {record.value for record in await consumer.poll(timeout=10)}
        nodes = cluster._core.nodes.values()
        assert any(node.peer_connections for node in nodes)
        addresses = cluster._core.parts.peer_network.addresses.values()
        assert len(addresses) == 3
        for host, port in addresses:
            for network in (TcpNetwork(), TcpNetwork(client_tls=_stranger(certificates))):
                with pytest.raises((KafkaGroupsError, TimeoutError)):
                    await _asked(network, host, port)
            await _asked(TcpNetwork(client_tls=peer_tls_contexts(tls)[0]), host, port)


def _stranger(certificates: Certificates) -> ssl.SSLContext:
    """The client's end of a broker of another cluster."""
    return peer_tls_contexts(ServerTls(certificate_location=certificates.client))[0]


async def _asked(network: TcpNetwork, host: str, port: int) -> None:
    connection = await ClientConnection.open(network, host, port, "stranger")
    await negotiate(connection, asyncio.get_running_loop().time() * 1000 + 2_000)
