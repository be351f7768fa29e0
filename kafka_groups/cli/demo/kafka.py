"""The Kafka of a run: a running one, or an embedded broker; with the run's topics and group made ready."""

import asyncio
import contextlib
from collections.abc import Mapping
from pathlib import Path

from kafka_groups.cli.demo import publish
from kafka_groups.cli.demo.broker_process import BrokerProcess
from kafka_groups.cli.demo.progress import Progress
from kafka_groups.cli.demo.run_options import RunOptions

__all__ = ["prepared_kafka"]


async def prepared_kafka(
    stack: contextlib.AsyncExitStack,
    options: RunOptions,
    partitions: Mapping[str, int],
    directory: Path,
    progress: Progress,
) -> str:
    """Create the topics, and let the group start at their beginning.

    Args:
        stack: When it is left, an embedded broker is stopped, and the topics are removed from a running Kafka.
        options: Options of the run.
        partitions: How many partitions each topic gets.
        directory: Where an embedded broker writes its log.
        progress: Told of an embedded broker.

    Returns:
        The bootstrap servers.
    """
    servers = options.bootstrap_servers
    if servers is None:
        broker = await stack.enter_async_context(BrokerProcess(options.brokers, directory / "broker.log"))
        servers = broker.bootstrap_servers
        progress.note(f"embedded broker at {servers}")
    await asyncio.to_thread(publish.create_topics, servers, partitions)
    if options.bootstrap_servers is not None:
        stack.push_async_callback(asyncio.to_thread, publish.delete_topics, servers, list(partitions))
    await asyncio.to_thread(publish.start_at_earliest, servers, options.name)
    return servers
