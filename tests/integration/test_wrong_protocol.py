"""A consumer that is told the wrong protocol says what is probably wrong, and what to set."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from kafka_groups import AsyncKafkaShareConsumer, ConsumerState, KafkaShareConsumer
from kafka_groups.admin import AsyncKafkaAdmin
from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.faults import DROP_CONNECTION
from kafka_groups.errors import BootstrapError, ConfigurationError, KafkaGroupsError, TlsError, WrongProtocolError
from kafka_groups.net.tcp import TcpNetwork
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.streams import AsyncStreamsGroupMember, GroupTopologyBuilder

AUTHORITY = trustme.CA()


def server_tls(clients: trustme.CA | None = None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    AUTHORITY.issue_cert("127.0.0.1").configure_cert(context)
    if clients is not None:
        clients.configure_trust(context)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


async def error_of(bootstrap_servers: str, **config: Any) -> KafkaGroupsError:
    """What the first poll raises, and within `default.api.timeout.ms`."""
    config = {"default_api_timeout_ms": 2_000, "socket_connection_setup_timeout_ms": 500} | config
    async with AsyncKafkaShareConsumer(bootstrap_servers=bootstrap_servers, group_id="g", **config) as consumer:
        await consumer.subscribe(["orders"])
        with pytest.raises(KafkaGroupsError) as raised:
            await asyncio.wait_for(consumer.poll(), 30)
        assert consumer.state is ConsumerState.UNREACHABLE
        return raised.value


@pytest.fixture
def ca_location(tmp_path: Path) -> str:
    path = tmp_path / "ca.pem"
    AUTHORITY.cert_pem.write_to_path(str(path))
    return str(path)


@asynccontextmanager
async def server(
    talk: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]], tls: ssl.SSLContext | None = None
) -> AsyncIterator[str]:
    """A server that is no Kafka broker; what it does with a connection is for `talk`."""

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await talk(reader, writer)
        writer.close()

    made = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=tls)
    async with made:
        yield f"127.0.0.1:{made.sockets[0].getsockname()[1]}"


async def test_plain_text_at_a_tls_listener() -> None:
    async with EmbeddedCluster(network=TcpNetwork(server_tls=server_tls())) as cluster:
        error = await error_of(cluster.bootstrap_servers)
    assert isinstance(error, WrongProtocolError)
    assert "TLS listener" in str(error)
    assert "security.protocol to SSL" in str(error)


async def test_a_tls_alert_is_certain() -> None:
    async def alert(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(4)
        writer.write(bytes.fromhex("15030300020250"))
        await writer.drain()

    async with server(alert) as address:
        error = await error_of(address)
    assert isinstance(error, WrongProtocolError)
    assert error.is_certain
    assert f"{address} is a TLS listener" in str(error)
    assert not error.retriable


async def test_plain_text_at_an_http_server_that_answers() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(4)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()

    async with server(answer) as address:
        error = await error_of(address)
    assert isinstance(error, WrongProtocolError)
    assert f"{address} is not a Kafka broker: it answered in HTTP" in str(error)


async def test_plain_text_at_an_http_server_that_waits_for_the_rest_of_the_line() -> None:
    http = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    http.daemon_threads = True
    thread = Thread(target=http.serve_forever)
    thread.start()
    try:
        error = await error_of(f"127.0.0.1:{http.server_port}")
    finally:
        http.shutdown()
        http.server_close()
        thread.join()
    assert isinstance(error, WrongProtocolError)
    assert "did not answer" in str(error)
    assert "security.protocol and bootstrap.servers" in str(error)


@pytest.mark.parametrize("client", ["consumer", "member", "admin"])
async def test_a_listener_that_accepts_and_stays_silent_is_told_in_time(client: str) -> None:
    """Without waiting for socket.connection.setup.timeout.ms, which is longer than the test has patience."""
    config: Any = {"default_api_timeout_ms": 1_000, "socket_connection_setup_timeout_ms": 600_000}
    async with server(silent) as address:
        with pytest.raises(BootstrapError) as raised:
            await asyncio.wait_for(SILENCE[client](bootstrap_servers=address, **config), 30)
    assert str(raised.value) == (
        f"No broker has answered for 1000 ms. {address} accepted the connection but did not answer. Unless it is"
        " overloaded, it is probably a TLS listener or not a Kafka broker: check security.protocol and"
        " bootstrap.servers."
    )


async def test_a_listener_that_never_answers_the_tls_handshake_is_told_in_time(ca_location: str) -> None:
    async with server(silent) as address:
        error = await error_of(
            address,
            security_protocol="SSL",
            ssl_ca_location=ca_location,
            default_api_timeout_ms=1_000,
            socket_connection_setup_timeout_ms=60_000,
        )
    assert str(error) == f"No broker has answered for 1000 ms. Could not connect to {address} and agree on TLS yet."


async def silent(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    while await reader.read(1_000):
        pass


async def ask_as_consumer(**config: Any) -> None:
    async with AsyncKafkaShareConsumer(group_id="g", **config) as consumer:
        await consumer.subscribe(["orders"])
        await consumer.poll()


async def ask_as_member(**config: Any) -> None:
    topology = GroupTopologyBuilder().add_subtopology("0", sources=["in"]).build()
    async with AsyncStreamsGroupMember(application_id="app", topology=topology, **config) as member:
        await member.join()
        await member.poll()


async def ask_as_admin(**config: Any) -> None:
    async with AsyncKafkaAdmin(**config) as admin:
        await admin.list_share_groups()


SILENCE = {"consumer": ask_as_consumer, "member": ask_as_member, "admin": ask_as_admin}


async def test_tls_at_a_plaintext_listener(ca_location: str) -> None:
    async with EmbeddedCluster(network=TcpNetwork()) as cluster:
        error = await error_of(cluster.bootstrap_servers, security_protocol="SSL", ssl_ca_location=ca_location)
    assert isinstance(error, WrongProtocolError)
    assert "plaintext listener" in str(error)
    assert "security.protocol to PLAINTEXT" in str(error)


async def test_tls_at_a_server_that_answers_in_plain_text(ca_location: str) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(4)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()

    async with server(answer) as address:
        error = await error_of(address, security_protocol="SSL", ssl_ca_location=ca_location)
    assert isinstance(error, WrongProtocolError)
    assert error.is_certain
    assert "does not use TLS" in str(error)


async def test_an_authority_that_is_not_trusted(tmp_path: Path) -> None:
    other = tmp_path / "other.pem"
    trustme.CA().cert_pem.write_to_path(str(other))
    async with EmbeddedCluster(network=TcpNetwork(server_tls=server_tls())) as cluster:
        error = await error_of(cluster.bootstrap_servers, security_protocol="SSL", ssl_ca_location=str(other))
    assert isinstance(error, TlsError)
    assert "ssl.ca.location" in str(error)


async def test_a_listener_that_wants_a_client_certificate(ca_location: str) -> None:
    async with EmbeddedCluster(network=TcpNetwork(server_tls=server_tls(AUTHORITY))) as cluster:
        error = await error_of(cluster.bootstrap_servers, security_protocol="SSL", ssl_ca_location=ca_location)
    assert isinstance(error, TlsError | WrongProtocolError)  # the alert of TLS 1.3 may be lost with the connection
    assert "ssl.certificate.location" in str(error)


async def test_no_sasl_at_a_listener_that_requires_it() -> None:
    """As Kafka does it: ApiVersions is answered, and the next request closes the connection."""
    async with EmbeddedCluster(network=TcpNetwork()) as cluster:
        for api in (ApiKey.FIND_COORDINATOR, ApiKey.METADATA):
            cluster.faults.on(api, DROP_CONNECTION)
        error = await error_of(cluster.bootstrap_servers)
    assert isinstance(error, WrongProtocolError)
    assert "probably requires SASL" in str(error)
    assert "security.protocol to SASL_PLAINTEXT or SASL_SSL" in str(error)


def key_and_certificate(folder: Path, password: bytes) -> tuple[str, str]:
    mine = AUTHORITY.issue_cert("me@example.org")
    certificate, key = folder / "me.pem", folder / "me.key"
    mine.cert_chain_pems[0].write_to_path(str(certificate))
    private = load_pem_private_key(mine.private_key_pem.bytes(), None)
    key.write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(password)))
    return str(certificate), str(key)


@pytest.mark.parametrize(("password", "said"), [("wrong", "is wrong"), (None, "is not set")])
def test_a_password_that_does_not_open_the_key(tmp_path: Path, password: str | None, said: str) -> None:
    certificate, key = key_and_certificate(tmp_path, b"right")
    config: Any = {"security_protocol": "SSL", "ssl_certificate_location": certificate, "ssl_key_location": key}
    with pytest.raises(ConfigurationError, match=rf"decrypt the private key .*me\.key: ssl\.key\.password {said}"):
        KafkaShareConsumer(bootstrap_servers="b:1", group_id="g", ssl_key_password=password, **config)


def test_a_key_of_another_certificate_and_a_file_that_is_missing(tmp_path: Path) -> None:
    certificate, _ = key_and_certificate(tmp_path, b"right")
    other = tmp_path / "other.key"
    AUTHORITY.issue_cert("other@example.org").private_key_pem.write_to_path(str(other))
    config = {"bootstrap_servers": "b:1", "group_id": "g", "security_protocol": "SSL"}
    with pytest.raises(ConfigurationError, match="does not match the certificate"):
        KafkaShareConsumer(config | {"ssl_certificate_location": certificate, "ssl_key_location": str(other)})
    with pytest.raises(ConfigurationError, match=r"nowhere\.pem: one of them does not exist"):
        KafkaShareConsumer(config | {"ssl.ca.location": str(tmp_path / "nowhere.pem")})
