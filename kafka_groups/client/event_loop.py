"""Clients that belong to one event loop."""

import asyncio

from kafka_groups.errors import IllegalStateError

__all__ = ["check_loop"]


def check_loop(client: object, what: str, loop: asyncio.AbstractEventLoop | None) -> None:
    """Check that a client is used on its event loop.

    Args:
        client: The client, for the message.
        what: What the client is, with its article: "a consumer".
        loop: The event loop that it belongs to; None before it has one.

    Raises:
        IllegalStateError: Another event loop is running, or none.
    """
    if loop is None or loop is _running_loop():
        return
    raise IllegalStateError(
        f"{client!r} belongs to another event loop, which is {'closed' if loop.is_closed() else 'running'}: every"
        f" asyncio.run() makes a new loop. Create, use and close {what} within one."
    )


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
