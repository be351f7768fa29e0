"""Asking a worker for its status: every answer that is none is refused, and none can take long or be large."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import attrs
import pytest

from kafka_groups.cli.top import worker_asking
from kafka_groups.cli.top.worker_asking import NoStatusError, ProbeAddress, ask_worker
from kafka_groups.errors import ConfigurationError
from tests.support.worker_statuses import busy_status

STATUS = json.dumps(attrs.asdict(busy_status())).encode()


@asynccontextmanager
async def answering(*pieces: bytes, hangs: bool = False) -> AsyncIterator[ProbeAddress]:
    """A server that sends some bytes to whoever comes."""
    requests: list[bytes] = []
    done = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests.append(await reader.readuntil(b"\r\n\r\n"))
        writer.writelines(pieces)
        if hangs:
            await done.wait()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        yield ProbeAddress.of(f"127.0.0.1:{port}")
        assert requests == [f"GET /status HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()]
        done.set()


def response(body: bytes, status: bytes = b"200 OK") -> bytes:
    return b"HTTP/1.0 %s\r\nContent-Type: application/json\r\n\r\n%s" % (status, body)


async def test_a_worker_tells_its_status() -> None:
    async with answering(response(STATUS)[:50], response(STATUS)[50:]) as address:
        assert await ask_worker(address) == busy_status()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"", "it does not answer like a worker. Is this the probe address of a worker?"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "it does not answer like a worker"),
        (b"HTTP/1.1 +20 OK\r\n\r\n{}", "it does not answer like a worker"),
        (response(b"Ask for /live.", b"404 Not Found"), "it has no /status. Is it a worker of this release"),
        (response(STATUS, b"503 Service Unavailable"), "it answers with status 503"),
        (response(STATUS[:-5]), "it does not answer like a worker"),
        (response(b"\xff"), "it does not answer like a worker"),
        (response(b"{}"), "it does not answer like a worker"),
        (response(b"[" * 200_000), "it does not answer like a worker"),
        (response(b'{"group": ' + b"9" * 10_000 + b"}"), "it does not answer like a worker"),
    ],
)
async def test_other_answers_are_refused(answer: bytes, reason: str) -> None:
    async with answering(answer) as address:
        with pytest.raises(NoStatusError) as raised:
            await ask_worker(address)
        assert str(raised.value).startswith(reason)


async def test_an_answer_without_end_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_asking, "_LARGEST", 1_000_000)
    async with answering(response(b" " * 1_000_001), hangs=True) as address:
        with pytest.raises(NoStatusError, match="its answer has more than 1,000,000 bytes"):
            await ask_worker(address)


async def test_a_worker_that_hangs_is_given_up() -> None:
    async with answering(response(STATUS)[:-1], hangs=True) as address:
        with pytest.raises(NoStatusError, match=r"no answer within 0\.05 s"):
            await ask_worker(address, 0.05)


async def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = ProbeAddress.of(f"127.0.0.1:{free.getsockname()[1]}")
    with pytest.raises(NoStatusError, match=r"^cannot connect: Connection refused\. Is it running, with this --probe"):
        await ask_worker(address)


async def test_names_that_no_host_has() -> None:
    with pytest.raises(NoStatusError, match=r"^cannot connect: "):
        await ask_worker(ProbeAddress.of("a..b:80"))


@pytest.mark.parametrize("given", ["worker", ":8081", "worker:", "worker:0", "worker:http"])
def test_what_is_no_address_is_refused(given: str) -> None:
    with pytest.raises(ConfigurationError, match=r"Give the probe address of a worker: HOST:PORT"):
        ProbeAddress.of(given)


def test_addresses_of_version_6_have_brackets() -> None:
    found: Any = ProbeAddress.of("[::1]:8081")
    assert (found.name, found.host, found.port) == ("[::1]:8081", "::1", 8081)
