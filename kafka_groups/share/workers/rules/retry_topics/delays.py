"""The retry topics of a handler: one topic for each delay, and the topic for a wait."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from attrs import field, frozen

from kafka_groups.errors import ConfigurationError
from kafka_groups.types import is_topic_name

__all__ = ["DEFAULT_DELAYS", "LONGEST_DELAY_S", "RetryTopic", "RetryTopics"]

DEFAULT_DELAYS = (10, 60, 600, 3_600)
LONGEST_DELAY_S = 604_800
"""A week."""
_MOST_DELAYS = 10
_UNITS = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))


class RetryTopic(NamedTuple):
    """One retry topic.

    Attributes:
        topic: The name of the topic.
        delay_ms: How long each of its records waits there at least.
    """

    topic: str
    delay_ms: int


def _as_delays(delays: Sequence[int]) -> tuple[int, ...]:
    return _checked_delays(delays)


def _checked_delays(delays: object) -> tuple[int, ...]:
    form = "give 1 to 10 whole numbers of seconds, ascending, such as (10, 60, 600, 3600)"
    if not isinstance(delays, Sequence) or isinstance(delays, str | bytes) or not 1 <= len(delays) <= _MOST_DELAYS:
        raise ConfigurationError(f"RetryTopics(delays={delays!r}): {form}")
    for delay in delays:
        # A bool is an int in Python, but `delays=(True,)` is a mistake.
        if isinstance(delay, bool) or not isinstance(delay, int) or not 1 <= delay <= LONGEST_DELAY_S:
            raise ConfigurationError(
                f"RetryTopics(delays={delays!r}): {delay!r} is not a whole number of seconds from 1 to"
                f" {LONGEST_DELAY_S:,} (7 days)"
            )
    if list(delays) != sorted(set(delays)):
        raise ConfigurationError(f"RetryTopics(delays={delays!r}): {form}")
    return tuple(delays)


def _name(prefix: str, delay_s: int) -> str:
    """Return the name of a topic, with the delay in its largest whole unit: `.90s`, `.10m`, `.1h`, `.7d`."""
    unit, seconds = next((unit, seconds) for unit, seconds in _UNITS if delay_s % seconds == 0)
    return f"{prefix}.{delay_s // seconds}{unit}"


def _check_names(topics: "RetryTopics", _attribute: object, prefix: Any) -> None:
    # The last delay has not always the longest name: `.90s` is longer than `.1h`.
    for topic in [prefix, *topics.names] if isinstance(prefix, str) else [""]:
        if not is_topic_name(topic):
            raise ConfigurationError(
                f"RetryTopics({prefix!r}): {topic!r} is not the name of a topic: give the beginning of the topics'"
                " names, of ASCII letters, digits, '.', '_' and '-', at most 249 characters with the delay"
            )


@frozen
class RetryTopics:
    """Topics in which records of a handler wait for their next attempt, one for each delay.

    Their names are the prefix, a dot, and the delay in its largest whole unit, such as `orders.retry.10s` and
    `orders.retry.1h`. A wait that is shorter than the smallest delay is spent in the process, as without retry topics.

    Attributes:
        prefix: The beginning of the topics' names. Each handler needs its own.
        delays: The delays in seconds: 1 to 10 whole numbers, ascending, from 1 second to 7 days.

    Raises:
        ConfigurationError: A value is invalid.
    """

    prefix: str = field(validator=_check_names)
    delays: tuple[int, ...] = field(default=DEFAULT_DELAYS, converter=_as_delays)

    @property
    def topics(self) -> Sequence[RetryTopic]:
        """The topics, the shortest delay first."""
        return tuple(RetryTopic(_name(self.prefix, delay), delay * 1_000) for delay in self.delays)

    @property
    def names(self) -> Sequence[str]:
        """The names of the topics, the shortest delay first."""
        return tuple(topic.topic for topic in self.topics)

    @property
    def smallest_ms(self) -> int:
        """The smallest delay. A shorter wait is spent in the process."""
        return self.delays[0] * 1_000

    def topic_for(self, wait_ms: int) -> RetryTopic | None:
        """Return the topic with the largest delay that is at most a wait; None if the process spends it."""
        # A larger delay would start the record late. What is left of the wait after this delay is spent in a topic of a
        # smaller one, or in the process.
        return next((topic for topic in reversed(self.topics) if topic.delay_ms <= wait_ms), None)
