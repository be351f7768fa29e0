"""Questions about a share group that members cannot ask, sent to the brokers over separate connections."""

import logging
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from attrs import evolve

from kafka_groups.client.assembly import Environment
from kafka_groups.client.calls.client import AdminClient, admin_client
from kafka_groups.client.calls.questions import Asking
from kafka_groups.config.clients.share import ShareConsumerConfig
from kafka_groups.errors import AuthenticationError, BrokerError, NetworkError, OperationTimeoutError
from kafka_groups.net.loop_thread import LoopThread

__all__ = ["TIMEOUT_MS", "UNANSWERED", "answer_of", "asked", "impatient_client"]

_LOG = logging.getLogger(__name__)

TIMEOUT_MS = 10_000
"""Timeout of a query while brokers respond."""
_REACH_TIMEOUT_MS = 1_000
"""Timeout of a query while no broker responds. The consumer keeps trying to connect, and logs that it does."""

UNANSWERED: Final = (NetworkError, OperationTimeoutError, BrokerError, AuthenticationError)
"""Errors because of which a question has no answer. The consumer itself reports such problems."""

T = TypeVar("T")


def asked(config: ShareConsumerConfig, question: Callable[[Asking], Awaitable[T]]) -> T | None:
    """Ask the brokers and return the answer.

    Return None if the brokers do not allow the question, do not support it or cannot be reached.
    """
    try:
        return answer_of(config, question)
    except UNANSWERED as error:
        _LOG.info("could not ask the brokers about the group %s: %s", config.group_id, error)
        return None


def answer_of(config: ShareConsumerConfig, question: Callable[[Asking], Awaitable[T]]) -> T:
    """Ask the brokers and return the answer.

    Raises:
        KafkaGroupsError: One of `UNANSWERED`: the brokers do not allow the question, do not support it or cannot be
            reached.
    """
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


async def _asked(config: ShareConsumerConfig, question: Callable[[Asking], Awaitable[T]]) -> T:
    client = impatient_client(config, Environment())
    try:
        return await question(client.within(TIMEOUT_MS))
    finally:
        await client.close()
