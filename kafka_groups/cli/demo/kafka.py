"""The Kafka of a run: a running one, or an embedded broker; with the run's topics and group made ready."""

import asyncio
import contextlib
from collections.abc import Mapping
from pathlib import Path

from kafka_groups.cli.demo import publish
from kafka_groups.cli.demo.broker_process import BrokerProcess
from kafka_groups.cli.demo.progress import Progress

__all__ = ["embedded_broker", "make_ready"]


async def embedded_broker(stack: contextlib.AsyncExitStack, brokers: int, directory: Path, progress: Progress) -> str:
    """Start an embedded broker until the stack is left; its bootstrap servers."""
    broker = await stack.enter_async_context(BrokerProcess(brokers, directory / "broker.log"))
    progress.note(f"embedded broker at {broker.bootstrap_servers}")
    return broker.bootstrap_servers


async def make_ready(
    stack: contextlib.AsyncExitStack, servers: str, partitions: Mapping[str, int], group: str, *, remove: bool
) -> None:
    """Create the topics, and let the group start at their beginning.

    Args:
        stack: Removes the topics when it is left.
        servers: Where.
        partitions: How many partitions each topic gets.
        group: The share group.
        remove: Whether the topics are to be removed: they are in somebody's Kafka.
    """
    await asyncio.to_thread(publish.create_topics, servers, dict(partitions))
    if remove:
        stack.push_async_callback(asyncio.to_thread, publish.delete_topics, servers, list(partitions))
    await asyncio.to_thread(publish.start_at_earliest, servers, group)
