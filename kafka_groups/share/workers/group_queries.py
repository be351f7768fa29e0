"""Questions about a share group that members cannot ask, sent to the brokers over separate connections.

The answer is None if the brokers do not allow the question, do not support it (before Kafka 4.3) or cannot be reached.
The consumer itself reports such problems.
"""

import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from attrs import evolve

from kafka_groups.client.assembly import Environment
from kafka_groups.client.calls.client import AdminClient, admin_client
from kafka_groups.client.calls.questions import Asking
from kafka_groups.config.clients.share import ShareConsumerConfig
from kafka_groups.errors import AuthenticationError, BrokerError, NetworkError, OperationTimeoutError
from kafka_groups.net.loop_thread import LoopThread
from kafka_groups.share.group import lag_of

__all__ = ["TIMEOUT_MS", "asked", "group_lag", "impatient_client"]

_LOG = logging.getLogger(__name__)

TIMEOUT_MS = 10_000
"""Timeout of a query while brokers respond."""
_REACH_TIMEOUT_MS = 1_000
"""Timeout of a query while no broker responds. The consumer keeps trying to connect, and logs that it does."""

T = TypeVar("T")


def group_lag(config: ShareConsumerConfig, topics: Iterable[str]) -> int | None:
    """Return how many records of these topics the group still has to process.

    Blocks for milliseconds, at worst for ten seconds.
    """
    wanted = frozenset(topics)
    return asked(config, lambda ask: _lag(ask, config.group_id, wanted))


def asked(config: ShareConsumerConfig, question: Callable[[Asking], Awaitable[T]]) -> T | None:
    """Ask the brokers and return the answer; None if there is none."""
    thread = LoopThread(f"share-group-state-{config.group_id}")
    thread.start()
    try:
        return thread.run(_asked(config, question))
    finally:
        thread.stop()


def impatient_client(config: ShareConsumerConfig, environment: Environment) -> AdminClient:
    """Return a client for questions. They fail after a second if no broker has answered by then."""
    reach_timeout_ms = min(_REACH_TIMEOUT_MS, config.default_api_timeout_ms)
    return admin_client(evolve(config, default_api_timeout_ms=reach_timeout_ms), environment)


async def _asked(config: ShareConsumerConfig, question: Callable[[Asking], Awaitable[T]]) -> T | None:
    client = impatient_client(config, Environment())
    try:
        return await question(client.within(TIMEOUT_MS))
    except (NetworkError, OperationTimeoutError, BrokerError, AuthenticationError) as error:
        _LOG.info("could not ask the brokers about the group %s: %s", config.group_id, error)
        return None
    finally:
        await client.close()


async def _lag(ask: Asking, group_id: str, topics: frozenset[str]) -> int | None:
    lags = await lag_of(ask, group_id)
    known = [lag for partition, lag in lags.items() if partition.topic in topics and lag is not None]
    return sum(known) if known else None
