"""Records that tell their handler how to behave, and the errors that it raises for them."""

import enum
import random
from collections.abc import Mapping
from types import MappingProxyType
from typing import Self

from attrs import frozen

from kafka_groups.share.workers.rules.failures.backoffs import Backoff
from kafka_groups.share.workers.rules.failures.verdicts import OnError

__all__ = ["ERROR_RULES", "FLAKY", "Job", "JobKind", "SinkBrokenError"]


class JobKind(enum.Enum):
    """What a handler does with a record."""

    GOOD = "good"
    SLOW = "slow"
    STUBBORN = "stubborn"
    """Takes seconds, and ignores being cancelled, as a thread does."""
    HANGING = "hanging"
    """Never ends by itself, if the handler has a timeout."""
    POISON = "poison"
    BAD = "bad"
    """Its handler raises Reject."""
    FLAKY = "flaky"
    """Fails a few times."""
    HARMLESS = "harmless"
    WORTHLESS = "worthless"
    BUSY = "busy"
    """Is released on its first delivery."""
    FATAL = "fatal"
    """Stops its worker on its first delivery."""
    KILLER = "killer"
    """Kills its process on some deliveries, or on all."""


class PoisonError(Exception):
    """The record is bad."""


class HarmlessError(Exception):
    """An error that does not matter."""


class WorthlessError(Exception):
    """The record is not worth a copy."""


class BusyError(Exception):
    """Another worker should have the record."""


class FatalError(Exception):
    """The worker cannot go on."""


class FlakyError(Exception):
    """It works next time."""


class SinkBrokenError(Exception):
    """The sink is down, and says so with an error that is none of `outages`."""


FLAKY = Backoff(first=0.1, most=1, times=3)

ERROR_RULES: Mapping[type[Exception], OnError | Backoff] = MappingProxyType({
    HarmlessError: OnError.ACCEPT,
    WorthlessError: OnError.REJECT,
    BusyError: OnError.RELEASE,
    FatalError: OnError.STOP,
    FlakyError: FLAKY,
})  # fmt: skip

_WEIGHTS: Mapping[JobKind, float] = MappingProxyType({
    JobKind.GOOD: 84,
    JobKind.SLOW: 4,
    JobKind.STUBBORN: 5,
    JobKind.HANGING: 0.5,
    JobKind.POISON: 2,
    JobKind.BAD: 2,
    JobKind.FLAKY: 4,
    JobKind.HARMLESS: 2,
    JobKind.WORTHLESS: 1,
    JobKind.BUSY: 1,
    JobKind.FATAL: 0.4,
    JobKind.KILLER: 0.6,
})  # fmt: skip
_COST_DELIVERIES = (JobKind.BUSY, JobKind.FATAL, JobKind.KILLER)
_MOST = 4
_ALWAYS = 99


@frozen
class Job:
    """The value of a record.

    Attributes:
        kind: What its handler does.
        number: How often it fails, or on how many deliveries it kills. An odd one decides about single records of a
            batch, an even one fails the whole batch.
    """

    kind: JobKind
    number: int

    @classmethod
    def drawn(cls, rng: random.Random, *, spends_deliveries: bool, killers: float = 1) -> Self:
        """Draw a job.

        Args:
            rng: The randomness.
            spends_deliveries: Whether it may end a worker, or be released.
            killers: How many times as often as usual it kills its process.
        """
        kinds = [kind for kind in _WEIGHTS if spends_deliveries or kind not in _COST_DELIVERIES]
        weights = [_WEIGHTS[kind] * (killers if kind is JobKind.KILLER else 1) for kind in kinds]
        [kind] = rng.choices(kinds, weights)
        number = rng.choice((1, 2, _ALWAYS)) if kind is JobKind.KILLER else rng.randrange(1, _MOST)
        return cls(kind, number)

    @classmethod
    def parsed(cls, value: bytes) -> Self:
        """Return the job of a value."""
        kind, number = value.decode().split("/")
        return cls(JobKind(kind), int(number))

    @property
    def value(self) -> str:
        """The value of the record."""
        return f"{self.kind.value}/{self.number}"
