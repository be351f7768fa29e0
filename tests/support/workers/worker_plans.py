"""Plans of what strikes a worker while records flow, by the seed."""

import enum
import random
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from attrs import frozen

from tests.support.workers.journaled_worker import Nature

__all__ = ["BlowKind", "StrikePlan", "Theme", "plan_of"]


class BlowKind(enum.Enum):
    """What strikes."""

    SHORT_SINK_OUTAGE = 3.0
    SINK_OUTAGE = 10.0
    LONG_SINK_OUTAGE = 60.0
    BROKER_OUTAGE = "the broker is killed, and comes back 10 s later"
    KILL_ONE = "a process is killed"
    KILL_ALL = "all processes are killed"
    FREEZE_ONE = "a process stands still for longer than its session"

    @property
    def outage_s(self) -> float | None:
        """How long the sink is down; None for other blows."""
        return self.value if isinstance(self.value, float) else None


class Theme(enum.Enum):
    """What a plan is about."""

    SINK = "the sink is down, and nothing else happens"
    POISON = "records raise, hang and kill, and processes are killed"
    BROKER = "the broker is killed, and so are processes"


_POISONS: Mapping[Theme, Mapping[Nature, int]] = MappingProxyType({
    Theme.SINK: {Nature.RAISES: 3},
    Theme.POISON: {Nature.RAISES: 4, Nature.HANGS: 1, Nature.KILLS: 2},
    Theme.BROKER: {Nature.RAISES: 4},
})  # fmt: skip
_BLOWS: Mapping[Theme, Sequence[BlowKind]] = MappingProxyType({
    Theme.SINK: (BlowKind.SHORT_SINK_OUTAGE, BlowKind.SINK_OUTAGE),
    Theme.POISON: (BlowKind.KILL_ONE, BlowKind.KILL_ALL, BlowKind.SHORT_SINK_OUTAGE),
    Theme.BROKER: (BlowKind.KILL_ONE, BlowKind.BROKER_OUTAGE),
})  # fmt: skip
_MORE: Mapping[Theme, Sequence[BlowKind]] = MappingProxyType({
    Theme.SINK: (BlowKind.SHORT_SINK_OUTAGE, BlowKind.LONG_SINK_OUTAGE),
    Theme.POISON: (BlowKind.KILL_ONE, BlowKind.FREEZE_ONE, BlowKind.SINK_OUTAGE),
    Theme.BROKER: (BlowKind.KILL_ALL, BlowKind.FREEZE_ONE, BlowKind.SHORT_SINK_OUTAGE, BlowKind.BROKER_OUTAGE),
})  # fmt: skip


@frozen
class StrikePlan:
    """What strikes, and whom.

    Attributes:
        seed: Where it comes from.
        theme: What it is about.
        processes: The number of processes.
        is_supervised: Whether the worker starts and watches them itself.
        is_async: Whether the handler is asynchronous.
        keeps_order: Whether records of a key keep their order.
        delivery_limit: Of the group.
        blows: What strikes, in this order.
        poisons: How many records there are of each bad nature.
    """

    seed: int
    theme: Theme
    processes: int
    is_supervised: bool
    is_async: bool
    keeps_order: bool
    delivery_limit: int
    blows: Sequence[BlowKind]
    poisons: Mapping[Nature, int]

    @property
    def counts_hold(self) -> bool:
        """Whether delivery counts only grow. Brokers store them with the end of a delivery, and forget others.

        A broker that is killed forgets those of records in hand. It also forgets a group with its last connection, and
        does not release records of partitions that their member is no longer assigned. So a delivery may not count if
        all processes are killed.
        """
        return not {BlowKind.BROKER_OUTAGE, BlowKind.KILL_ALL} & set(self.blows)

    @property
    def timeout_s(self) -> float | None:
        """The longest time of an attempt, if some hang."""
        return 1.5 if Nature.HANGS in self.poisons else None


def plan_of(seed: int, *, is_real: bool) -> StrikePlan:
    """Return the plan of a seed. The first three are short; those after them add blows.

    With the same seed, a real Kafka gets the other number of processes, and the other kind of handler.
    """
    rng = random.Random(seed)
    theme = list(Theme)[seed % len(Theme)]
    lap = seed // len(Theme)
    turn = lap + seed + int(is_real)
    blows = [*_BLOWS[theme], *(_MORE[theme] if seed >= len(Theme) else ())]
    rng.shuffle(blows)
    return StrikePlan(
        seed=seed,
        theme=theme,
        processes=(1, 4)[turn % 2],
        is_supervised=turn % 2 == 1 and lap % 2 == 0,
        is_async=bool((turn + lap // 2) % 2),
        keeps_order=rng.random() < 0.5,
        delivery_limit=rng.choice((3, 5)),
        blows=blows,
        poisons=_POISONS[theme],
    )
