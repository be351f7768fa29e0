"""Lets tests inspect a share group: what it accepted, released and rejected, its lag, and waits for each of these."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Protocol, TypeVar

from attrs import frozen

from kafka_groups.broker.group_view import EndedDelivery, GroupView, InFlightRecords
from kafka_groups.broker.producing import Payload, encoded
from kafka_groups.broker.queued_letters import QueuedLetter
from kafka_groups.broker.runtime.parts import ClusterParts
from kafka_groups.broker.share_partitions.history import DeliveryOutcome
from kafka_groups.errors import OperationTimeoutError
from kafka_groups.net.wake_up import WakeUp

__all__ = ["ObservedGroup", "OnLoop"]

T = TypeVar("T")

DEFAULT_TIMEOUT_S = 10.0
_LOOK_AGAIN_S = 0.25
"""The history does not announce changes of lag and members, so a wait checks them this often."""


class OnLoop(Protocol):
    """Runs functions where the brokers' state may be read."""

    def __call__(self, action: Callable[[], T]) -> T:
        """Run the function and return its result."""
        ...


@frozen
class _Wait:
    """A condition to wait for.

    Attributes:
        what: The condition in words, after "waiting for".
        is_over: Tells whether the condition holds.
        progress: Describes how far the group is, in a sentence without its full stop.
    """

    what: str
    is_over: Callable[[], bool]
    progress: Callable[[], str]


class ObservedGroup:
    """One share group of an embedded cluster, as its brokers see it. `EmbeddedCluster.group` creates it.

    It shows the deliveries to all members that ended since the cluster started. A record that was released twice is
    listed twice. The `wait_until_…` methods block, so use them with a cluster that you started with `with`. If you
    started it with `async with`, await the methods that end in `_async`.

    Args:
        group_id: The group. It need not exist yet.
        parts: The cluster's state.
        on_loop: Runs a function on the brokers' event loop.
        may_block: Raises an error if blocking would stop the brokers, because they run on the caller's event loop.
    """

    def __init__(self, group_id: str, parts: ClusterParts, on_loop: OnLoop, may_block: Callable[[], object]) -> None:
        self.group_id = group_id
        self._parts = parts
        self._view = GroupView(group_id, parts)
        self._on_loop = on_loop
        self._may_block = may_block

    def __repr__(self) -> str:
        return f"<ObservedGroup {self.group_id}>"

    # ------------------------------------------------------------------------------------------- questions

    @property
    def accepted(self) -> list[EndedDelivery]:
        """The records that the group accepted, in the order in which they were acknowledged."""
        return self._ended(DeliveryOutcome.ACCEPTED)

    @property
    def released(self) -> list[EndedDelivery]:
        """The deliveries that ended with a release or an expired lock, so that the record is delivered again."""
        return self._ended(DeliveryOutcome.RELEASED)

    @property
    def rejected(self) -> list[EndedDelivery]:
        """The records that the group rejected."""
        return self._ended(DeliveryOutcome.REJECTED)

    @property
    def archived(self) -> list[EndedDelivery]:
        """The records that are not redelivered because their last allowed delivery was released or its lock expired."""
        return self._ended(DeliveryOutcome.ARCHIVED)

    @property
    def dead_lettered(self) -> list[EndedDelivery]:
        """The records of which the brokers have written dead letters. They are in `rejected` or `archived`, too."""
        return self._ended(DeliveryOutcome.DEAD_LETTERED)

    @property
    def dead_letters(self) -> list[QueuedLetter]:
        """The dead letters that the brokers wrote to the group's queue, sorted by partition and offset in the queue.

        The queue is the one that the group's `errors.deadletterqueue.topic.name` names now. A record may have several
        letters, for example after its partition has moved to another broker.
        """
        return self._on_loop(self._view.dead_letters)

    @property
    def in_flight(self) -> list[InFlightRecords]:
        """The records that are in flight now, as runs of offsets with the same state, sorted by partition and offset.

        A run is acquired by a member, released and available again, or finished and waiting for records before it.
        Empty before the first fetch, and again after a partition has moved to another broker, until the next fetch.
        """
        return self._on_loop(self._view.in_flight)

    @property
    def lag(self) -> int | None:
        """The number of records that are not accepted, rejected or archived yet; None if the lag is unknown.

        The lag is unknown until the group has had a member. If the group starts at the latest records, the lag of a
        partition that already has records is unknown until a member acknowledges a record there.
        """
        return self._on_loop(self._view.lag)

    @property
    def members(self) -> list[str]:
        """The ids of the members."""
        return self._on_loop(self._view.members)

    # --------------------------------------------------------------------------------------------- waiting

    def wait_until_accepted(
        self, wanted: int | Iterable[Payload], *, timeout: float = DEFAULT_TIMEOUT_S
    ) -> list[EndedDelivery]:
        """Wait until the group has accepted records, and return all that it has accepted.

        Args:
            wanted: How many records to wait for in total, or the values of records that must be among them.
            timeout: Longest wait, in seconds.

        Raises:
            OperationTimeoutError: The wait timed out. The message shows what the group did instead.
        """
        return self._block_for(DeliveryOutcome.ACCEPTED, wanted, timeout)

    def wait_until_released(
        self, wanted: int | Iterable[Payload], *, timeout: float = DEFAULT_TIMEOUT_S
    ) -> list[EndedDelivery]:
        """Wait until deliveries end with a release or an expired lock, and return all that have.

        Args:
            wanted: How many deliveries to wait for in total, or the values of records that must be among them.
            timeout: Longest wait, in seconds.

        Raises:
            OperationTimeoutError: The wait timed out. The message shows what the group did instead.
        """
        return self._block_for(DeliveryOutcome.RELEASED, wanted, timeout)

    def wait_until_rejected(
        self, wanted: int | Iterable[Payload], *, timeout: float = DEFAULT_TIMEOUT_S
    ) -> list[EndedDelivery]:
        """Wait until the group has rejected records, and return all that it has rejected.

        Args:
            wanted: How many records to wait for in total, or the values of records that must be among them.
            timeout: Longest wait, in seconds.

        Raises:
            OperationTimeoutError: The wait timed out. The message shows what the group did instead.
        """
        return self._block_for(DeliveryOutcome.REJECTED, wanted, timeout)

    def wait_until_archived(
        self, wanted: int | Iterable[Payload], *, timeout: float = DEFAULT_TIMEOUT_S
    ) -> list[EndedDelivery]:
        """Wait until records are archived after their last delivery, and return all that are.

        Args:
            wanted: How many records to wait for in total, or the values of records that must be among them.
            timeout: Longest wait, in seconds.

        Raises:
            OperationTimeoutError: The wait timed out. The message shows what the group did instead.
        """
        return self._block_for(DeliveryOutcome.ARCHIVED, wanted, timeout)

    def wait_until_dead_lettered(
        self, wanted: int | Iterable[Payload], *, timeout: float = DEFAULT_TIMEOUT_S
    ) -> list[EndedDelivery]:
        """Wait until the brokers have written dead letters, and return all records that have one.

        Args:
            wanted: How many records to wait for in total, or the values of records that must be among them.
            timeout: Longest wait, in seconds.

        Raises:
            OperationTimeoutError: The wait timed out. The message shows what the group did instead.
        """
        return self._block_for(DeliveryOutcome.DEAD_LETTERED, wanted, timeout)

    def wait_until_lag(self, at_most: int = 0, *, timeout: float = DEFAULT_TIMEOUT_S) -> None:
        """Wait until the group's lag is known and at most this large.

        Args:
            at_most: The largest lag that ends the wait.
            timeout: Longest wait, in seconds.

        Raises:
            OperationTimeoutError: The lag is still larger or unknown.
        """
        self._block(self._for_lag(at_most), timeout)

    def wait_until_members(self, count: int, *, timeout: float = DEFAULT_TIMEOUT_S) -> list[str]:
        """Wait until the group has exactly this many members, and return their ids.

        Args:
            count: The number of members.
            timeout: Longest wait, in seconds.

        Raises:
            OperationTimeoutError: The group has more or fewer members.
        """
        self._block(self._for_members(count), timeout)
        return self.members

    async def wait_until_accepted_async(
        self, wanted: int | Iterable[Payload], *, within: float = DEFAULT_TIMEOUT_S
    ) -> list[EndedDelivery]:
        """Like `wait_until_accepted`, with `within` as the longest wait in seconds."""
        return await self._wait_for(DeliveryOutcome.ACCEPTED, wanted, within)

    async def wait_until_released_async(
        self, wanted: int | Iterable[Payload], *, within: float = DEFAULT_TIMEOUT_S
    ) -> list[EndedDelivery]:
        """Like `wait_until_released`, with `within` as the longest wait in seconds."""
        return await self._wait_for(DeliveryOutcome.RELEASED, wanted, within)

    async def wait_until_rejected_async(
        self, wanted: int | Iterable[Payload], *, within: float = DEFAULT_TIMEOUT_S
    ) -> list[EndedDelivery]:
        """Like `wait_until_rejected`, with `within` as the longest wait in seconds."""
        return await self._wait_for(DeliveryOutcome.REJECTED, wanted, within)

    async def wait_until_archived_async(
        self, wanted: int | Iterable[Payload], *, within: float = DEFAULT_TIMEOUT_S
    ) -> list[EndedDelivery]:
        """Like `wait_until_archived`, with `within` as the longest wait in seconds."""
        return await self._wait_for(DeliveryOutcome.ARCHIVED, wanted, within)

    async def wait_until_dead_lettered_async(
        self, wanted: int | Iterable[Payload], *, within: float = DEFAULT_TIMEOUT_S
    ) -> list[EndedDelivery]:
        """Like `wait_until_dead_lettered`, with `within` as the longest wait in seconds."""
        return await self._wait_for(DeliveryOutcome.DEAD_LETTERED, wanted, within)

    async def wait_until_lag_async(self, at_most: int = 0, *, within: float = DEFAULT_TIMEOUT_S) -> None:
        """Like `wait_until_lag`, with `within` as the longest wait in seconds."""
        await self._wait(self._for_lag(at_most), within)

    async def wait_until_members_async(self, count: int, *, within: float = DEFAULT_TIMEOUT_S) -> list[str]:
        """Like `wait_until_members`, with `within` as the longest wait in seconds."""
        await self._wait(self._for_members(count), within)
        return self.members

    # --------------------------------------------------------------------------------------------- insides

    def _block_for(
        self, outcome: DeliveryOutcome, wanted: int | Iterable[Payload], timeout_s: float
    ) -> list[EndedDelivery]:
        self._block(self._for_outcome(outcome, wanted), timeout_s)
        return self._ended(outcome)

    async def _wait_for(
        self, outcome: DeliveryOutcome, wanted: int | Iterable[Payload], timeout_s: float
    ) -> list[EndedDelivery]:
        await self._wait(self._for_outcome(outcome, wanted), timeout_s)
        return self._ended(outcome)

    def _for_outcome(self, outcome: DeliveryOutcome, wanted: int | Iterable[Payload]) -> _Wait:
        if isinstance(wanted, int):
            return _Wait(
                f"{wanted} record{'' if wanted == 1 else 's'} to be {outcome.value}",
                lambda: self._view.count(outcome) >= wanted,
                lambda: f"So far: {self._view.count(outcome)}",
            )
        values = Counter(encoded("wanted", value) for value in _listed(wanted))
        return _Wait(
            f"the records {sorted(values.elements(), key=repr)} to be {outcome.value}",
            lambda: not values - self._view.values(outcome),
            lambda: f"Missing: {sorted((values - self._view.values(outcome)).elements(), key=repr)}",
        )

    def _for_lag(self, at_most: int) -> _Wait:
        def is_over() -> bool:
            lag = self._view.lag()
            return lag is not None and lag <= at_most

        return _Wait(f"a lag of {at_most} or less", is_over, lambda: f"The lag is {self._view.lag_shown()}")

    def _for_members(self, count: int) -> _Wait:
        return _Wait(
            f"exactly {count} member{'' if count == 1 else 's'}",
            lambda: len(self._view.members()) == count,
            lambda: f"The group has {len(self._view.members())}",
        )

    def _block(self, wait: _Wait, timeout_s: float) -> None:
        self._may_block()
        clock, changed = self._parts.clock, WakeUp()
        deadline_ms = clock.now_ms() + round(timeout_s * 1000)
        stop_listening = self._on_loop(lambda: self._parts.history.on_change(changed.set))
        try:
            while not self._on_loop(wait.is_over):
                remaining_s = (deadline_ms - clock.now_ms()) / 1000
                if remaining_s <= 0:
                    raise OperationTimeoutError(self._on_loop(lambda: self._failure(wait, timeout_s)))
                changed.wait(min(remaining_s, _LOOK_AGAIN_S))
                changed.clear()
        finally:
            self._on_loop(stop_listening)

    async def _wait(self, wait: _Wait, timeout_s: float) -> None:
        changed = asyncio.Event()
        stop_listening = self._parts.history.on_change(changed.set)
        try:
            async with asyncio.timeout(timeout_s):
                while not wait.is_over():
                    await _any(changed.wait())
                    changed.clear()
        except TimeoutError:
            raise OperationTimeoutError(self._failure(wait, timeout_s)) from None
        finally:
            stop_listening()

    def _failure(self, wait: _Wait, timeout_s: float) -> str:
        timed_out = f"Group '{self.group_id}': timed out after {timeout_s:g} s waiting for {wait.what}."
        return f"{timed_out} {wait.progress()}.\n{self._view.report()}"

    def _ended(self, outcome: DeliveryOutcome) -> list[EndedDelivery]:
        return self._on_loop(lambda: self._view.deliveries(outcome))


async def _any(changed: Coroutine[Any, Any, object]) -> None:
    """Wait for a change, or until it is time to check again."""
    try:
        async with asyncio.timeout(_LOOK_AGAIN_S):
            await changed
    except TimeoutError:
        return


def _listed(wanted: Iterable[Payload]) -> list[Payload]:
    if isinstance(wanted, bytes | str):
        raise TypeError(f"wanted={wanted!r}: use a number, or a list of values such as [{wanted!r}]")
    return list(wanted)
