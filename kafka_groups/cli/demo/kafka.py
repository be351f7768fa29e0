"""Prepares Kafka for a run: connects to a running one or starts an embedded broker, and creates topics and group."""

import asyncio
import contextlib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from kafka_groups.admin import AsyncKafkaAdmin
from kafka_groups.cli.demo.broker_process import BrokerProcess
from kafka_groups.cli.demo.progress import Progress
from kafka_groups.cli.demo.publish import client_keys
from kafka_groups.cli.demo.run_options import RunOptions
from kafka_groups.librdkafka.topics import create_topics, delete_topics

__all__ = ["prepared_kafka"]

_KEPT = MappingProxyType({"retention.ms": "-1"})
"""The flights are of 2013: a program that writes them with their times must not lose them."""


async def prepared_kafka(
    stack: contextlib.AsyncExitStack,
    options: RunOptions,
    partitions: Mapping[str, int],
    directory: Path,
    progress: Progress,
    settings: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Create the topics, and make the group start at their earliest records.

    Args:
        stack: On exit, it stops the embedded broker, or deletes the topics from a running Kafka.
        options: Options of the run.
        partitions: The number of partitions of each topic.
        directory: Directory for the embedded broker's log.
        progress: Shows the address of the embedded broker.
        settings: Settings of the embedded broker.

    Returns:
        The bootstrap servers.

    Raises:
        KafkaGroupsError: The brokers cannot be reached, or refuse a topic or a configuration.
    """
    servers = options.bootstrap_servers
    if servers is None:
        broker = await stack.enter_async_context(BrokerProcess(options.brokers, directory / "broker.log", settings))
        servers = broker.bootstrap_servers
        progress.note(f"Started an embedded broker at {servers}")
    await asyncio.to_thread(create_topics, client_keys(servers), partitions, _KEPT)
    if options.bootstrap_servers is not None:
        stack.push_async_callback(asyncio.to_thread, delete_topics, client_keys(servers), list(partitions))
    async with AsyncKafkaAdmin(bootstrap_servers=servers, client_id="kafka-groups-demo") as admin:
        # By default, a share group starts at the end of the log.
        (await admin.alter_group_configs({options.name: {"share.auto.offset.reset": "earliest"}})).checked()
    return servers
