"""Suspects: records that were delivered before, one of which may have ended the process that ran it.

They run in sub-batches. Nothing else starts while a sub-batch runs, and each is acknowledged before the next starts. So
a record that ends the process takes no acknowledgement with it, and costs few others a delivery. Grave suspects run
after all others, each in a sub-batch of its own: those that are known to have been running when a process was killed,
and those on one of their last deliveries.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Generic, TypeVar
from uuid import UUID

from kafka_groups.share.workers.rules.named_suspects import NamedSuspects, RunningRange
from kafka_groups.share.workers.rules.policy import DeliveryPolicy
from kafka_groups.share.workers.rules.steps import OpenRecord

__all__ = ["LONGEST_ALONE_MS", "SuspectRecords"]

R = TypeVar("R")

LONGEST_ALONE_MS = 30_000
"""A sub-batch that takes longer no longer stops others."""


class SuspectRecords(Generic[R]):
    """The sub-batches of suspects, and the one that runs.

    Args:
        policy: Cuts the sub-batches by delivery count.

    Attributes:
        named: The records that were running when a process was killed.
    """

    def __init__(self, policy: DeliveryPolicy) -> None:
        self._policy = policy
        self.named = NamedSuspects()
        self._grave_sub_batches: deque[list[OpenRecord[R]]] = deque()
        self._sub_batches: deque[list[OpenRecord[R]]] = deque()
        self._sub_batch: deque[OpenRecord[R]] = deque()
        self._highest_count = 0
        self._since_ms: int | None = None
        self._is_shared = False
        self._has_begun = False

    def __len__(self) -> int:
        return len(self._sub_batch) + sum(map(len, self._sub_batches)) + len(self._grave_sub_batches)

    def __iter__(self) -> Iterator[OpenRecord[R]]:
        yield from self._sub_batch
        for sub_batch in chain(self._sub_batches, self._grave_sub_batches):
            yield from sub_batch

    def add(self, suspects: Sequence[OpenRecord[R]]) -> None:
        """Add suspects that arrived together."""
        others = [opened for opened in suspects if not self.is_grave(opened)]
        for rows in self._policy.sub_batches([opened.risk_count for opened in others]):
            self._sub_batches.append([others[row] for row in rows])
        if len(others) < len(suspects):
            self._add_grave([opened for opened in suspects if self.is_grave(opened)])

    def is_grave(self, opened: OpenRecord[R]) -> bool:
        """Return whether a record was running when a process was killed, or is on one of its last deliveries."""
        if opened.risk_count >= self._policy.singles_from:
            return True
        return bool(self.named) and opened.place in self.named

    def _add_grave(self, suspects: Sequence[OpenRecord[R]]) -> None:
        # The highest count decides about the order of the grave suspects. It is that of the ones that wait now, so it
        # begins anew once none are left.
        before = self._highest_count if self._grave_sub_batches else 0
        self._highest_count = max((before, *(opened.risk_count for opened in suspects)))
        self._grave_sub_batches.extend([opened] for opened in suspects)
        # Deliveries arrive in any order after a restart. Only a fixed order, reversed with each delivery, makes sure
        # that the records on both sides of a bad one have their turn before their last delivery.
        self._grave_sub_batches = deque(sorted(self._grave_sub_batches, key=_place_of_first))

    def put_back(self, suspects: Iterable[OpenRecord[R]]) -> None:
        """Put back what no slot has started. The rest of the sub-batch waits again until everything is quiet."""
        back = [*suspects, *self._sub_batch]
        self._sub_batch.clear()
        # They have not begun, so they wait again until nothing else runs. As one sub-batch they keep the place that
        # they had.
        if others := [opened for opened in back if not self.is_grave(opened)]:
            self._sub_batches.appendleft(others)
        if grave := [opened for opened in back if self.is_grave(opened)]:
            self._add_grave(grave)  # to those that ask for the process to themselves

    def run_last_deliveries_first(self) -> None:
        """Change the order of the sub-batches: the highest delivery counts go first, because little time is left."""
        sub_batches = chain(self._sub_batches, self._grave_sub_batches)
        self._sub_batches = deque(sorted(sub_batches, key=_highest_count, reverse=True))
        # A stop does not wait for other handlers of the process, so grave suspects become sub-batches like all others.
        self._grave_sub_batches.clear()

    def name(self, ranges: Iterable[RunningRange]) -> None:
        """Remember what was running when a process was killed. Such records that are here already will run alone."""
        self.named.add(ranges)
        self._add_grave(self.remove(lambda opened: opened.place in self.named))

    def is_alone(self, now_ms: int, *, is_quiet: bool) -> bool:
        """Return whether nothing but suspects may start now.

        Args:
            now_ms: The time.
            is_quiet: Whether nothing runs, and nothing waits for the broker's confirmation.
        """
        # The sub-batch has ended: nothing of the handler runs or waits for a confirmation. The next sub-batch has 30
        # seconds of its own.
        if is_quiet and not self._sub_batch:
            self._since_ms, self._is_shared, self._has_begun = None, False, False
        if not self._sub_batch and not self._has_sub_batches and self._since_ms is None:
            return False
        # The time counts from when a sub-batch is due and not from when it starts: the records that it waits for may
        # take long.
        if self._since_ms is None:
            self._since_ms = now_ms
        return not self._is_shared and now_ms - self._since_ms < LONGEST_ALONE_MS

    def begin_anew(self, now_ms: int) -> None:
        """Have the sub-batch wait again until everything is quiet: an open breaker stops all, and lets probes through.

        Others still wait for a suspect that has begun, for as long as if it began now.
        """
        # A suspect that runs may still end the process, so others wait for it. If none has begun, there is nothing to
        # wait for until the next sub-batch is due.
        self._since_ms, self._is_shared = now_ms if self._has_begun else None, False
        if self._sub_batch:
            self._sub_batches.appendleft(list(self._sub_batch))
            self._sub_batch.clear()

    @property
    def others_resume_ms(self) -> int | None:
        """The time when others start again even if the sub-batch still runs; None if no sub-batch is due."""
        return None if self._since_ms is None else self._since_ms + LONGEST_ALONE_MS

    def take(self, now_ms: int, *, is_quiet: bool) -> OpenRecord[R] | None:
        """Take the next suspect that may start; None if it has to wait until everything is quiet.

        A sub-batch that has waited for 30 s starts alongside other records. With slow handlers, it might otherwise
        never start.
        """
        # A sub-batch starts when the one before is acknowledged. Otherwise a record that ends the process would take
        # acknowledgements of good records with it, and these would lose a delivery.
        if not self._sub_batch and self._has_sub_batches and (is_quiet or self._is_overdue(now_ms)):
            self._sub_batch.extend(self._next_sub_batch())
        self._has_begun |= bool(self._sub_batch)
        return self._sub_batch.popleft() if self._sub_batch else None

    def _is_overdue(self, now_ms: int) -> bool:
        if self._since_ms is None or now_ms - self._since_ms < LONGEST_ALONE_MS:
            return False
        # From now on it runs beside others, and so does the next one in 30 seconds if this one has not ended.
        self._since_ms, self._is_shared = now_ms, True
        return True

    def take_any(self) -> OpenRecord[R] | None:
        """Take a suspect without waiting, for a probe. The rest of its sub-batch has not begun."""
        if not self._has_sub_batches:
            return None
        taken, *rest = self._next_sub_batch()
        if rest:
            self._sub_batches.appendleft(rest)
        return taken

    @property
    def _has_sub_batches(self) -> bool:
        return bool(self._sub_batches or self._grave_sub_batches)

    def _next_sub_batch(self) -> list[OpenRecord[R]]:
        # Grave suspects are last. Each is more likely to end the process than all the others, which are done by then.
        if self._sub_batches:
            return self._sub_batches.popleft()
        return self._grave_sub_batches.pop() if self._takes_last else self._grave_sub_batches.popleft()

    @property
    def _takes_last(self) -> bool:
        """True if the grave suspects run in reverse order: else those behind a bad record would never run.

        The order is that of their places, as partitions arrive in any order after a restart.
        """
        return self.highest_count % 2 == 1

    @property
    def highest_count(self) -> int:
        """The highest delivery count of the grave suspects."""
        return self._highest_count if self._grave_sub_batches else 0

    @property
    def has_grave(self) -> bool:
        """True while there are suspects that need the process to themselves."""
        return bool(self._grave_sub_batches)

    @property
    def are_only_grave(self) -> bool:
        """True if all suspects need the process to themselves, so that none can run now."""
        return not self._sub_batch and not self._sub_batches

    @property
    def is_next_grave(self) -> bool:
        """True if the next suspect that starts needs the process to itself."""
        return self.are_only_grave and bool(self._grave_sub_batches)

    def remove(self, matches: Callable[[OpenRecord[R]], bool]) -> list[OpenRecord[R]]:
        """Remove the suspects that match, and return them."""
        removed = [opened for opened in self if matches(opened)]
        if removed:
            self._sub_batch = deque(_others(self._sub_batch, matches))
            self._sub_batches = _sub_batches_left(self._sub_batches, matches)
            self._grave_sub_batches = _sub_batches_left(self._grave_sub_batches, matches)
        if not self and not self._has_begun:  # so that the next one does not inherit their wait
            self._since_ms, self._is_shared = None, False
        return removed


def _highest_count(sub_batch: Iterable[OpenRecord[R]]) -> int:
    return max(opened.risk_count for opened in sub_batch)


def _place_of_first(sub_batch: Sequence[OpenRecord[R]]) -> tuple[UUID, int, int]:
    partition, offset = sub_batch[0].place
    return partition.topic_id, partition.partition, offset


def _others(sub_batch: Iterable[OpenRecord[R]], matches: Callable[[OpenRecord[R]], bool]) -> list[OpenRecord[R]]:
    return [opened for opened in sub_batch if not matches(opened)]


def _sub_batches_left(
    sub_batches: Iterable[Sequence[OpenRecord[R]]], matches: Callable[[OpenRecord[R]], bool]
) -> deque[list[OpenRecord[R]]]:
    return deque(rest for sub_batch in sub_batches if (rest := _others(sub_batch, matches)))
