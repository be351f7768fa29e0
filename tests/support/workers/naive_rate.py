"""A rate limit in the plainest way: every time that ends now is looked at, with fractions."""

from fractions import Fraction

from attrs import define, field

from kafka_groups.share.workers.rules.handler_rate import RateRule

__all__ = ["NaiveRate"]


@define
class NaiveRate:
    """Remembers every start.

    Attributes:
        rule: The limit.
        starts: The time and the number of attempts of each.
    """

    rule: RateRule
    starts: list[tuple[int, int]] = field(factory=list)

    def allowed(self, now_ms: int) -> int:
        """Return how many may start now: in no time that ends now are there more than the rate and the burst."""
        rate, total, most = Fraction(self.rule.count, self.rule.period_ms), 0, Fraction(self.rule.burst)
        for since_ms, attempts in reversed(self.starts):
            total += attempts
            most = min(most, self.rule.burst + rate * (now_ms - since_ms) - total)
        return int(most)

    def start(self, attempts: int, now_ms: int) -> None:
        """Note attempts, and check that they may start.

        Raises:
            AssertionError: They are too many.
        """
        assert attempts <= self.allowed(now_ms), f"{attempts} attempts at {now_ms}, after {self.starts[-20:]}"
        self.starts.append((now_ms, attempts))
