"""Warnings of a worker that does not come to run: what it waits for, and what to do."""

import logging
from collections.abc import Callable, Sequence

from kafka_groups.errors.texts import sentences
from kafka_groups.net.clock import Clock
from kafka_groups.streams.member.rules.states import MembershipState

__all__ = ["MEMBER_OBSTACLES", "RunningWatch"]

_log = logging.getLogger(__name__)

_FIRST_MS, _LONGEST_SILENCE_MS = 10_000, 60_000
"""The time after which a worker that does not run is worth a warning, and the longest time between two of them."""

MEMBER_OBSTACLES = {
    MembershipState.UNREACHABLE: "no broker answers. Look at bootstrap.servers and the network.",
    MembershipState.JOINING: (
        "its member has not joined the group yet. In a classic group, it may wait for other members. Otherwise the "
        "brokers do not tell the group's coordinator, or it does not answer: look at the log of the brokers."
    ),
    MembershipState.FENCED: "its member was removed from the group, and joins again when its tasks are closed.",
    MembershipState.STALE: (
        "its member has left the group, because the worker did not ask for events within max.poll.interval.ms. It "
        "joins again by itself."
    ),
}
_NO_TASKS = (
    "it has no tasks yet: the coordinator waits for other members, which have to give some up. If that continues, look "
    "for a process that hangs."
)


class RunningWatch:
    """Follows whether a worker runs, and warns if it has not for a while, again and again.

    Args:
        clock: Tells the time.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since_ms: int | None = None
        self._next_ms = self._silence_ms = 0
        self._has_warned = False

    def __repr__(self) -> str:
        return f"<RunningWatch: waiting since {self._since_ms}>"

    def look(self, *, is_running: bool, obstacles: Callable[[], Sequence[str]]) -> None:
        """Note whether the worker runs.

        Args:
            is_running: Whether all its tasks run.
            obstacles: Returns what keeps it from that, as parts of a sentence.
        """
        now_ms = self._clock.now_ms()
        if is_running:
            if self._has_warned and self._since_ms is not None:
                _log.info("All tasks run, after %d s.", (now_ms - self._since_ms) // 1_000)
            self._since_ms, self._has_warned = None, False
        elif self._since_ms is None:
            self._since_ms, self._silence_ms = now_ms, _FIRST_MS
            self._next_ms = now_ms + _FIRST_MS
        elif now_ms >= self._next_ms:
            self._silence_ms = min(2 * self._silence_ms, _LONGEST_SILENCE_MS)
            self._next_ms, self._has_warned = now_ms + self._silence_ms, True
            told = "; ".join(obstacle.rstrip(".") for obstacle in obstacles() or (_NO_TASKS,))
            waited_s = (now_ms - self._since_ms) // 1_000
            _log.warning(sentences(f"The worker has not been RUNNING for {waited_s} s: {told}"))
