"""TLS between a client connection and an embedded cluster, with certificates made here."""

import asyncio
import ssl
from pathlib import Path

import pytest
import trustme
from confluent_kafka.admin import AdminClient

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.errors import DisconnectedError, NetworkError, OperationTimeoutError
from kafka_groups.net.connection import ClientConnection
from kafka_groups.net.handshake import negotiate
from kafka_groups.net.tcp import TcpNetwork
from kafka_groups.protocol.messages.metadata import MetadataRequest

AUTHORITY = trustme.CA()


def server_tls(*names: str, clients: trustme.CA | None = None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    AUTHORITY.issue_cert(*names).configure_cert(context)
    if clients is not None:
        clients.configure_trust(context)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def client_tls(authority: trustme.CA = AUTHORITY, certificate: trustme.LeafCert | None = None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    authority.configure_trust(context)
    if certificate is not None:
        certificate.configure_cert(context)
    return context


def cluster_with(context: ssl.SSLContext) -> EmbeddedCluster:
    return EmbeddedCluster(network=TcpNetwork(server_tls=context))


async def topic_names(cluster: EmbeddedCluster, network: TcpNetwork) -> list[str]:
    host, _, port = cluster.bootstrap_servers.partition(":")
    connection = await ClientConnection.open(network, host, int(port), "tls")
    deadline_ms = asyncio.get_running_loop().time() * 1000 + 10_000
    try:
        versions = await negotiate(connection, deadline_ms)
        request = MetadataRequest(topics=None)
        response = await connection.request(request, versions.version_for(MetadataRequest), deadline_ms)
        return [topic.name for topic in response.topics]
    finally:
        connection.abort()
        await asyncio.sleep(0)


async def test_requests_go_over_tls() -> None:
    async with cluster_with(server_tls("127.0.0.1")) as cluster:
        cluster.create_topic("t" * 200, 100)
        assert await topic_names(cluster, TcpNetwork(client_tls=client_tls())) == ["t" * 200]


async def test_unknown_authority_is_refused_with_its_reason() -> None:
    async with cluster_with(server_tls("127.0.0.1")) as cluster:
        with pytest.raises(NetworkError, match=r"certificate of 127\.0\.0\.1:.* ssl\.ca\.location"):
            await topic_names(cluster, TcpNetwork(client_tls=client_tls(trustme.CA())))


async def test_certificate_of_another_host_is_refused() -> None:
    async with cluster_with(server_tls("kafka.example.org")) as cluster:
        with pytest.raises(NetworkError, match=r"127\.0\.0\.1.*ssl\.endpoint\.identification\.algorithm"):
            await topic_names(cluster, TcpNetwork(client_tls=client_tls()))
        unchecked = client_tls()
        unchecked.check_hostname = False  # ssl.endpoint.identification.algorithm=none
        assert await topic_names(cluster, TcpNetwork(client_tls=unchecked)) == []


async def test_client_certificate_is_asked_for() -> None:
    async with cluster_with(server_tls("127.0.0.1", clients=AUTHORITY)) as cluster:
        mine = client_tls(certificate=AUTHORITY.issue_cert("me@example.org"))
        assert await topic_names(cluster, TcpNetwork(client_tls=mine)) == []
        with pytest.raises(NetworkError):
            await topic_names(cluster, TcpNetwork(client_tls=client_tls()))


async def test_plain_client_of_a_tls_broker_fails_in_good_time() -> None:
    async with cluster_with(server_tls("127.0.0.1")) as cluster:
        with pytest.raises((DisconnectedError, OperationTimeoutError)):
            await topic_names(cluster, TcpNetwork())


async def test_tls_client_of_a_plain_broker_fails_in_good_time() -> None:
    async with EmbeddedCluster() as cluster:
        with pytest.raises(NetworkError, match=r"127\.0\.0\.1"):
            await topic_names(cluster, TcpNetwork(client_tls=client_tls()))
        assert await topic_names(cluster, TcpNetwork()) == []


def test_librdkafka_speaks_tls_with_the_embedded_cluster(tmp_path: Path) -> None:
    authority = tmp_path / "ca.pem"
    AUTHORITY.cert_pem.write_to_path(str(authority))
    with cluster_with(server_tls("127.0.0.1")) as cluster:
        cluster.create_topic("t", 3)
        admin = AdminClient({
            "bootstrap.servers": cluster.bootstrap_servers,
            "security.protocol": "SSL",
            "ssl.ca.location": str(authority),
        })  # fmt: skip
        assert len(admin.list_topics(timeout=10).topics["t"].partitions) == 3
        del admin
