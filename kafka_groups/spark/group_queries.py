"""Questions about a share group that its members are not told: asked of the brokers over connections of their own.

What cannot be had, because the brokers do not allow it, do not know it (before Kafka 4.3) or cannot be reached, is
None: the consumer itself will say what is wrong.
"""

import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar

from kafka_groups.config.share import ShareConsumerConfig
from kafka_groups.errors import BrokerError, NetworkError, OperationTimeoutError, error_for
from kafka_groups.net.clock import SystemClock
from kafka_groups.net.connection import ClientConnection
from kafka_groups.net.handshake import negotiate
from kafka_groups.net.loop_thread import LoopThread
from kafka_groups.net.network import Network
from kafka_groups.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
)
from kafka_groups.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kafka_groups.share.parts import network_for

__all__ = ["Address", "ask", "asked", "group_lag"]

_LOG = logging.getLogger(__name__)
_TIMEOUT_MS = 5_000
_GROUP_COORDINATOR = 0

T = TypeVar("T")
Address = tuple[str, int]


def group_lag(config: ShareConsumerConfig, topics: Iterable[str]) -> int | None:
    """How many records of these topics the group has still to accept, reject or give up.

    Blocks for some milliseconds, at worst some seconds a broker.
    """
    wanted = frozenset(topics)
    return asked(config, lambda network, address: _lag(network, address, config.group_id, wanted))


def asked(config: ShareConsumerConfig, question: Callable[[Network, Address], Awaitable[T]]) -> T | None:
    """The answer to a question that is put to the bootstrap servers in turn until one answers; None if none does."""
    thread = LoopThread(f"share-group-state-{config.group_id}")
    thread.start()
    try:
        return thread.run(_in_turn(config, question))
    finally:
        thread.stop()


async def _in_turn(config: ShareConsumerConfig, question: Callable[[Network, Address], Awaitable[T]]) -> T | None:
    network = network_for(config)
    for address in config.bootstrap_servers:
        try:
            return await question(network, address)
        except (NetworkError, OperationTimeoutError, BrokerError) as error:
            _LOG.info("the brokers do not tell of the group %s: %s", config.group_id, error)
    return None


async def ask(network: Network, address: Address, request: object) -> Any:
    """What one broker answers to a request.

    Raises:
        NetworkError: The broker cannot be reached.
        OperationTimeoutError: It does not answer.
    """
    deadline_ms = SystemClock().now_ms() + _TIMEOUT_MS
    connection = await ClientConnection.open(network, *address, "kafka-groups-spark")
    try:
        versions = await negotiate(connection, deadline_ms)
        return await connection.request(request, versions.version_for(type(request)), deadline_ms)
    finally:
        connection.close()


async def _lag(network: Network, address: Address, group_id: str, topics: frozenset[str]) -> int | None:
    coordinator = await _coordinator(network, address, group_id)
    asked = DescribeShareGroupOffsetsRequestGroup(group_id=group_id, topics=None)
    request = DescribeShareGroupOffsetsRequest(groups=(asked,))
    response: DescribeShareGroupOffsetsResponse = await ask(network, coordinator, request)
    (group,) = response.groups
    if group.error_code:
        raise error_for(group.error_code, group.error_message)
    lags = [p.lag for topic in group.topics if topic.topic_name in topics for p in topic.partitions if p.lag >= 0]
    return sum(lags) if lags else None


async def _coordinator(network: Network, address: Address, group_id: str) -> Address:
    request = FindCoordinatorRequest(key_type=_GROUP_COORDINATOR, coordinator_keys=(group_id,))
    response: FindCoordinatorResponse = await ask(network, address, request)
    (found,) = response.coordinators
    if found.error_code:
        raise error_for(found.error_code, found.error_message)
    return found.host, found.port
