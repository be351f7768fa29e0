"""`rate_limit=` of a handler: how many attempts may start in a second, a minute or an hour."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from attrs import field, frozen

from kafka_groups.config.clients.timeouts import checked_seconds
from kafka_groups.errors import ConfigurationError
from kafka_groups.share.workers.rules.handler_rate import RateRule

__all__ = ["RateLimit", "checked_rate_limit", "rate_rule"]

_FORM = re.compile(r"\s*([0-9]{1,9})\s*/\s*([smh])\s*")
_SECONDS: Mapping[str, float] = MappingProxyType({"s": 1.0, "m": 60.0, "h": 3_600.0})
_FORMS = "give '10/s', '100/m', '1000/h' or RateLimit(10, per=1.0, burst=10)"
_MOST = 1_000_000
_SHORTEST_S, _LONGEST_S = 0.001, 86_400.0


@frozen
class RateLimit:
    """A limit of the attempts of a handler that start in a time, in each started worker.

    In any time, no more attempts start than this rate allows, and `burst` more. So `RateLimit(10, burst=1)` starts one
    every 100 ms, and `RateLimit(10)` up to ten together if none has started for a second.

    Attributes:
        count: How many attempts may start in each period, from 1 to 1,000,000.
        per: The length of a period in seconds, from 0.001 to 86,400.
        burst: How many may start together, after a time with fewer, and the most records of a batch. By default those
            of a second, and at least one.

    Raises:
        ConfigurationError: One of them is invalid.
    """

    count: int = field()
    per: float = field(default=1.0, kw_only=True)
    burst: int | None = field(default=None, kw_only=True)

    def __attrs_post_init__(self) -> None:
        _check_count("count", self.count)
        if not _SHORTEST_S <= checked_seconds(self.per, "RateLimit: per") <= _LONGEST_S:
            raise ConfigurationError(
                f"RateLimit: per={self.per!r}: give seconds from {_SHORTEST_S} to {_LONGEST_S:,.0f}"
            )
        if self.burst is not None:
            _check_count("burst", self.burst)


def _check_count(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MOST:
        raise ConfigurationError(f"RateLimit: {name}={value!r}: give a whole number from 1 to {_MOST:,}")


def checked_rate_limit(limit: object) -> RateLimit | None:
    """Return the rate limit of a handler.

    Raises:
        ConfigurationError: It has another form.
    """
    if limit is None or isinstance(limit, RateLimit):
        return limit
    found = _FORM.fullmatch(limit) if isinstance(limit, str) else None
    if found is None or not 1 <= int(found[1]) <= _MOST:
        raise ConfigurationError(f"rate_limit={limit!r}: {_FORMS}")
    return RateLimit(int(found[1]), per=_SECONDS[found[2]])


def rate_rule(limit: RateLimit, processes: int) -> RateRule:
    """Return the limit of one process of a worker: each has the same part of it.

    A burst cannot be divided into less than one attempt for each process.
    """
    # Multiplying the period, and not dividing the count, keeps the numbers whole.
    period_ms = max(1, round(1_000 * limit.per)) * processes
    rule = RateRule(limit.count, period_ms, 1)
    burst = rule.each_second if limit.burst is None else limit.burst // processes
    return RateRule(limit.count, period_ms, max(1, burst))
