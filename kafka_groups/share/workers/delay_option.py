"""The option `delay` of a handler: its records run a fixed time after they were written."""

from kafka_groups.errors import ConfigurationError

__all__ = ["LONGEST_DELAY_S", "checked_delay"]

LONGEST_DELAY_S = 604_800
"""A week."""


def checked_delay(delay: object) -> int | None:
    """Return a delay in milliseconds; None without one.

    Raises:
        ConfigurationError: It is not a number of seconds, or out of range.
    """
    if delay is None:
        return None
    # A bool is an int in Python, but `delay=True` is a mistake. The comparison also refuses NaN.
    if isinstance(delay, bool) or not isinstance(delay, int | float) or not 1 <= delay <= LONGEST_DELAY_S:
        raise ConfigurationError(
            f"delay={delay!r}: give the seconds that records wait after their timestamps, 1 to {LONGEST_DELAY_S:,}"
            " (7 days), or None"
        )
    return round(1000 * delay)
