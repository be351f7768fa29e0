"""What a run of retry topics is like: its delays, its records, and what strikes."""

import random
from collections.abc import Sequence
from typing import Self

from attrs import frozen

from kafka_groups.testing.simulation import SeededFaults

__all__ = ["LETTERS", "PREFIX", "TOPIC", "RetryPlan"]

TOPIC, LETTERS, PREFIX = "orders", "orders.dead", "orders.retry"

_DAY_S, _HOUR_S = 86_400, 3_600
_EACH_DAY, _EACH_HOUR = 25, 20
"""One of so many seeds has a delay of a day, or of an hour: its run takes longer."""
_DELAYS = ((10, 60), (2, 20), (10, 120), (10, 60, 300))
_DEPLOYMENTS = 9
_ENDS_AT = 2.2


@frozen(kw_only=True)
class RetryPlan:
    """One run.

    Attributes:
        delays: The delays in seconds.
        partitions: Of each topic.
        processes: The worker processes.
        concurrency: Of the handler.
        deploys: Whether all processes are stopped and started again nine times while one record waits for its longest.
        kill_s: The mean time between two kills; None without kills.
        outage_s: The mean time between two outages of the topics that the worker writes; None without any.
        breaks_brokers: Whether leaders move, brokers end and connections break.
    """

    delays: tuple[int, ...]
    partitions: int
    processes: int
    concurrency: int
    deploys: bool
    kill_s: float | None
    outage_s: float | None
    breaks_brokers: bool

    @classmethod
    def drawn(cls, seed: int, rng: random.Random) -> Self:
        """Draw a run."""
        delays = rng.choice(_DELAYS)
        if seed % _EACH_DAY == 0:
            delays = (600, _HOUR_S, _DAY_S)
        elif seed % _EACH_HOUR == 0:
            delays = (60, 600, _HOUR_S)
        longest_s = delays[-1]
        return cls(
            delays=delays,
            partitions=rng.choice((1, 2, 3)),
            processes=1 if longest_s >= _HOUR_S else rng.choice((1, 2)),
            concurrency=rng.choice((1, 4, 20)),
            deploys=seed % 2 == 0 or longest_s >= _HOUR_S,
            kill_s=rng.choice((None, longest_s / 4, longest_s / 20)),
            outage_s=rng.choice((None, longest_s / 3)),
            breaks_brokers=rng.random() < 0.5,
        )

    @property
    def longest_s(self) -> float:
        """The longest wait of a record."""
        return self.delays[-1] * 1.5

    @property
    def deployment_s(self) -> float:
        """The time between two deployments."""
        return self.longest_s / _DEPLOYMENTS

    @property
    def faulty_s(self) -> float:
        """For how long something strikes."""
        return self.longest_s * _ENDS_AT + 60

    @property
    def faults(self) -> SeededFaults:
        """The faults of the network and the brokers. The world kills and stops processes itself."""
        # About as many in the whole run as other simulations have in five minutes.
        weight = min(0.5, 150 / self.faulty_s) if self.breaks_brokers else 0.0
        some = dict.fromkeys(("broken_connection", "leader_moved", "coordinator_moved", "broker_killed"), weight)
        none = dict.fromkeys(_OTHER_FAULTS, 0.0)
        return SeededFaults(seconds=self.faulty_s, **some, **none)

    def drawn_waits(self, rng: random.Random) -> Sequence[float]:
        """Draw the waits of a record, after one attempt each. Together they are no longer than the longest one."""
        waits: list[float] = []
        for _ in range(rng.choice((0, 1, 1, 2, 3))):
            wait_s = self._drawn_wait(rng)
            if sum(waits) + wait_s <= self.longest_s:
                waits.append(wait_s)
        return waits

    def _drawn_wait(self, rng: random.Random) -> float:
        around = rng.choice(self.delays) * rng.uniform(0.5, 1.4)
        return round(min(around, self.longest_s), 1)


_OTHER_FAULTS = (
    *("delayed_frame", "half_dead_connection", "refused_connection", "lost_heartbeat_response"),
    *("lost_producer_response", "repeated_heartbeat", "slow_broker", "broker_restarted", "late_append"),
    *("refused_append", "slow_load", "process_killed", "process_stopped", "process_stalled"),
)
