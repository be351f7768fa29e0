"""The ASGI example takes orders over HTTP and handles them with its worker, on one event loop."""

import asyncio
import importlib.util
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.testing import FAST_SETTINGS, EmbeddedCluster
from tests.support.conditions import until

EXAMPLE = Path(__file__).parents[2] / "examples" / "asgi_service.py"
Message = dict[str, Any]


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings=FAST_SETTINGS) as cluster:
        cluster.create_topic("orders")
        cluster.alter_group_configs("invoices", {"share.auto.offset.reset": "earliest"})
        yield cluster


class Server:
    """The server's side of ASGI: one lifespan, and requests while it lasts.

    Args:
        bootstrap_servers: The brokers.
    """

    def __init__(self, bootstrap_servers: str) -> None:
        spec = importlib.util.spec_from_file_location("asgi_service", EXAMPLE)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        self.application = module.application(bootstrap_servers)
        self.events: asyncio.Queue[Message] = asyncio.Queue()
        self.sent: asyncio.Queue[Message] = asyncio.Queue()

    async def start(self) -> Message:
        """Begin the lifespan, and return what the application says."""
        self._lifespan = asyncio.create_task(
            self.application({"type": "lifespan"}, self.events.get, self.sent.put), name="lifespan"
        )
        await self.events.put({"type": "lifespan.startup"})
        return await asyncio.wait_for(self.sent.get(), 30)

    async def stop(self) -> Message:
        """End the lifespan."""
        await self.events.put({"type": "lifespan.shutdown"})
        said = await asyncio.wait_for(self.sent.get(), 30)
        await self._lifespan
        return said

    async def ask(self, method: str, path: str, *body: bytes) -> tuple[HTTPStatus, Any]:
        """Make a request whose body comes in parts, and return the status and the content of the response."""
        parts = [{"type": "http.request", "body": part, "more_body": part is not body[-1]} for part in body]
        incoming, outgoing = iter(parts), list[Message]()

        async def receive() -> Message:
            return next(incoming)

        async def send(message: Message) -> None:
            outgoing.append(message)

        await self.application({"type": "http", "method": method, "path": path}, receive, send)
        start, content = outgoing
        assert [start["type"], content["type"]] == ["http.response.start", "http.response.body"]
        return HTTPStatus(start["status"]), json.loads(content["body"])


@asynccontextmanager
async def started(cluster: EmbeddedCluster) -> AsyncIterator[Server]:
    server = Server(cluster.bootstrap_servers)
    assert await server.start() == {"type": "lifespan.startup.complete"}
    yield server
    assert await server.stop() == {"type": "lifespan.shutdown.complete"}


async def test_orders_become_invoices(cluster: EmbeddedCluster) -> None:
    async with started(cluster) as server:
        accepted = [
            await server.ask("POST", "/orders", b'{"customer": "ann", ', b'"cents": 250}'),
            await server.ask("POST", "/orders", b'{"customer": "ann", "cents": 50}'),
        ]
        assert accepted == [(HTTPStatus.ACCEPTED, "accepted")] * 2
        found = await until(lambda: server.ask("GET", "/invoices"), lambda answer: answer[1].get("ann") == 300)
        assert found == (HTTPStatus.OK, {"ann": 300})
    assert cluster.group("invoices").wait_until_accepted(2)
    assert cluster.group("invoices").members == []


async def test_probes_follow_the_worker(cluster: EmbeddedCluster) -> None:
    server = Server(cluster.bootstrap_servers)
    assert (await server.ask("GET", "/ready"))[0] is HTTPStatus.SERVICE_UNAVAILABLE
    async with started(cluster) as server:
        ready = await until(lambda: server.ask("GET", "/ready"), lambda answer: answer[0] is HTTPStatus.OK)
        assert ready == (HTTPStatus.OK, [])
        assert await server.ask("GET", "/live") == (HTTPStatus.OK, [])


async def test_what_is_not_an_order_is_refused(cluster: EmbeddedCluster) -> None:
    async with started(cluster) as server:
        assert (await server.ask("POST", "/orders", b'{"customer": 1}'))[0] is HTTPStatus.BAD_REQUEST
        assert (await server.ask("GET", "/nothing"))[0] is HTTPStatus.NOT_FOUND
    assert cluster.group("invoices").accepted == []


async def test_start_that_fails_is_reported_with_the_reason(cluster: EmbeddedCluster) -> None:
    async with started(cluster) as server:
        second = Server(cluster.bootstrap_servers)
        second.application = server.application
        said = await second.start()
        assert said["type"] == "lifespan.startup.failed"
        assert "is running already" in said["message"]
        assert (await server.ask("GET", "/live"))[0] is HTTPStatus.OK
