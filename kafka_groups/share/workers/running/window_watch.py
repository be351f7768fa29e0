"""Ask the brokers how full windows are, as other members of the group have records of the same partitions."""

import asyncio
from collections.abc import Sequence

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.net.clock import Clock
from kafka_groups.share.group import ShareGroupInfo
from kafka_groups.share.workers.rules.window import RecordWindows
from kafka_groups.share.workers.running.handler_report import HandlerReport
from kafka_groups.types import TopicIdPartition, TopicPartition

__all__ = ["WindowWatch"]

_EVERY_MS = 5_000
_TIMEOUT_MS = 10_000


class WindowWatch:
    """The windows of one handler.

    Args:
        group: Asks about the handler's group.
        windows: What the handler knows of its windows.
        report: Logs that the brokers do not answer.
        clock: Time.
    """

    def __init__(self, group: ShareGroupInfo, windows: RecordWindows, report: HandlerReport, clock: Clock) -> None:
        self._group = group
        self._windows = windows
        self._report = report
        self._clock = clock
        self._asking: asyncio.Task[None] | None = None
        self._next_ms = 0

    def look(self, now_ms: int) -> None:
        """Begin to ask, now and then, while a record holds back its partition. Does not wait for the answer."""
        if self._asking is not None and self._asking.done():
            asking, self._asking = self._asking, None
            # Errors of Kafka are handled in `_ask`. Any other error is a mistake of this package, and must not vanish
            # with the task.
            asking.result()
        if self._asking is None and now_ms >= self._next_ms and (unclear := self._windows.unclear):
            self._next_ms = now_ms + _EVERY_MS
            self._asking = asyncio.get_running_loop().create_task(self._ask(unclear), name="worker-windows")

    async def _ask(self, unclear: Sequence[TopicIdPartition]) -> None:
        by_name = {TopicPartition(each.topic, each.partition): each for each in unclear if each.topic is not None}
        try:
            progress = await self._group.progress(by_name, _TIMEOUT_MS)
        except KafkaGroupsError as error:
            # Without an answer, only this member's own records count. The next question follows five seconds later.
            self._report.windows_unknown(error)
            return
        for name, each in progress.items():
            self._windows.told(by_name[name], each, self._clock.now_ms())

    async def close(self) -> None:
        """Stop asking."""
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.wait([self._asking])
