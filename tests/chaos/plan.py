"""What a seed does: which process is struck when, and how."""

import enum
import random
from collections.abc import Iterator
from typing import Final

from attrs import frozen


class Act(enum.StrEnum):
    """What may happen to a process."""

    START = "started"
    KILL = "killed (SIGKILL)"
    LEAVE = "left (SIGTERM)"
    PAUSE = "paused for longer than its session (SIGSTOP)"
    PAUSE_MIDWAY = "paused before a batch was written"
    SLOW = "busy for longer than max.poll.interval.ms in the middle of a batch"


_WEIGHTS: Final = {Act.KILL: 2, Act.LEAVE: 2, Act.PAUSE: 2, Act.PAUSE_MIDWAY: 2, Act.SLOW: 2}
_EARLIEST_MS, _LATEST_MS = 300, 1_500
"""The time from one strike to the next."""


@frozen
class Strike:
    """Something that happens to the process in a slot. If there is none, one is started instead.

    Attributes:
        at_ms: When, from the start of the run.
        slot: The number of the slot.
        act: What happens.
    """

    at_ms: int
    slot: int
    act: Act


@frozen
class Plan:
    """One run.

    Attributes:
        seed: Where the strikes are drawn from.
        broker: `embedded` or `kafka`.
        seconds: For how long processes are struck, and records produced.
        processes: The number of slots for processes. All but one are filled late.
    """

    seed: int
    broker: str
    seconds: float = 20.0
    processes: int = 4

    def __str__(self) -> str:
        return f"seed {self.seed} on {self.broker} for {self.seconds:.0f} s"

    def strikes(self) -> Iterator[Strike]:
        """Return what happens, in order. It begins with the start of a process."""
        rng, at_ms, slot = random.Random(f"strikes-{self.seed}"), 0, 0
        while at_ms < self.seconds * 1_000:
            yield Strike(at_ms, slot, rng.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0])
            at_ms += rng.randint(_EARLIEST_MS, _LATEST_MS)
            slot = rng.randrange(self.processes)
