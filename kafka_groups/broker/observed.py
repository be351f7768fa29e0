"""A share group as tests see it: what it accepted, released and rejected, its lag, and waits for all of these."""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, Protocol, TypeVar
from uuid import UUID

from attrs import field, frozen

from kafka_groups.broker.node import ClusterParts
from kafka_groups.broker.producing import Payload, encoded
from kafka_groups.broker.share.history import DeliveryOutcome, Ended
from kafka_groups.broker.share.state_log import UNINITIALIZED_OFFSET
from kafka_groups.errors import OperationTimeoutError
from kafka_groups.protocol.record_batch import Record, iter_batches
from kafka_groups.types import Header, TopicIdPartition

__all__ = ["EndedDelivery", "ObservedGroup", "OnLoop"]

T = TypeVar("T")

DEFAULT_TIMEOUT_S = 10.0
_LOOK_AGAIN_S = 0.25
"""Lag and members are not announced by the history; a wait looks at them this often."""


class OnLoop(Protocol):
    """Runs a function where the brokers' state may be read, and returns its result."""

    def __call__(self, action: Callable[[], T]) -> T:
        """The function's result."""
        ...


@frozen
class EndedDelivery:
    """A record whose delivery ended, and the record itself.

    Attributes:
        topic: The topic.
        partition: The partition.
        offset: The offset.
        key: The key's bytes, or None.
        value: The value's bytes, or None.
        headers: The headers.
        delivery_count: How often the record had been delivered, this time included.
    """

    topic: str
    partition: int
    offset: int
    key: bytes | None = field(repr=False)
    value: bytes | None
    headers: tuple[Header, ...] = field(repr=False)
    delivery_count: int


@frozen
class _Wait:
    """What a wait is for.

    Attributes:
        what: In words, after "group 'g' did not".
        is_over: Whether it is there.
        progress: How far it is, in words.
    """

    what: str
    is_over: Callable[[], bool]
    progress: Callable[[], str]


class ObservedGroup:
    """One share group of an embedded cluster, from the brokers' side; `EmbeddedCluster.group` makes it.

    It shows all deliveries that ended since the cluster started, for all members. A record that was released twice is
    listed twice. The `wait_until_…` methods block and are for the `with` form of the cluster; in the
    `async with` form, await the methods that end in `_async`.

    Args:
        group_id: The group; it need not exist yet.
        parts: The cluster's.
        on_loop: Runs a function on the brokers' event loop.
        may_block: Whether the brokers have a thread of their own; raises if not.
    """

    def __init__(self, group_id: str, parts: ClusterParts, on_loop: OnLoop, may_block: Callable[[], object]) -> None:
        self.group_id = group_id
        self._parts = parts
        self._on_loop = on_loop
        self._may_block = may_block

    def __repr__(self) -> str:
        return f"<ObservedGroup {self.group_id}>"

    # ------------------------------------------------------------------------------------------- questions

    @property
    def accepted(self) -> list[EndedDelivery]:
        """The records that the group accepted, in the order of their acknowledgement."""
        return self._ended(DeliveryOutcome.ACCEPTED)

    @property
    def released(self) -> list[EndedDelivery]:
        """The deliveries that the group released, or whose lock expired, and that are followed by another."""
        return self._ended(DeliveryOutcome.RELEASED)

    @property
    def rejected(self) -> list[EndedDelivery]:
        """The records that the group rejected."""
        return self._ended(DeliveryOutcome.REJECTED)

    @property
    def archived(self) -> list[EndedDelivery]:
        """The records that were given up because their last delivery was released or its lock expired."""
        return self._ended(DeliveryOutcome.ARCHIVED)

    @property
    def lag(self) -> int | None:
        """How many records are neither accepted, rejected nor archived; None as long as that is not known.

        A group that begins with the latest records has a position in a partition that is not empty once one of its
        members acknowledged a record there. A group without members has had none so far.
        """
        return self._on_loop(self._lag)

    @property
    def members(self) -> list[str]:
        """The ids of the members."""
        return self._on_loop(self._members)

    # --------------------------------------------------------------------------------------------- waiting

    def wait_until_accepted(
        self, wanted: int | Iterable[Payload], *, timeout: float = DEFAULT_TIMEOUT_S
    ) -> list[EndedDelivery]:
        """Wait until the group accepted records, and return all that it accepted.

        Args:
            wanted: How many records in total, or the values of records that must be among them.
            timeout: Longest wait, in seconds.

        Raises:
            OperationTimeoutError: It did not; the message says what it did instead.
        """
        self._block(self._for_outcome(DeliveryOutcome.ACCEPTED, wanted), timeout)
        return self.accepted

    def wait_until_released(
        self, wanted: int | Iterable[Payload], *, timeout: float = DEFAULT_TIMEOUT_S
    ) -> list[EndedDelivery]:
        """Wait until deliveries were released, as `wait_until_accepted`; also by an expired lock or a closed consumer.

        Args:
            wanted: How many deliveries in total, or the values of records that must be among them.
            timeout: Longest wait, in seconds.

        Raises:
            OperationTimeoutError: They were not.
        """
        self._block(self._for_outcome(DeliveryOutcome.RELEASED, wanted), timeout)
        return self.released

    def wait_until_rejected(
        self, wanted: int | Iterable[Payload], *, timeout: float = DEFAULT_TIMEOUT_S
    ) -> list[EndedDelivery]:
        """Wait until the group rejected records, as `wait_until_accepted`.

        Args:
            wanted: How many records in total, or the values of records that must be among them.
            timeout: Longest wait, in seconds.

        Raises:
            OperationTimeoutError: It did not.
        """
        self._block(self._for_outcome(DeliveryOutcome.REJECTED, wanted), timeout)
        return self.rejected

    def wait_until_archived(
        self, wanted: int | Iterable[Payload], *, timeout: float = DEFAULT_TIMEOUT_S
    ) -> list[EndedDelivery]:
        """Wait until records were given up after their last delivery, as `wait_until_accepted`.

        Args:
            wanted: How many records in total, or the values of records that must be among them.
            timeout: Longest wait, in seconds.

        Raises:
            OperationTimeoutError: They were not.
        """
        self._block(self._for_outcome(DeliveryOutcome.ARCHIVED, wanted), timeout)
        return self.archived

    def wait_until_lag(self, at_most: int = 0, *, timeout: float = DEFAULT_TIMEOUT_S) -> None:
        """Wait until the group's lag is known and no larger than this.

        Args:
            at_most: The largest lag that ends the wait.
            timeout: Longest wait, in seconds.

        Raises:
            OperationTimeoutError: It is still larger, or the group has no position.
        """
        self._block(self._for_lag(at_most), timeout)

    def wait_until_members(self, count: int, *, timeout: float = DEFAULT_TIMEOUT_S) -> list[str]:
        """Wait until the group has exactly so many members, and return their ids.

        Args:
            count: How many.
            timeout: Longest wait, in seconds.

        Raises:
            OperationTimeoutError: It has more or fewer.
        """
        self._block(self._for_members(count), timeout)
        return self.members

    async def wait_until_accepted_async(
        self, wanted: int | Iterable[Payload], *, within: float = DEFAULT_TIMEOUT_S
    ) -> list[EndedDelivery]:
        """As `wait_until_accepted`; `within` is its timeout, in seconds."""
        await self._wait(self._for_outcome(DeliveryOutcome.ACCEPTED, wanted), within)
        return self.accepted

    async def wait_until_released_async(
        self, wanted: int | Iterable[Payload], *, within: float = DEFAULT_TIMEOUT_S
    ) -> list[EndedDelivery]:
        """As `wait_until_released`; `within` is its timeout, in seconds."""
        await self._wait(self._for_outcome(DeliveryOutcome.RELEASED, wanted), within)
        return self.released

    async def wait_until_rejected_async(
        self, wanted: int | Iterable[Payload], *, within: float = DEFAULT_TIMEOUT_S
    ) -> list[EndedDelivery]:
        """As `wait_until_rejected`; `within` is its timeout, in seconds."""
        await self._wait(self._for_outcome(DeliveryOutcome.REJECTED, wanted), within)
        return self.rejected

    async def wait_until_archived_async(
        self, wanted: int | Iterable[Payload], *, within: float = DEFAULT_TIMEOUT_S
    ) -> list[EndedDelivery]:
        """As `wait_until_archived`; `within` is its timeout, in seconds."""
        await self._wait(self._for_outcome(DeliveryOutcome.ARCHIVED, wanted), within)
        return self.archived

    async def wait_until_lag_async(self, at_most: int = 0, *, within: float = DEFAULT_TIMEOUT_S) -> None:
        """As `wait_until_lag`; `within` is its timeout, in seconds."""
        await self._wait(self._for_lag(at_most), within)

    async def wait_until_members_async(self, count: int, *, within: float = DEFAULT_TIMEOUT_S) -> list[str]:
        """As `wait_until_members`; `within` is its timeout, in seconds."""
        await self._wait(self._for_members(count), within)
        return self.members

    # --------------------------------------------------------------------------------------------- insides

    def _for_outcome(self, outcome: DeliveryOutcome, wanted: int | Iterable[Payload]) -> _Wait:
        if isinstance(wanted, int):
            return _Wait(
                f"had {wanted} records {outcome.value}",
                lambda: _count(self._runs(outcome)) >= wanted,
                lambda: f"it had {_count(self._runs(outcome))}",
            )
        values = Counter(encoded("wanted", value) for value in _listed(wanted))
        return _Wait(
            f"had the records {sorted(values.elements(), key=repr)} {outcome.value}",
            lambda: not values - self._values(outcome),
            lambda: f"missing are {sorted((values - self._values(outcome)).elements(), key=repr)}",
        )

    def _for_lag(self, at_most: int) -> _Wait:
        def is_over() -> bool:
            lag = self._lag()
            return lag is not None and lag <= at_most

        return _Wait(f"reached a lag of {at_most} or less", is_over, lambda: f"its lag is {_shown(self._lag())}")

    def _for_members(self, count: int) -> _Wait:
        return _Wait(
            f"had {count} members", lambda: len(self._members()) == count, lambda: f"it has {len(self._members())}"
        )

    def _block(self, wait: _Wait, timeout_s: float) -> None:
        self._may_block()
        clock, changed = self._parts.clock, threading.Event()
        deadline_ms = clock.now_ms() + round(timeout_s * 1000)
        stop_listening = self._on_loop(lambda: self._parts.share_state.history.on_change(changed.set))
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
        stop_listening = self._parts.share_state.history.on_change(changed.set)
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
        runs = self._parts.share_state.history.of(self.group_id)
        lines = [f"group '{self.group_id}' has not {wait.what} within {timeout_s} s: {wait.progress()}"]
        lines += [
            f"  {outcome.value}: {_ranges([r for r in runs if r.outcome is outcome])}" for outcome in DeliveryOutcome
        ]
        lines.append(f"  lag: {_shown(self._lag())}")
        lines.append(f"  members: {', '.join(self._members()) or 'none'}")
        return "\n".join(lines)

    def _runs(self, outcome: DeliveryOutcome) -> list[Ended]:
        return [run for run in self._parts.share_state.history.of(self.group_id) if run.outcome is outcome]

    def _ended(self, outcome: DeliveryOutcome) -> list[EndedDelivery]:
        return self._on_loop(lambda: [each for run in self._runs(outcome) for each in self._records(run)])

    def _values(self, outcome: DeliveryOutcome) -> Counter[bytes | None]:
        return Counter(each.value for run in self._runs(outcome) for each in self._records(run))

    def _records(self, run: Ended) -> list[EndedDelivery]:
        return [
            EndedDelivery(
                run.partition.topic or str(run.partition.topic_id),
                run.partition.partition,
                record.offset,
                record.key,
                record.value,
                tuple(record.headers),
                run.delivery_count,
            )
            for record in self._in_log(run.partition, run.first, run.last)
        ]

    def _in_log(self, partition: TopicIdPartition, first: int, last: int) -> list[Record]:
        if self._parts.metadata.partition(partition.topic_id, partition.partition) is None:
            return []
        log = self._parts.logs.get(partition.topic_id, partition.partition)
        first = max(first, log.log_start_offset)
        if first > last:
            return []
        found = log.read(first, 2**62, before_offset=last + 1)
        records = (record for batch in iter_batches(found.records) for record in batch.records())
        return [record for record in records if first <= record.offset <= last]

    def _lag(self) -> int | None:
        initialized = self._parts.groups.initialized_partitions(self.group_id)
        lags = [self._lag_in(topic_id, number) for topic_id, numbers in initialized.items() for number in numbers]
        known = [lag for lag in lags if lag is not None]
        return sum(known) if lags and len(known) == len(lags) else None

    def _lag_in(self, topic_id: UUID, partition: int) -> int | None:
        log = self._parts.logs.get(topic_id, partition)
        state = self._parts.share_state.summary(self.group_id, topic_id, partition)
        if state is not None and state.start_offset != UNINITIALIZED_OFFSET:
            return log.high_watermark - state.start_offset - state.delivery_complete_count
        from_the_start = self._parts.group_configs(self.group_id).auto_offset_reset == "earliest"
        return log.high_watermark - log.log_start_offset if from_the_start or len(log) == 0 else None

    def _members(self) -> list[str]:
        group = self._parts.groups.groups.get(self.group_id)
        return [] if group is None else sorted(group.members)


async def _any(changed: Coroutine[Any, Any, object]) -> None:
    """Wait for a change, or until it is time to look again."""
    try:
        async with asyncio.timeout(_LOOK_AGAIN_S):
            await changed
    except TimeoutError:
        return


def _listed(wanted: Iterable[Payload]) -> list[Payload]:
    if isinstance(wanted, bytes | str):
        raise TypeError(f"wanted={wanted!r}: give a number, or a list of values such as [{wanted!r}]")
    return list(wanted)


def _count(runs: Sequence[Ended]) -> int:
    return sum(run.last - run.first + 1 for run in runs)


def _ranges(runs: Sequence[Ended]) -> str:
    shown = [f"{run.partition}: {run.first}" + (f"-{run.last}" if run.last > run.first else "") for run in runs[-10:]]
    return f"{_count(runs)} ({'…, ' if len(runs) > 10 else ''}{', '.join(shown)})" if runs else "none"


def _shown(lag: int | None) -> str:
    return "not known, as the group has no position yet" if lag is None else str(lag)
