"""Brokers of a cluster with TLS reach each other in memory, where nobody else can, whatever clients need."""

from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from kafka_groups import AsyncKafkaShareConsumer
from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.security import BrokerSecurity
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.net.tcp import TcpNetwork
from kafka_groups.net.tls import ServerTls
from tests.support.certificates import Certificates

PARTITIONS = 6
RECORDS = 60


@pytest.mark.parametrize("mutual", [False, True], ids=["TLS", "mutual TLS"])
async def test_share_states_are_kept_on_other_brokers_over_connections_of_their_own(
    tmp_path: Path, *, mutual: bool
) -> None:
    certificates = Certificates(tmp_path)
    tls = ServerTls(certificate_location=certificates.server, client_ca_location=certificates.ca if mutual else None)
    own: dict[str, Any] = (
        {"ssl_certificate_location": certificates.client, "ssl_key_location": certificates.client} if mutual else {}
    )
    listening = patch.object(TcpNetwork, "listen", autospec=True, side_effect=TcpNetwork.listen)
    with listening as listen:
        async with EmbeddedCluster(brokers=3, security=BrokerSecurity(tls=tls)) as cluster:
            await _consume_all(cluster, ssl_ca_location=certificates.ca, **own)
            assert any(node.peer_connections for node in cluster._core.nodes.values())
            assert isinstance(cluster._core.parts.peer_network.network, MemoryNetwork)
            assert listen.call_count == 3, "each broker listens for clients, and for nobody else"


async def _consume_all(cluster: EmbeddedCluster, **own: Any) -> None:
    cluster.create_topic("t", PARTITIONS)
    cluster.alter_group_configs("g", {"share.auto.offset.reset": "earliest"})
    cluster.produce("t", [b"%d" % number for number in range(RECORDS)])
    consumer: AsyncKafkaShareConsumer[Any, Any] = AsyncKafkaShareConsumer(
        bootstrap_servers=cluster.bootstrap_servers, group_id="g", security_protocol="SSL", **own
    )
    async with consumer:
        await consumer.subscribe(["t"])
        seen: set[bytes | None] = set()
        while len(seen) < RECORDS:
            seen |= {record.value for record in await consumer.poll(timeout=10)}
