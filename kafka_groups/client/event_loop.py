"""Clients that belong to one event loop, and code that shares the loop with them."""

import asyncio

from kafka_groups.errors import IllegalStateError

__all__ = ["check_loop", "loop_pass"]


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


async def loop_pass() -> None:
    """Let the event loop read the sockets that are ready, and run the timers that are due, once.

    For a coroutine that otherwise keeps the loop busy. It costs some 5 µs. A response that has arrived is handled in
    the pass, with the turn of the engine that follows from it, if one read takes it: at most what the operating system
    has buffered, the free space of the connection's receive buffer, and with TLS 256 KiB. A large response needs more
    passes.
    """
    # Twice. asyncio asks the selector at the beginning of a pass, and calls what it reports after the callbacks that
    # wait already, of which this coroutine is one. So after a single `sleep(0)`, nothing has been read.
    await asyncio.sleep(0)
    await asyncio.sleep(0)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
