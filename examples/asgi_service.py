"""Take orders over HTTP and invoice them with a worker: an ASGI service and a worker on one event loop.

Run it with an ASGI server, next to a broker:

    kafka-groups broker --port 9092
    uvicorn --app-dir examples --factory asgi_service:application

    curl -d '{"customer": "ann", "cents": 250}' localhost:8000/orders
    curl localhost:8000/invoices

The handler and the requests share the dictionary of invoices without a lock, because they run on one loop. The worker
starts and stops with the server's lifespan. `/live` and `/ready` answer the probes of Kubernetes. A framework would
need fewer lines: `async with worker` is all that its lifespan needs.
"""

import asyncio
import json
import os
from collections import Counter
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from confluent_kafka import Producer

from kafka_groups import Worker, serdes

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


@dataclass(frozen=True)
class Order:
    """An order, which is a JSON document on the wire."""

    customer: str
    cents: int


ORDER = serdes.json(Order)


class Shop:
    """The service, as an ASGI application.

    Args:
        bootstrap_servers: The brokers.
    """

    def __init__(self, bootstrap_servers: str) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap_servers, "enable.idempotence": True})
        self._invoices: Counter[str] = Counter()
        self._worker = Worker("invoices", bootstrap_servers=bootstrap_servers, start="earliest")
        self._worker.handler("orders", value=ORDER)(self.invoice)

    async def invoice(self, order: Order) -> None:
        """Add an order to the invoice of its customer. The worker calls this on the server's loop."""
        self._invoices[order.customer] += order.cents

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one connection, or the lifespan of the server."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        else:
            status, content = await self._respond(scope["method"], scope["path"], receive)
            headers = [(b"content-type", b"application/json")]
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": json.dumps(content).encode()})

    async def _live(self, receive: Receive, send: Send) -> None:
        """Run the worker from the start of the server to its end."""
        async with AsyncExitStack() as stack:
            await receive()
            try:
                await stack.enter_async_context(self._worker)
            except Exception as error:
                await send({"type": "lifespan.startup.failed", "message": str(error)})
                return
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})

    async def _respond(self, method: str, path: str, receive: Receive) -> tuple[HTTPStatus, object]:
        health = self._worker.health()
        match method, path:
            case "POST", "/orders":
                return await self._take_order(await _body(receive))
            case "GET", "/invoices":
                return HTTPStatus.OK, self._invoices
            case "GET", "/live":
                return HTTPStatus.OK if health.is_live else HTTPStatus.SERVICE_UNAVAILABLE, health.reasons
            case "GET", "/ready":
                return HTTPStatus.OK if health.is_ready else HTTPStatus.SERVICE_UNAVAILABLE, health.reasons
        return HTTPStatus.NOT_FOUND, f"{method} {path} does not exist"

    async def _take_order(self, body: bytes) -> tuple[HTTPStatus, object]:
        """Write an order to the topic, and respond when the brokers have it."""
        try:
            order = ORDER.deserializer("orders", is_key=False)(body, [])
        except Exception as error:
            return HTTPStatus.BAD_REQUEST, str(error)
        failed: list[object] = []
        self._producer.produce("orders", body, order.customer, on_delivery=lambda error, _: failed.append(error))
        await asyncio.to_thread(self._producer.flush)
        if any(failed):
            return HTTPStatus.SERVICE_UNAVAILABLE, str(failed[0])
        return HTTPStatus.ACCEPTED, "accepted"


async def _body(receive: Receive) -> bytes:
    """Read the whole body of a request."""
    body: bytes = b""
    while True:
        message = await receive()
        part: bytes = message.get("body", b"")
        body += part
        if not message.get("more_body", False):
            return body


def application(bootstrap_servers: str = os.environ.get("KAFKA_BOOTSTRAP_SERVERS", "localhost:9092")) -> Shop:
    """Return the service. Servers call this in each process."""
    return Shop(bootstrap_servers)
