"""Questions about a share group that members cannot ask, sent to the brokers over separate connections.

The answer is None if the brokers do not allow the question, do not support it (before Kafka 4.3) or cannot be reached.
The consumer itself reports such problems.
"""

import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from kafka_groups.client.brokers import Brokers
from kafka_groups.config.share import ShareConsumerConfig
from kafka_groups.errors import AuthenticationError, BrokerError, NetworkError, OperationTimeoutError
from kafka_groups.net.loop_thread import LoopThread
from kafka_groups.share.group import lag_of
from kafka_groups.share.parts import brokers_for

__all__ = ["asked", "group_lag"]

_LOG = logging.getLogger(__name__)

T = TypeVar("T")


def group_lag(config: ShareConsumerConfig, topics: Iterable[str]) -> int | None:
    """Return how many records of these topics the group still has to process.

    Blocks for milliseconds, at worst some seconds per broker.
    """
    wanted = frozenset(topics)
    return asked(config, lambda brokers: _lag(brokers, config.group_id, wanted))


def asked(config: ShareConsumerConfig, question: Callable[[Brokers], Awaitable[T]]) -> T | None:
    """Ask the bootstrap servers in turn and return the first answer; None if no server answers."""
    thread = LoopThread(f"share-group-state-{config.group_id}")
    thread.start()
    try:
        return thread.run(_in_turn(config, question))
    finally:
        thread.stop()


async def _in_turn(config: ShareConsumerConfig, question: Callable[[Brokers], Awaitable[T]]) -> T | None:
    for address in config.bootstrap_servers:
        brokers = brokers_for(config, (address,))
        try:
            return await question(brokers)
        except (NetworkError, OperationTimeoutError, BrokerError, AuthenticationError) as error:
            _LOG.info("the brokers do not tell of the group %s: %s", config.group_id, error)
        finally:
            brokers.close()
    return None


async def _lag(brokers: Brokers, group_id: str, topics: frozenset[str]) -> int | None:
    lags = await lag_of(brokers, group_id)
    known = [lag for partition, lag in lags.items() if partition.topic in topics and lag is not None]
    return sum(known) if known else None
