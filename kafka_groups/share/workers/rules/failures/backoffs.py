"""Waits between the attempts of one record."""

import random

from attrs import field, frozen

from kafka_groups.errors import ConfigurationError

__all__ = ["LONGEST_WAIT_IN_PROCESS_S", "LONGEST_WAIT_S", "Backoff"]

LONGEST_WAIT_S = 604_800.0
"""The longest wait of a handler with retry topics: a week."""
LONGEST_WAIT_IN_PROCESS_S = 3_600.0
"""The longest wait of a handler without them, as a record that waits in the process holds back its partition."""
_MOST_TIMES = 1_000
# Many failures in a row would make huge integers, long after the wait has reached its longest.
_MOST_DOUBLINGS = 20


def _check_seconds(backoff: object, name: object, value: object) -> None:
    del backoff
    # A bool is an int in Python, but `first=True` is a mistake. The comparison also refuses NaN.
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LONGEST_WAIT_S:
        label = getattr(name, "name", name)
        raise ConfigurationError(f"Backoff({label}={value!r}): give 0 to {LONGEST_WAIT_S:.0f} seconds")


def _check_times(backoff: object, name: object, value: object) -> None:
    del backoff, name
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST_TIMES:
        raise ConfigurationError(f"Backoff(times={value!r}): give a number of retries from 0 to {_MOST_TIMES}")


def _check_jitter(backoff: object, name: object, value: object) -> None:
    del backoff, name
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
        raise ConfigurationError(f"Backoff(jitter={value!r}): give a share of the wait, from 0 to less than 1")


@frozen
class Backoff:
    """The waits before retries: after `first` seconds, then after twice as long each time.

    Attributes:
        first: Seconds until the first retry, 0 to 3600, and up to 604800 (a week) for a handler with `retry_topics`.
        most: The longest wait in seconds, at least `first`. The same limits apply.
        times: The number of retries with each delivery of the record; 0 to 1000. Retry topics do not start at 0 again.
        jitter: The waits differ at random by up to this share, so that retries spread out.

    Raises:
        ConfigurationError: A value is invalid.
    """

    first: float = field(default=1.0, validator=_check_seconds)
    most: float = field(default=30.0, validator=_check_seconds)
    times: int = field(default=5, validator=_check_times)
    jitter: float = field(default=0.2, validator=_check_jitter)

    def __attrs_post_init__(self) -> None:
        if self.most < self.first:
            raise ConfigurationError(
                f"Backoff(first={self.first!r}, most={self.most!r}): the longest wait must be at least the first"
            )

    def wait_ms(self, failures: int, rng: random.Random) -> int:
        """Return how long to wait after this many failures in a row (1 or more), in ms."""
        growth: int = 2 ** min(failures - 1, _MOST_DOUBLINGS)
        seconds = min(self.most, self.first * growth)
        return round(1000 * seconds * rng.uniform(1 - self.jitter, 1 + self.jitter))

    @property
    def total_s(self) -> float:
        """The sum of all waits in seconds, without jitter."""
        return sum(min(self.most, self.first * float(2 ** min(n, _MOST_DOUBLINGS))) for n in range(self.times))
