"""Go on without members in a retry group that is full, as long as others read the topics.

A group of 200 members, the brokers' default, is full with 50 processes of one handler with four delays. Records of a
retry topic need one member somewhere, and not one in each process.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from kafka_groups.errors import ConfigurationError, GroupMaxSizeReachedError
from kafka_groups.errors.texts import counted
from kafka_groups.share.workers.group_queries import UNANSWERED
from kafka_groups.share.workers.running.members.handler_members import HandlerMember

__all__ = ["FullRetryGroup"]

_LOG = logging.getLogger("kafka_groups.worker")

_AGAIN_S = 60.0
"""Others may leave the group, even all that read a topic: at the end of a deployment, for example."""

_TIMEOUT_MS = 10_000

AskReaders = Callable[[str, int], Awaitable[int]]
"""Returns how many members of the group read a topic, within so many milliseconds. Raises `KafkaGroupsError`."""


class FullRetryGroup:
    """Decides what a process does without its members in the retry group.

    Args:
        members: The members of the process in the group.
    """

    def __init__(self, members: Sequence[HandlerMember]) -> None:
        self._members = members
        self._has_warned = False
        self._stopping = asyncio.Event()

    @property
    def is_stopping(self) -> bool:
        """True if the worker stops."""
        return self._stopping.is_set()

    def stop(self) -> None:
        """End the waits: the worker stops."""
        self._stopping.set()

    async def check(
        self, member: HandlerMember, full: GroupMaxSizeReachedError, readers_of: AskReaders, *, is_first: bool
    ) -> None:
        """Warn once that the process continues without a member.

        Args:
            member: The member.
            full: The error with which it could not join.
            readers_of: Asks who reads a topic.
            is_first: Whether the worker has just started.

        Raises:
            ConfigurationError: The worker has just started, and nobody reads the topic of the member.
        """
        (topic,) = member.spec.topics
        # Later, the group may be full because of members that read other topics. Nothing is gained if this worker ends.
        if is_first and not await self._is_read(topic, readers_of):
            raise ConfigurationError(
                f"handler {member.handler.name}: {self._text(full)}. No member of the group reads {topic}, so its"
                " records would wait for ever. Use fewer processes or delays, or raise group.share.max.size of the"
                " brokers"
            ) from full
        if not self._has_warned:
            self._has_warned = True
            _LOG.warning(
                "%s. This process continues without those that do not fit, and tries again every %.0f seconds",
                self._text(full),
                _AGAIN_S,
            )

    async def wait(self) -> bool:
        """Wait before a member tries to join again. Returns False if the worker stops."""
        try:
            async with asyncio.timeout(_AGAIN_S):
                await self._stopping.wait()
        except TimeoutError:
            return True
        return False

    def _text(self, full: GroupMaxSizeReachedError) -> str:
        handlers = len({member.handler.name for member in self._members})
        return (
            f"The share group {self._members[0].group_id} is full ({full}). Each process of this worker needs"
            f" {counted(len(self._members), 'member')} there, one for each delay of"
            f" {counted(handlers, 'handler')} with retry topics"
        )

    async def _is_read(self, topic: str, readers_of: AskReaders) -> bool:
        try:
            return await readers_of(topic, _TIMEOUT_MS) > 0
        except UNANSWERED as error:
            # Brokers that do not tell may do so for lack of a right. The group is full, so others are there.
            _LOG.debug("Cannot find out who reads the retry topic %s: %s", topic, error)
            return True
