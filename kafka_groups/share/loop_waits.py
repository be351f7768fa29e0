"""The waits of the asynchronous consumer on its event loop: for records, and for the results of acknowledgements."""

import asyncio
from collections.abc import Sequence

from kafka_groups.errors import OperationTimeoutError
from kafka_groups.share.delivery.commits import CommitTicket
from kafka_groups.share.delivery.share_records import AnyRecords, ShareRecords
from kafka_groups.share.parts import Parts

__all__ = ["LoopWaits"]


class LoopWaits:
    """The waits of one consumer, at most one at a time.

    Args:
        parts: What the consumer is made of.
    """

    def __init__(self, parts: Parts) -> None:
        self._config = parts.config
        self._clock = parts.clock
        self._inbox = parts.inbox
        self._application = parts.application
        self._client = parts.client
        self._ready = asyncio.Event()
        self._time_is_up = False
        self._inbox.on_ready = self._ready.set

    async def for_records(self, timeout_s: float | None) -> AnyRecords:
        """Wait for records, without limit if the timeout is None. Return an empty batch if the timeout expires."""
        # No asyncio.timeout: it ends a wait by cancelling the task. That costs more, and the task then keeps a
        # reference to the consumer after everything else has dropped it.
        self._time_is_up = False
        self._inbox.waits_until_ms = None if timeout_s is None else self._clock.now_ms() + round(timeout_s * 1000)
        timer = None if timeout_s is None else asyncio.get_running_loop().call_later(timeout_s, self.end_wait)
        self._inbox.is_waiting = True
        try:
            while not self._time_is_up:
                self._ready.clear()
                self._client.turn()
                # The turn may have brought records already, or the loop found some that it had not announced.
                if not self._inbox.ready:
                    await self._ready.wait()
                self._application.raise_waiting()
                records = self._application.take()
                if records:
                    return records
            return ShareRecords()
        finally:
            self._inbox.is_waiting = False
            self._inbox.polls.waited(self._clock.now_ms())
            if timer is not None:
                timer.cancel()

    def end_wait(self) -> None:
        """End the wait for records that is under way, as if its time were up."""
        self._time_is_up = True
        self._ready.set()

    async def for_answers(self, tickets: Sequence[CommitTicket], timeout_s: float | None) -> None:
        """Wait until the brokers have answered all acknowledgements of the tickets.

        Raises:
            OperationTimeoutError: The timeout expired.
        """
        answered = asyncio.Event()
        for ticket in tickets:
            ticket.on_done = answered.set
        # The acknowledgements leave now, before the wait begins.
        self._client.turn()
        timeout_s = self._config.default_api_timeout_ms / 1000 if timeout_s is None else timeout_s
        try:
            async with asyncio.timeout(timeout_s):
                while not all(ticket.is_done for ticket in tickets):
                    answered.clear()
                    await answered.wait()
        except TimeoutError:
            raise OperationTimeoutError(f"the brokers did not answer within {timeout_s} s") from None
