"""The rules for when a record of a topic with a delay may run, and when it moves on instead of waiting in hand."""

import enum
from collections.abc import Callable
from typing import Generic, TypeVar

from attrs import frozen

from kafka_groups.records.confirmed.writes import RecordToWrite
from kafka_groups.share.workers.rules.policy import DeliveryPolicy
from kafka_groups.share.workers.rules.retry_topics.delays import RetryTopic, RetryTopics
from kafka_groups.share.workers.rules.retry_topics.retry_headers import RetryState

__all__ = ["DelayRules", "DelayTurn", "DelayVerdict", "deaths_of", "forward_from"]

R = TypeVar("R")

WriteAgain = Callable[[R, RetryState | None, int, RetryTopic], RecordToWrite]


class DelayTurn(enum.Enum):
    """The next thing that happens to a record of a topic with a delay."""

    RUN = "run"
    """Its time has come."""

    WAIT = "wait"
    """Its delay is not over. It is one of the first of its partition, so few wait like this."""

    REST = "rest"
    """Its delay is over, and it spends the rest of its wait in the process, as that is shorter than any delay."""

    FORWARD = "forward"
    """It is written again, to the topic for the rest of its wait."""


@frozen
class DelayVerdict:
    """A decision about a record of a topic with a delay.

    Attributes:
        turn: What happens to it now.
        at_ms: For records that wait: when to look at them again, in milliseconds since the epoch.
        rest_ms: How long it still has to wait for its next attempt; 0 if its time has come.
    """

    turn: DelayTurn
    at_ms: int
    rest_ms: int


@frozen(kw_only=True)
class DelayRules(Generic[R]):
    """The rules for the records of one topic with a delay: a retry topic, or a topic of a handler with `delay`.

    Times are milliseconds since the epoch, as brokers and other processes set them.

    Attributes:
        delay_ms: How long records wait after their timestamps.
        timestamp_of: Returns the timestamp of a record; None for a record without one.
        state_of: Reads when the next attempt of a record is due, from its headers, and raises a subclass of ValueError
            for a record that cannot be read. None: records have no such headers, and are due when their delay is over.
        retry_topics: Where records that have to wait for longer move to; None keeps them here.
        write_again: Returns a record as it is written to a retry topic, given what its headers say and its deaths in
            all topics. Needed with retry topics.
        forward_from: The first delivery on which a record moves on although its delay is not over.
    """

    delay_ms: int
    timestamp_of: Callable[[R], int | None]
    forward_from: int
    state_of: Callable[[R], RetryState | None] | None = None
    retry_topics: RetryTopics | None = None
    write_again: WriteAgain[R] | None = None

    def due_ms(self, record: R, state: RetryState | None) -> int:
        """Return when the next attempt of a record is due."""
        return self._over_ms(record) if state is None else state.due_ms

    def is_over(self, record: R, state: RetryState | None, wall_ms: int) -> bool:
        """Return whether the delay of the topic is over for a record."""
        return self._looked_at_ms(record, state) <= wall_ms

    def _over_ms(self, record: R) -> int:
        return (self.timestamp_of(record) or 0) + self.delay_ms

    def _looked_at_ms(self, record: R, state: RetryState | None) -> int:
        # The record may have been written late, or the clock of its broker may be ahead. It never waits for longer than
        # its handler has asked for.
        return min(self.due_ms(record, state), self._over_ms(record))

    def judge(self, record: R, state: RetryState | None, delivery_count: int, wall_ms: int) -> DelayVerdict:
        """Return what happens to a record now.

        Args:
            record: The record.
            state: What its headers say; None if it has no such headers.
            delivery_count: The number of its deliveries, this one included.
            wall_ms: The time since the epoch.
        """
        due_ms = self.due_ms(record, state)
        rest_ms = due_ms - wall_ms
        if rest_ms <= 0:
            return DelayVerdict(DelayTurn.RUN, due_ms, 0)
        over_ms = self._looked_at_ms(record, state)
        is_over = over_ms <= wall_ms
        # Each kill, deployment or broken connection costs a record in hand a delivery, and it may be in hand for hours.
        # Written again, its deliveries start from one. A rest below the smallest delay has no topic, and is short.
        has_topic = self.retry_topics is not None and rest_ms >= self.retry_topics.smallest_ms
        if has_topic and (is_over or delivery_count >= self.forward_from):
            return DelayVerdict(DelayTurn.FORWARD, wall_ms, rest_ms)
        if is_over:
            return DelayVerdict(DelayTurn.REST, due_ms, rest_ms)
        return DelayVerdict(DelayTurn.WAIT, over_ms, rest_ms)

    def forwarded(self, record: R, state: RetryState | None, deaths: int, wall_ms: int) -> RecordToWrite | None:
        """Return a record for the topic with the largest delay that is at most the rest of its wait.

        None if the rest has become too short for any topic since `judge` looked.

        Args:
            record: The record.
            state: What its headers say; None if it has no such headers.
            deaths: How often a process died while it ran the record, in all topics.
            wall_ms: The time since the epoch.
        """
        if self.retry_topics is None or self.write_again is None:
            return None
        topic = self.retry_topics.topic_for(self.due_ms(record, state) - wall_ms)
        return None if topic is None else self.write_again(record, state, deaths, topic)


def forward_from(policy: DeliveryPolicy) -> int:
    """Return the first delivery on which a record that waits is written again: one before it would be copied.

    The write may fail, or the process may end during it, so the last two deliveries are not used for this.
    """
    return max(2, policy.copy_from - 1)


def deaths_of(delivery_count: int, policy: DeliveryPolicy, *, was_running: bool) -> int:
    """Return how many of a record's earlier deliveries ended because a process died while it ran the record.

    Args:
        delivery_count: The number of its deliveries, this one included.
        policy: The rules for delivery counts.
        was_running: Whether it is known to have run in a process that was killed.
    """
    # Nobody knows what a process on another machine was running. Most redelivered records only waited there, so they
    # count only on their last two deliveries, where a mistake in the other direction could cost a record.
    assumed = delivery_count - policy.copy_from + 1
    return max(int(was_running), assumed, 0)
