"""A digest of all events of a simulated run, in order, so that two runs can be compared."""

import hashlib
from collections.abc import Callable

from kafka_groups.net.memory import FaultPlan, Link, Passage


class Trace:
    """Every event of a run in order, as a digest and, if wanted, as text.

    Args:
        time: Virtual time in seconds, unrounded: runs may differ by less than a millisecond at first.
        write: Gets each event as a line.
    """

    def __init__(self, time: Callable[[], float], write: Callable[[str], object] = lambda _line: None) -> None:
        self._time = time
        self._write = write
        self._sum = hashlib.sha256()

    def note(self, *event: object) -> None:
        """Add an event that happens now. Its parts must have reprs without addresses."""
        line = f"{self._time()!r} {event!r}\n"
        self._sum.update(line.encode())
        self._write(line)

    @property
    def digest(self) -> str:
        """A hash of all events in order; equal for two runs only if their events are equal."""
        return self._sum.hexdigest()


class Traced:
    """A fault plan that notes every connection and frame and lets another plan decide.

    Args:
        plan: Decides what happens to the frames.
        trace: The trace that receives them.
    """

    def __init__(self, plan: FaultPlan, trace: Trace) -> None:
        self._plan = plan
        self._trace = trace

    def on_connect(self, address: str) -> Passage:
        """Note a new connection."""
        passage = self._plan.on_connect(address)
        self._trace.note(address, passage)
        return passage

    def on_frame(self, link: Link, payload: bytes) -> Passage:
        """Note a frame that is being sent."""
        passage = self._plan.on_frame(link, payload)
        self._trace.note(link, payload, passage)
        return passage
